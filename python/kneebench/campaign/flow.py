"""The main flow: for each configuration prepare, restore, climb, keep; then the knees again,
properly.

Start reading here. Measuring never prints (`watch` receives the events), and everything measured is
saved before the next thing begins, so that a killed campaign resumes at the next rung.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from kneebench.analysis.outcome import exit_code
from kneebench.analysis.wording import plural
from kneebench.campaign.bench import Bench
from kneebench.campaign.durability import Cuts, cut_configurations, for_cuts, level_of
from kneebench.campaign.durability import cut_off as servers_cut_off
from kneebench.campaign.machines.machine import DatabaseMachine
from kneebench.campaign.machines.opening import machine_of as machine_of
from kneebench.campaign.machines.opening import users_of
from kneebench.campaign.power import campaign_power, keep_cost, recorded_power, use_kept
from kneebench.campaign.preflight import refuse
from kneebench.campaign.proof import prove
from kneebench.campaign.restored import Context
from kneebench.databases.engine import Engine, crashes
from kneebench.directories import CAMPAIGNS
from kneebench.errors import CheckFailed, KneebenchError, PlanError, Refused
from kneebench.hosts.load_hosts import LoadHosts
from kneebench.measurement.power.recorder import PowerRecorder
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.durability import DEFAULT_USERS
from kneebench.plan.study import Study
from kneebench.prediction.gains import gains
from kneebench.prediction.ledger import any_kept, saved_before
from kneebench.records import (
    Configuration,
    Cut,
    CutLevel,
    DriveLoad,
    Event,
    Host,
    Link,
    Preconditioned,
    Results,
    Watch,
    Whereabouts,
    WholeDrive,
)
from kneebench.results.campaign_reader import load
from kneebench.results.event_log import EventLog
from kneebench.results.noise_pairs import known_noise_floor
from kneebench.results.step_times import StepTimes
from kneebench.results.store import Store


class RunOptions(NamedTuple):
    """What is asked of a run beside its study.

    `folder` holds campaigns; an unfinished one of the same plan, image and kneebench is resumed
    unless `fresh`. `brief`: one is written next. `erase`: drives agreed to be erased. `reliefs`:
    see `prove`; `judged`: the campaign is run to be accepted.
    """

    folder: str | Path | None = None
    fresh: bool = False
    brief: bool = False
    erase: Sequence[WholeDrive] = ()
    reliefs: Sequence[str] | None = None
    judged: bool = False


def run(machine: DatabaseMachine, study: Study, asked: RunOptions, watch: Watch) -> Results:
    """Measure a whole campaign on the machine of its databases, and give its results.

    Raises PlanError or Refused before any change; InvalidMeasurement for a lost database. Whatever
    ends it, the machine is put back; what was measured stays.
    """
    watch = _Logging(watch)
    with contextlib.ExitStack() as stack:
        # 1. Undo what a killed run left, check the plan against the machine, reach the others.
        site = stack.enter_context(_check(machine, study, asked.erase, watch))
        real = study.measures_real_hardware
        power = stack.enter_context(recorded_power(study.power, machine.instruments, real=real))
        # 2. Open the results: new ones, or those to resume. Change the machine as the plan says.
        in_force = stack.enter_context(machine.sysctls(study.kernel, watch))
        store = stack.enter_context(_open_results(site, study, asked, watch))
        _put_known(store, site, power, watch)
        _put_drives_before(store, machine, site.paths)
        machine.erase(asked.erase, watch)
        resumed = bool(store.rungs)
        # 3. Climb on every configuration, measure the knees in turn, prove, predict, cut off.
        context = Context(
            study.databases,
            study.configurations,
            site.engine,
            store,
            _keeping(store, watch),
            machine,
            in_force,
            site.load_hosts,
            site.link,
            power,
        )
        Bench(context).measure(study.saturating)
        _prove_predict_and_cut(study, context, asked)
        # 4. The drives as they are now, what the meters took, and how it ended.
        keep_cost(store, power)
        store.put_drives_after(machine.drives(site.paths, study.drives))
        results = store.finish(exit_code, awaits_brief=asked.brief)
        StepTimes(site.host, study).keep(results, resumed=resumed)
        return results


def cut_off(
    machine: DatabaseMachine, study: Study, erase: Sequence[WholeDrive], cuts: Cuts, watch: Watch
) -> Generator[tuple[str, Cut], None, None]:
    """Cut the server of each storage of a study off, without a campaign; each cut with the
    configuration's name.

    Raises what `run` raises before any change, and PlanError for servers that cannot be cut off.
    """
    with contextlib.ExitStack() as stack:
        databases = for_cuts(study, cuts.level)
        site = stack.enter_context(_check(machine, study, erase, watch))
        crashes(site.engine)
        stack.enter_context(machine.sysctls(study.kernel, watch))
        machine.erase(erase, watch)
        with closing(_cuts(machine, study, databases, lambda one: cuts, watch)) as found:
            yield from ((one.name, cut) for one, cut in found)


def _cuts(
    machine: DatabaseMachine,
    study: Study,
    databases: Mapping[str, DatabasePlan],
    cuts_of: Callable[[Configuration], Cuts],
    watch: Watch,
) -> Generator[tuple[Configuration, Cut], None, None]:
    """The cuts of each storage, by databases that are ready for them."""
    with closing(machine.engine(databases)) as engine:
        engine.prepare(watch)
        for one in cut_configurations(study.configurations):
            with closing(servers_cut_off(engine, databases, one, cuts_of(one), watch)) as found:
                yield from ((one, cut) for cut in found)


def _prove_predict_and_cut(study: Study, context: Context, asked: RunOptions) -> None:
    """Prove what limits the knees, predict what would help, then cut the servers off; nothing of
    it for queries, which commit nothing.
    """
    if study.workload.type == "tproc-h":
        return
    prove(study, context, asked.reliefs)
    _put_predictions(study, context, asked)
    if not (level := level_of(study, context.engine, judged=asked.judged)):
        return
    try:
        _cut_storages(study, context, level)
    except KneebenchError as error:
        if isinstance(error, CheckFailed) or study.durability.level != "auto":
            raise
        context.store.put_note(f"the servers were not all cut off: {error}")


def _put_predictions(study: Study, context: Context, asked: RunOptions) -> None:
    """Keep what was predicted of the storages before; for a brief also what would help most."""
    store, asks = context.store, asked.brief and study.measures_real_hardware
    if not asks and not any_kept(store.folder.parent):
        return
    results = load(store.folder)
    try:
        saved = saved_before(store.folder.parent, results)
    except PlanError as error:
        saved = ()
        store.put_note(f"saved predictions are not shown: {error}")
    predicted = None
    if asks:
        context.watch(Event(kind="start", doing="predicting what would help most"))
        predicted = gains(results)
    store.put_predictions(predicted, saved)


def _cut_storages(study: Study, campaign: Context, level: CutLevel) -> None:
    """Cut the server of each storage of the study off, and keep what was there after each cut;
    those of a resumed campaign that it has are not made again.
    """
    wanted, store = study.durability, campaign.store

    def cuts_of(one: Configuration) -> Cuts:
        climb = store.climb(one)
        users = wanted.users or (climb and climb.knee_users) or DEFAULT_USERS
        return Cuts(level, wanted.cuts, users, made=len(store.campaign.cuts.get(one.id, ())))

    campaign.engine.close()  # the space of emulated drives
    databases = for_cuts(study, level)
    with closing(_cuts(campaign.machine, study, databases, cuts_of, campaign.watch)) as found:
        for _, cut in found:
            store.put_cut(cut)


class Site(NamedTuple):
    """The engine of a study, its load hosts with the network to them, the paths of its servers, and
    the machine as it is.
    """

    engine: Engine
    load_hosts: LoadHosts | None
    link: Link | None
    paths: tuple[Path, ...]
    host: Host


@contextlib.contextmanager
def _check(
    machine: DatabaseMachine, study: Study, erase: Sequence[WholeDrive], watch: Watch
) -> Iterator[Site]:
    """Where the study is measured, once what a killed run left is undone, and nothing is wrong."""
    machine.clean(watch)
    with closing(machine.engine(study.databases)) as engine:
        refuse(machine.findings(study, engine, erase, watch))
        with users_of(study.hosts) as users:
            users.let_into(engine)
            paths = _paths(map(engine.where, study.configurations))
            host = machine.host(paths, whole=study.measures_real_hardware)
            yield Site(engine, users.load_hosts, users.link(machine), paths, host)


def _paths(servers: Iterable[Whereabouts]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(path for server in servers for path in server.paths))


def _put_known(store: Store, site: Site, power: PowerRecorder | None, watch: Watch) -> None:
    """Keep what is known before the first rung; use what a killed run had found at rest."""
    floor = known_noise_floor(site.host, store.study, watch)
    store.put_known(floor, site.link, campaign_power(power))
    use_kept(store, power)


def _put_drives_before(store: Store, machine: DatabaseMachine, paths: Sequence[Path]) -> None:
    """Keep the drives of volumes, and those below the servers' paths, as they are. Raises Refused
    if a resumed campaign had other ones for its volumes.
    """
    drives = machine.drives((), store.study.drives)
    before = {one.wwid for one in store.campaign.drives_before if one.wwid}
    now = {one.wwid for one in drives if one.wwid}
    if others := sorted(now - before) if before and not store.campaign.joined else []:
        seen = f"the campaign was begun without drive {', '.join(others)}"
        raise Refused(
            f"cannot resume {store.folder}", seen=seen, do="use its drives, or run --fresh"
        )
    store.put_drives_before((*machine.drives(paths, ()), *drives))


class _Logging:
    """The watcher; from when the campaign's folder is known, what happens is also kept there."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._log: EventLog | None = None

    def __call__(self, event: Event) -> None:
        """Keep what happened, and pass it on."""
        if isinstance(folder := event.data.get("folder"), str):
            self._log = EventLog(Path(folder))
        if self._log:
            self._log.write(event)
        self._watch(event)


