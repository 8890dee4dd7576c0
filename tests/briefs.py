"""Recorded campaigns with a change, and the sections of their briefs."""

from __future__ import annotations

from kneebench.brief import Brief
from kneebench.brief.section import Section
from kneebench.records import Results, Rung, Summary


def changed(results: Results, change: dict[str, object], climb: int = 0, rung: int = 3) -> Results:
    """The campaign with one rung changed."""
    rungs = list(results.climbs[climb].rungs)
    rungs[rung] = rungs[rung].model_copy(update=change)
    return with_rungs(results, climb, tuple(rungs))


def with_rungs(results: Results, climb: int, rungs: tuple[Rung, ...]) -> Results:
    climbs = list(results.climbs)
    climbs[climb] = climbs[climb].model_copy(update={"rungs": rungs})
    return results.model_copy(update={"climbs": tuple(climbs)})


def section(brief: Brief, name: str) -> Section:
    return next(one for one in brief.sections if one.name == name)


def metered(rung: Rung, **values: float) -> Rung:
    """A rung that measured these, given as log__write_latency=0.002."""
    found = {
        name.replace("__", "."): Summary(unit="", value=value, high=value)
        for name, value in values.items()
    }
    return rung.model_copy(update={"quantities": {**rung.quantities, **found}})


def with_phase(results: Results, climb: int, phase: str, **values: float) -> Results:
    rungs = tuple(
        metered(rung, **values) if rung.order.phase == phase else rung
        for rung in results.climbs[climb].rungs
    )
    return with_rungs(results, climb, rungs)
