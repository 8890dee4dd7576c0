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


def background_kinds(own_quantities: Mapping[str, Quantity]) -> Kinds:
    """The kinds of background work of an engine with such quantities of its own."""
    events = {
        quantity.event: (name,) for name, quantity in own_quantities.items() if quantity.event
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
    database = results.campaign.plan.get("database")
    engine = database.get("engine") if isinstance(database, Mapping) else None
    if len(results.climbs) < 2 or not results.finished or engine not in ENGINES.names():
        return ()
    found = list(
        unequal_work(results.climbs, background_kinds(engine_properties(engine).own_quantities))
    )
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


def _happened(rung: Rung, counters: Sequence[str]) -> bool:
    return any((rung.quantity(name) or 0.0) > 0 for name in counters)
