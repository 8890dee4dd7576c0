"""Proofs of bottleneck verdicts: each knee again with what was short relieved, in turn with the
knee as it was (A B B A), each run on its own restore.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

import psutil

from kneebench.analysis.proof import (
    LEAST_RUNS,
    MOST_RUNS,
    Reliefs,
    is_settled,
    reliefs_to_try,
    with_gains,
)
from kneebench.databases.engine import Engine, engine_of
from kneebench.lab.journal import Journal
from kneebench.lab.volumes import volume_findings
from kneebench.plan import Plan
from kneebench.plan.relief import ReliefError, Side, Spare, as_it_was, relieved
from kneebench.records import Cell, Climb, Event, Order, Proof, Watch
from kneebench.restored import Context, Restored
from kneebench.results import load
from kneebench.results.store import Store

FOLDER = "proofs"
"""Of a campaign, with a folder of results for each cell."""


class Tried(NamedTuple):
    """The sides of one proof with their engines, the knee as it was first; why other reliefs were
    impossible.
    """

    sides: Sequence[tuple[Side, Engine]]
    impossible: Mapping[str, str]

    @property
    def reliefs(self) -> dict[str, str]:
        """The name of the relief by cell."""
        return {side.cell.id: side.relief for side, _ in self.sides}


def prove(campaign: Context, journal: Journal, reliefs: Sequence[str] | None) -> None:
    """Relieve what was short at every knee that was measured, and keep what that gained.

    `reliefs`: those to try; if empty, what looks short; None: nothing is proved. What was kept by a
    killed run is not measured again. Raises what a campaign raises.
    """
    plan, engine, store, watch, _ = campaign
    if reliefs is None:
        return
    engine.close()  # the space of emulated drives
    for climb in load(store.folder).climbs:
        if climb.knee_users and climb.cell.id not in store.campaign.proofs:
            watch(Event(kind="start", doing=f"proving what limits {climb.cell.name}"))
            with contextlib.ExitStack() as stack:
                wanted = [(name,) for name in reliefs] or reliefs_to_try(climb)
                tried = _tried(plan, climb, wanted, journal, watch, stack)
                found = _measured(tried, climb, store, watch)
            store.put_proof(found)
            for one in found.relieved:
                watch(Event(kind="end", doing=one.sentence))


def _tried(
    plan: Plan,
    climb: Climb,
    reliefs: Sequence[Reliefs],
    journal: Journal,
    watch: Watch,
    stack: contextlib.ExitStack,
) -> Tried:
    """The reliefs that are possible here; their engines are open until the stack ends."""
    before = as_it_was(plan, climb.cell, climb.knee_users or 1)
    sides, impossible = [(before, _engine(before, journal, watch, stack))], dict[str, str]()
    for alternatives in reliefs:
        for name in alternatives:
            try:
                side = relieved(before, name, _spare())
                sides.append((side, _engine(side, journal, watch, stack)))
                break
            except ReliefError as error:
                impossible[name] = str(error)
    return Tried(sides, impossible)


def _engine(side: Side, journal: Journal, watch: Watch, stack: contextlib.ExitStack) -> Engine:
    """The side's engine with its base image. Raises ReliefError if something is in its way."""
    engine = engine_of(side.plan, journal)
    findings = (*engine.findings(), *volume_findings(side.plan))
    if wrong := [one for one in findings if one.level in ("error", "refused")]:
        raise ReliefError(f"{wrong[0].subject}: {wrong[0].seen}")
    stack.enter_context(closing(engine))
    engine.prepare(watch)
    return engine


def _spare() -> Spare:
    free = psutil.virtual_memory().available
    return Spare(tuple(sorted(os.sched_getaffinity(0))), free)


def _measured(tried: Tried, climb: Climb, store: Store, watch: Watch) -> Proof:
    """Both sides in turn until the gains are settled, or were measured often enough."""
    root, plan = store.folder / FOLDER / climb.cell.id, tried.sides[0][0].plan
    with Store.for_plan(root, plan, store.campaign.host) as kept:
        for side, _ in tried.sides:
            kept.put_climb(Climb(cell=side.cell, rungs=(), knee_users=climb.knee_users))
        found = Proof(
            cell=climb.cell.id,
            users=climb.knee_users or 0,
            relieved=(),
            impossible=dict(tried.impossible),
        )
        for repeat in range(1, MOST_RUNS + 1):
            for side, engine in tried.sides if repeat % 2 else reversed(tried.sides):
                _run(Context(side.plan, engine, kept, watch), side.cell, found.users, repeat)
            found = with_gains(found, load(kept.folder), tried.reliefs)
            if repeat >= LEAST_RUNS and is_settled(found):
                break
        kept.finish()
    return found


def _run(context: Context, cell: Cell, users: int, repeat: int) -> None:
    with Restored(context, cell, repeat) as restored:
        restored.rung(Order(cell=cell.id, phase="final_run", users=users, repeat=repeat))
