"""Background work of a database: checkpoints, and what an engine adds (the removal of old rows).

It changes a window's throughput, so windows are comparable only if it fell into all of them alike.
A comparison whose windows differ much in it fails a check; where they differ less, a caveat says
so. Short rounds have none in their windows: a round with background work on any of the servers is
measured again (measurement/background.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kneebench.analysis.comparison import called
from kneebench.analysis.databases import by_database
from kneebench.analysis.wording import listed
from kneebench.engine_properties import Quantity, engine_properties
from kneebench.records import Check, Climb, Phase, Results, Rung
from kneebench.shelf import ENGINES

CHECKPOINTS = ("checkpoints.timed", "checkpoints.requested")
APART = 0.5
"""Shares of windows with background work may differ by less than this. With two or three repeats a
difference of one window is chance."""
COMPARED: dict[Phase, str] = {"final_run": "final runs", "fixed_rate": "runs at the fixed rate"}

Kinds = Mapping[str, tuple[str, ...]]
"""What happened, as a sentence says it, and the counters that tell of it."""


class UnequalWork(NamedTuple):
    """Background work that fell into more windows of one storage than of another; `apart` is the
    difference between their shares of windows.
    """

    what: str
    windows: str
    apart: float

    @property
    def sentence(self) -> str:
        """What happened in how many windows."""
        return f"{self.what} in {self.windows}"


def background_kinds(*own_quantities: Mapping[str, Quantity]) -> Kinds:
    """The kinds of background work of engines with such quantities of their own."""
    events = {
        quantity.event: (name,)
        for own in own_quantities
        for name, quantity in own.items()
        if quantity.event
    }
    return {"a checkpoint started": CHECKPOINTS, **events}


def unequal_work(climbs: Sequence[Climb], kinds: Kinds) -> Iterator[UnequalWork]:
    """Each kind of background work that is not in the same share of all storages' windows."""
    for phase, runs in COMPARED.items():
        windows = {
            called(climb): rungs
            for climb in climbs
            if (rungs := [rung for rung in climb.of(phase) if not rung.invalid])
        }
        for what, counters in kinds.items():
            held = {
                storage: sum(_happened(rung, counters) for rung in rungs)
                for storage, rungs in windows.items()
            }
            shares = [held[storage] / len(rungs) for storage, rungs in windows.items()]
            if len(set(shares)) > 1:
                each = [f"{held[name]} of {len(windows[name])} on {name}" for name in windows]
                yield UnequalWork(what, f"{listed(each)} ({runs})", apart=max(shares) - min(shares))


def background_checks(results: Results) -> tuple[Check, ...]:
    """The check of a comparison of storages that background work fell into their windows alike;
    none without a comparison.
    """
    engines = results.campaign.engines
    known = {*engines.values()} <= {*ENGINES.names()}
    if len(results.climbs) < 2 or not results.finished or not engines or not known:
        return ()
    found = [one for part in by_database(results).values() for one in unequal_in(part)]
    unequal = [one for one in found if one.apart >= APART]
    seen = "; ".join(one.sentence for one in unequal)
    return (
        Check(
            name="equal background work",
            passed=not unequal,
            seen=seen or "alike",
            limit=f"shares of windows less than {100 * APART:.0f}% apart",
            sentence=f"the windows compared differ in background work: {seen}"
            if unequal
            else "the windows compared are alike in background work",
        ),
    )


def unequal_in(results: Results) -> Iterator[UnequalWork]:
    """That of a campaign of one database: storages are compared within one."""
    engines = results.campaign.engines
    databases = dict.fromkeys(climb.configuration.database for climb in results.climbs)
    names = [engines[name] for name in databases if name in engines]
    kinds = background_kinds(*(engine_properties(name).own_quantities for name in names))
    return unequal_work(results.climbs, kinds)


def _happened(rung: Rung, counters: Sequence[str]) -> bool:
    return any((rung.quantity(name) or 0.0) > 0 for name in counters)
