"""Proofs of bottleneck verdicts: each knee again with what was short relieved, in turn with the
knee as it was (A B B A), each run on its own restore.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from kneebench import units
from kneebench.analysis.proof import (
    LEAST_RUNS,
    MOST_RUNS,
    Reliefs,
    is_settled,
    still_to_try,
    users_to_prove,
    with_gains,
)
from kneebench.analysis.wording import listed
from kneebench.campaign.machines.opening import Users
from kneebench.campaign.restored import Context, Restored
from kneebench.databases.engine import Engine
from kneebench.errors import KneebenchError
from kneebench.plan.duration import restored_run_s
from kneebench.plan.relief import ReliefError, Side, Spare, as_it_was, relieved
from kneebench.plan.study import Study
from kneebench.records import Climb, Configuration, Event, Order, Proof
from kneebench.results import load
from kneebench.results.store import Store

FOLDER = "proofs"
"""Of a campaign, with a folder of results for each configuration."""


class Tried:
    """The sides of one proof with their engines, the knee as it was first; why other reliefs were
    impossible.
    """

    def __init__(self) -> None:
        self.sides: list[tuple[Side, Engine]] = []
        self.impossible: dict[str, str] = {}

    @property
    def reliefs(self) -> dict[str, str]:
        """The name of the relief by configuration."""
        return {side.configuration.id: side.relief for side, _ in self.sides}

    def give_up(self, side: Side, why: str) -> None:
        """Leave a relief out."""
        self.impossible[side.relief] = why
        self.sides = [one for one in self.sides if one[0] is not side]


def prove(study: Study, campaign: Context, reliefs: Sequence[str] | None) -> None:
    """Relieve what was short at every knee of the study that was measured, and keep what that
    gained.

    `reliefs`: those to try; if empty, what looks short; None: nothing is proved. A relief that was
    tried and kept is not measured again. Raises what a campaign raises.
    """
    if reliefs is None:
        return
    store, watch = campaign.store, campaign.watch
    campaign.engine.close()  # the space of emulated drives
    for climb in load(store.folder).climbs:
        kept = store.campaign.proofs.get(climb.id)
        users, wanted = users_to_prove(climb), still_to_try(climb, reliefs, kept)
        if users and wanted:
            before = _as_it_was(study, campaign, climb, users)
            tried = _open_sides(campaign, before, climb, wanted)
            watch(Event(kind="start", doing=_announced(climb.configuration, tried)))
            found = _measure_sides(campaign, tried, climb.configuration, users)
            store.put_proof(found.and_before(kept))
            for one in found.relieved:
                watch(Event(kind="end", doing=one.sentence))
            for relief, why in found.impossible.items():
                watch(Event(kind="warning", doing=f"not tried: {relief} ({why})"))


def _announced(configuration: Configuration, tried: Tried) -> str:
    """What is about to be measured, and how long that takes."""
    studies = [side.study for side, _ in tried.sides if side.study.measures_real_hardware]
    each_s = sum(restored_run_s(one.only_database) for one in studies)
    least, most = (units.rough_time(runs * each_s) for runs in (LEAST_RUNS, MOST_RUNS))
    sides = listed([side.relief or "as it was" for side, _ in tried.sides])
    time = f" in {least} to {most}" if each_s else ""
    return f"proving what limits {configuration.name}{time}: {sides}, in turn"


def _as_it_was(study: Study, campaign: Context, climb: Climb, users: int) -> Side:
    """The knee, with the sizes that the campaign's server had."""
    place = climb.configuration
    kept = campaign.store.campaign.settings.get(place.id, ())
    database = campaign.database(place)
    names = () if database.urls[place.storage] else database.database.sized_settings
    sized = {one.name: one.value for one in kept if one.name in names}
    return as_it_was(study, place, users, sized)


def _open_sides(campaign: Context, before: Side, climb: Climb, reliefs: Sequence[Reliefs]) -> Tried:
    """The knee as it was, and of each resource the first relief that is possible here."""
    tried, engine = Tried(), _engine(campaign, before)
    tried.sides.append((before, engine))
    spare = _spare(campaign, engine, before.configuration, climb)
    for alternatives in reliefs:
        for name in alternatives:
            try:
                side = relieved(before, name, spare)
                tried.sides.append((side, _engine(campaign, side)))
                break
            except ReliefError as error:
                tried.impossible[name] = str(error)
    return tried


def _engine(campaign: Context, side: Side) -> Engine:
    """The side's engine with its base image. Raises ReliefError if something is in its way."""
    engine = campaign.machine.engine(side.study.databases)
    findings = campaign.machine.in_the_way(side.study, engine)
    if wrong := [one for one in findings if one.level in ("error", "refused")]:
        raise ReliefError(f"{wrong[0].subject}: {wrong[0].seen}")
    Users(side.study.hosts.database, campaign.load_hosts).let_into(engine)
    engine.prepare(campaign.watch)
    return engine


def _spare(campaign: Context, engine: Engine, configuration: Configuration, climb: Climb) -> Spare:
    cores, free = campaign.machine.room()
    threads = max((rung.tally.load_generator_threads for rung in climb.rungs), default=1)
    return Spare(cores, free, len(engine.where(configuration).cores), threads)


def _measure_sides(
    campaign: Context, tried: Tried, configuration: Configuration, users: int
) -> Proof:
    """All sides in turn until the gains are settled, or were measured often enough."""
    store = campaign.store
    root = store.folder / FOLDER / configuration.id
    with Store.for_study(root, tried.sides[0][0].study, store.campaign.host) as kept:
        for side, _ in tried.sides:
            kept.put_climb(Climb(configuration=side.configuration, rungs=(), knee_users=users))
        found = Proof(configuration=configuration.id, users=users, relieved=())
        for repeat in range(1, MOST_RUNS + 1):
            for side, engine in [*tried.sides] if repeat % 2 else tried.sides[::-1]:
                _run_side(tried, _context(campaign, side, engine, kept), side, users, repeat)
            found = with_gains(found, load(kept.folder), tried.reliefs)
            if repeat >= LEAST_RUNS and is_settled(found):
                break
        kept.finish()
    return found.model_copy(update={"impossible": tried.impossible})


def _context(campaign: Context, side: Side, engine: Engine, store: Store) -> Context:
    databases, configurations = side.study.databases, side.study.configurations
    own = campaign._replace(databases=databases, configurations=configurations)
    return own._replace(engine=engine, store=store, in_force=())


def _run_side(tried: Tried, context: Context, side: Side, users: int, repeat: int) -> None:
    """One run of one side, which leaves nothing that the other sides lack. A relief that turns out
    to be impossible is left out.
    """
    order = Order(
        configuration=side.configuration.id, phase="final_run", users=users, repeat=repeat
    )
    try:
        with closing(context.engine), Restored(context, side.configuration, repeat) as restored:
            restored.rung(order)
    except KneebenchError as error:
        if not side.relief:
            raise
        tried.give_up(side, error.seen)
