"""Recordings of real campaigns, as they were measured or with one thing changed. The archives are
made by `tests/recorded/record.py`.
"""

from __future__ import annotations

import atexit
import functools
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from kneebench.brief import Brief, chart_theme
from kneebench.brief.section import Section
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import (
    Climb,
    Configuration,
    Host,
    Phase,
    PlannedDatabase,
    ResolvedPlan,
    Results,
    Rung,
    Second,
    Series,
    Summary,
)
from kneebench.results import load
from kneebench.results.campaign_reader import series
from kneebench.shelf import SECTIONS
from tests import leftovers
from tests.recorded.record import unpack

PLATEAU = "plateau"
"""Disk and memory with three final runs each: the recording with a comparison."""

REPEATED: tuple[Phase, ...] = ("final_run", "fixed_rate")


# --- as they were measured ------------------------------------------------------------------------


@functools.cache
def recorded(name: str = PLATEAU) -> Results:
    """A recording, read once per process: its folder is to be left as it is."""
    return load(unpack(name, _folder()))


@functools.cache
def _folder() -> Path:
    folder = leftovers.folder("recordings")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def recorded_plan(**tables: object) -> Plan:
    """The plan of a recording, with these tables or keys in place of its own."""
    return Plan.model_validate({**recorded().campaign.plan, **tables})


def recorded_host() -> Host:
    return recorded().campaign.host


class Kept(NamedTuple):
    """A rung with its series and seconds, as measurement gives it to the store; recordings have no
    seconds.
    """

    rung: Rung
    series: tuple[Series, ...]
    seconds: tuple[Second, ...] = ()


def recorded_rung(phase: Phase, climb: int = 0, number: int = 0) -> Kept:
    """A recorded rung of a phase."""
    rung = recorded().climbs[climb].of(phase)[number]
    return Kept(rung, series(recorded(), rung))


# --- with one thing changed -----------------------------------------------------------------------


def with_campaign(results: Results, **fields: object) -> Results:
    """The results with another head of the campaign; a plan is resolved as when it is measured."""
    if isinstance(plan := fields.get("plan"), dict):
        fields["resolved"] = resolve_document(plan)
    return results.model_copy(update={"campaign": results.campaign.model_copy(update=fields)})


def resolve_document(document: Mapping[str, Any]) -> ResolvedPlan:
    """The plan of this JSON, resolved; of one that a test left without tables, or gave a key that
    no plan has, what it says.
    """
    try:
        return Study.kept(document).resolved
    except ValidationError:
        storages = document.get("storages") or {}
        several = document.get("databases") or {"": document.get("database") or {}}
        return ResolvedPlan(
            question=document.get("question", ""),
            baseline=document.get("baseline") or next(iter(storages), ""),
            databases={
                name: PlannedDatabase(engine=table.get("engine", ""))
                for name, table in several.items()
            },
            fixed_load=isinstance((document.get("ladder") or {}).get("users"), int),
        )


def with_plan(results: Results, **tables: object) -> Results:
    return with_campaign(results, plan={**results.campaign.plan, **tables})


def with_ladder(results: Results, **keys: object) -> Results:
    return with_plan(results, ladder={**results.campaign.plan["ladder"], **keys})


def with_rungs(results: Results, climb: int, rungs: tuple[Rung, ...]) -> Results:
    climbs = list(results.climbs)
    climbs[climb] = climbs[climb].model_copy(update={"rungs": rungs})
    return results.model_copy(update={"climbs": tuple(climbs)})


def each(results: Results, climb: int, change: Callable[[Rung], Rung], *phases: Phase) -> Results:
    """The results with every rung of a climb changed, or of these phases."""
    rungs = results.climbs[climb].rungs
    changed = (change(r) if not phases or r.order.phase in phases else r for r in rungs)
    return with_rungs(results, climb, tuple(changed))


def changed(results: Results, change: dict[str, object], climb: int = 0, rung: int = 3) -> Results:
    """The campaign with one rung changed."""
    rungs = list(results.climbs[climb].rungs)
    rungs[rung] = rungs[rung].model_copy(update=change)
    return with_rungs(results, climb, tuple(rungs))


def metered(rung: Rung, **values: float) -> Rung:
    """A rung that measured these, given as log__write_latency=0.002."""
    found = {
        name.replace("__", "."): Summary(unit="", value=value, high=value)
        for name, value in values.items()
    }
    return rung.model_copy(update={"quantities": {**rung.quantities, **found}})


def with_phase(results: Results, climb: int, phase: Phase, **values: float) -> Results:
    """The results with these measured in all rungs of a phase."""
    return each(results, climb, lambda rung: metered(rung, **values), phase)


def without(results: Results, *quantities: str) -> Results:
    """The results as if these had not been measured."""

    def bare(rung: Rung) -> Rung:
        left = {name: one for name, one in rung.quantities.items() if name not in quantities}
        return rung.model_copy(update={"quantities": left})

    for climb in range(len(results.climbs)):
        results = each(results, climb, bare)
    return results


def with_equal_repeats(results: Results) -> Results:
    """The results with the tally of each first final run and first run at the fixed rate in all its
    repeats, so that no noise hides a difference.
    """
    for number, climb in enumerate(results.climbs):
        for phase in REPEATED:
            first = climb.of(phase)[0]
            same = {"tally": first.tally, "tpm": first.tpm}
            results = each(results, number, lambda r, same=same: r.model_copy(update=same), phase)
    return results


def with_order(rung: Rung, **fields: object) -> Rung:
    return rung.model_copy(update={"order": rung.order.model_copy(update=fields)})


def with_tally(rung: Rung, **fields: object) -> Rung:
    return rung.model_copy(update={"tally": rung.tally.model_copy(update=fields)})


def with_throughput(rung: Rung, per_s: float) -> Rung:
    """A rung whose window had the length that makes it so many transactions per second."""
    return with_tally(rung, window_s=rung.tally.window.completed / per_s)


def faster(climb: Climb, name: str, times: float) -> Climb:
    """A climb of another storage whose runs did so many times as much."""
    rungs = tuple(
        with_throughput(with_order(rung, configuration=name), times * rung.tally.throughput_per_s)
        for rung in climb.rungs
    )
    made = Configuration(id=name, storage=name)
    return climb.model_copy(update={"configuration": made, "rungs": rungs})


def with_latency(rung: Rung, **fields: object) -> Rung:
    assert rung.tally.latency
    return with_tally(rung, latency=rung.tally.latency.model_copy(update=fields))


def with_share_of_new_orders(rung: Rung, share: float) -> Rung:
    """A rung that committed so many of its New-Orders in the window."""
    orders = rung.tally.transactions["new_order"]
    committed = int(share * orders.window.committed)
    window = orders.window.model_copy(update={"committed": committed})
    fewer = {"new_order": orders.model_copy(update={"window": window})}
    return with_tally(rung, transactions={**rung.tally.transactions, **fewer})


# --- their briefs ---------------------------------------------------------------------------------


def section(brief: Brief, name: str) -> Section:
    """One section, made alone: the figures of all take a second."""
    with chart_theme.without_validation():
        made = SECTIONS.module(name.replace("-", "_")).section(brief.view)
    assert isinstance(made, Section)
    assert made.name == name
    return made
