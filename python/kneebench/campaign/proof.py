"""Proofs of bottlenecks: a knee is measured as it was and with a resource relieved, in turn (A B B
A). Each long run has its own restore; in short rounds all servers stay up side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing

from kneebench import units
from kneebench.analysis.proof import (
    LEAST_RUNS,
    MOST_RESTORES,
    MOST_RUNS,
    ROUNDS,
    Reliefs,
    is_settled,
    still_to_try,
    suspected,
    users_to_prove,
    with_gains,
)
from kneebench.analysis.wording import listed
from kneebench.campaign.bench import SideBySide
from kneebench.campaign.expected_duration import proof_s
from kneebench.campaign.machines.opening import Users
from kneebench.campaign.restored import Context, Restored
from kneebench.databases.engine import Engine
from kneebench.errors import KneebenchError
from kneebench.ladder.final_runs import Load
from kneebench.ladder.rounds import in_turn
from kneebench.plan.relief import ReliefError, Side, Spare, as_it_was, relieved
from kneebench.plan.study import Study
from kneebench.records import Climb, Configuration, Event, Order, Phase, Proof
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

    @property
    def short(self) -> bool:
        """Whether they are measured in short rounds."""
        return self.sides[0][0].study.ladder.rounds == "short"

    @property
    def configurations(self) -> tuple[Configuration, ...]:
        return tuple(side.configuration for side, _ in self.sides)

    def contexts(self, campaign: Context, store: Store) -> dict[Configuration, Context]:
        """What the rungs of each side share."""
        return {
            side.configuration: campaign._replace(
                databases=side.study.databases,
                configurations=side.study.configurations,
                engine=engine,
                store=store,
                in_force=(),
            )
            for side, engine in self.sides
        }

    def give_up(self, configuration: str, error: KneebenchError) -> None:
        """Leave out a relief that turns out to be impossible. Raises the error of the knee as it
        was.
        """
        if not (relief := self.reliefs[configuration]):
            raise error
        self.impossible[relief] = error.seen
        self.sides = [one for one in self.sides if one[0].configuration.id != configuration]


def prove(study: Study, campaign: Context, reliefs: Sequence[str] | None) -> None:
    """Relieve what limits each measured knee of the study, and keep the gain.

    `reliefs`: those to try; if empty, what looks short; None: what the plan says. A relief that was
    tried and kept is not measured again. Raises what a campaign raises.
    """
    asked = () if reliefs is None and study.ladder.prove == "all" else reliefs
    if asked is None and study.ladder.prove == "none":
        return
    store, watch = campaign.store, campaign.watch
    campaign.engine.close()  # the space of emulated drives
    for climb in load(store.folder).climbs:
        kept = store.campaign.proofs.get(climb.id)
        users, wanted = users_to_prove(climb), _wanted(study, climb, asked, kept)
        if users and wanted:
            before = _as_it_was(study, campaign, climb, users)
            try:
                tried = _open_sides(campaign, before, climb, wanted)
            except ReliefError as error:
                doing = f"what limits {climb.configuration.name} is not proved: {error}"
                watch(Event(kind="warning", doing=doing))
                continue
            found = _measure_sides(campaign, tried, climb.configuration, users)
            store.put_proof(found.and_before(kept))
            for one in found.relieved:
                watch(Event(kind="end", doing=one.sentence))
            for relief, why in found.impossible.items():
                watch(Event(kind="warning", doing=f"not tried: {relief} ({why})"))


def _wanted(
    study: Study, climb: Climb, asked: Sequence[str] | None, kept: Proof | None
) -> tuple[Reliefs, ...]:
    """Those to try at a knee; without being asked, for what limits the baseline's."""
    if asked is not None:
        return still_to_try(climb, asked, kept)
    return suspected(climb) if climb.id == study.configurations[0].id and not kept else ()


def _announced(configuration: Configuration, tried: Tried) -> str:
    """What is about to be measured, and how long that takes."""
    plans = [one.study.only_database for one, _ in tried.sides if one.study.measures_real_hardware]
    least_s = sum(map(proof_s, plans))
    times = MOST_RESTORES if tried.short else MOST_RUNS / LEAST_RUNS
    least, most = map(units.rough_time, (least_s, times * least_s))
    sides = listed([side.relief or "as it was" for side, _ in tried.sides])
    time = f" in {least} to {most}" if plans else ""
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
    found = Proof(configuration=configuration.id, users=users, relieved=())
    if not tried.sides[1:]:
        return found.model_copy(update={"impossible": tried.impossible})
    campaign.watch(Event(kind="start", doing=_announced(configuration, tried)))
    measure, least, most = (
        (_rounds, 1, MOST_RESTORES) if tried.short else (_long_runs, LEAST_RUNS, MOST_RUNS)
    )
    with Store.for_study(root, tried.sides[0][0].study, store.campaign.host) as kept:
        for side, _ in tried.sides:
            kept.put_climb(Climb(configuration=side.configuration, rungs=(), knee_users=users))
        for restore in range(1, most + 1):
            measure(tried, tried.contexts(campaign, kept), users, restore)
            found = with_gains(found, load(kept.folder), tried.reliefs)
            if restore >= least and is_settled(found):
                break
        kept.finish()
    return found.model_copy(update={"impossible": tried.impossible})


def _long_runs(
    tried: Tried, contexts: Mapping[Configuration, Context], users: int, restore: int
) -> None:
    """One run of each side on a restore of its own, which leaves nothing that the others lack."""
    for one, context in [*contexts.items()][:: 1 if restore % 2 else -1]:
        order = _order(one, "final_run", users, restore)
        try:
            with closing(context.engine), Restored(context, one, restore) as restored:
                restored.rung(order)
        except KneebenchError as error:
            tried.give_up(one.id, error)


def _rounds(
    tried: Tried, contexts: Mapping[Configuration, Context], users: int, restore: int
) -> None:
    """Rounds of all sides on one restore of each. The knee as it was is loaded last: then it has
    as many transactions as the others.
    """
    loads = {
        one.id: Load(_order(one, "warm_up", users, restore, restore))
        for one in tried.configurations[::-1]
    }
    with ExitStack() as stack:
        for context in contexts.values():
            stack.callback(context.engine.close)
        databases = stack.enter_context(SideBySide(contexts, restore, loads))
        for repeat in range((restore - 1) * ROUNDS + 1, restore * ROUNDS + 1):
            for one in in_turn(tried.configurations, repeat):
                _rung(tried, databases, _order(one, "final_run", users, repeat, restore))


def _rung(tried: Tried, databases: SideBySide, order: Order) -> None:
    """A rung, unless its relief is impossible; without another one that turns out to be so."""
    while order.configuration in tried.reliefs:
        try:
            databases.rung(order)
            return
        except KneebenchError as error:
            tried.give_up(databases.at, error)
            databases.leave_out(databases.at)


def _order(
    configuration: Configuration, phase: Phase, users: int, repeat: int, restore: int = 0
) -> Order:
    return Order(
        configuration=configuration.id, phase=phase, users=users, repeat=repeat, restore=restore
    )