def _keeping(store: Store, watch: Watch) -> Watch:
    """The watcher; reports of preconditioned and loaded drives are also kept."""

    def watched(event: Event) -> None:
        if isinstance(done := event.data.get("written"), Preconditioned | DriveLoad):
            store.put_drive_written(done)
        watch(event)

    return watched


@contextlib.contextmanager
def _open_results(site: Site, study: Study, asked: RunOptions, watch: Watch) -> Iterator[Store]:
    """The campaign's folder, once its base image is there; a new one if the image has changed."""
    root, fresh, reliefs = Path(asked.folder or CAMPAIGNS), asked.fresh, asked.reliefs
    store = Store.for_study(root, study, site.host, fresh=fresh, reliefs=reliefs, watch=watch)
    with contextlib.ExitStack() as stack:
        _hold(store, stack, watch)
        image = site.engine.prepare(watch)
        if differing := store.differing(image):
            doing = f"cannot resume {store.folder} ({differing}); starting a new campaign"
            watch(Event(kind="warning", doing=doing))
            created = Store.create(store.folder.parent, study, store.campaign.host)
            store = _hold(created, stack, watch)
        if joined := store.reopen():
            names = ", ".join(configuration.name for configuration in joined)
            doing = f"adding to {store.folder.name}: {names}"
            watch(Event(kind="start", doing=doing))
        if store.rungs:
            rungs = plural(store.rungs, "rung")
            doing = f"resuming {store.folder.name} ({rungs} already measured)"
            watch(Event(kind="start", doing=doing))
        store.put_base_image(image)
        yield store


def _hold(store: Store, until: contextlib.ExitStack, watch: Watch) -> Store:
    """The store, open until then; its folder is reported."""
    folder = str(until.enter_context(store).folder)
    watch(Event(kind="start", doing=f"writing results to {folder}", data={"folder": folder}))
    return store
