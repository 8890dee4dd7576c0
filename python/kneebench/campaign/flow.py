"""The main flow: for each cell prepare, restore, climb, keep; then the knees again, properly.

Start reading here. Measuring never prints (`watch` receives the events), and everything measured is
saved before the next thing begins, so that a killed campaign resumes at the next rung.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from kneebench.analysis.fixed_rate import rate_caveats
from kneebench.analysis.outcome import exit_code
from kneebench.analysis.rounds_end import Wanted, rounds_so_far
from kneebench.analysis.wording import plural
from kneebench.campaign.preflight import as_plan, preflight_checks, refuse
from kneebench.campaign.proof import prove
from kneebench.campaign.restored import Context, Restored
from kneebench.campaign.saturating import with_cores
from kneebench.campaign.side_by_side import SideBySide
from kneebench.databases.engine import Engine, engine_of
from kneebench.directories import CAMPAIGNS
from kneebench.errors import PlanError, Refused
from kneebench.lab.host import described, host
from kneebench.lab.inventory import drive_fills, drives_called, drives_under
from kneebench.lab.journal import Journal
from kneebench.lab.kernel_settings import sysctls
from kneebench.lab.volumes import erase_drives
from kneebench.ladder.climb import climb, measure_orders
from kneebench.ladder.final_runs import FinalRuns, RestoredRuns
from kneebench.ladder.rounds import Rounds
from kneebench.measurement.profile.storage_profile import storage_profile
from kneebench.plan import Plan
from kneebench.plan.cells import cells, running_order
from kneebench.records import (
    Cell,
    Climb,
    DriveLoad,
    Event,
    Host,
    NoiseFloor,
    Preconditioned,
    Rung,
    StopResult,
    Watch,
    Whereabouts,
    WholeDrive,
)
from kneebench.results import step_times
from kneebench.results.noise_pairs import known_noise_floor
from kneebench.results.notebook import LoadedResults
from kneebench.results.store import Store


def run(
    plan: Plan | str | Path,
    folder: str | Path | None = None,
    watch: Watch = lambda event: None,
    fresh: bool = False,
    brief: bool = False,
    *,
    erase: Sequence[WholeDrive] = (),
    reliefs: Sequence[str] | None = None,
) -> LoadedResults:
    """Measure a whole campaign, by a plan or the path of its file, and give its results.

    `folder` holds campaigns; an unfinished one of the same plan, image and kneebench is resumed
    unless `fresh`. `brief`: one is written next. `erase`: drives agreed to be erased. `reliefs`:
    see `prove`. Raises PlanError or Refused before any change; InvalidMeasurement for a lost
    database. Whatever ends it, the machine is put back and what was measured stays.

    >>> from kneebench import preset, run
    >>> results = run(preset("simulated"), folder="kneebench-results")
    >>> results.finished, results.campaign.simulated
    (True, True)
    """
    plan = as_plan(plan)
    with contextlib.ExitStack() as stack:
        # 1. Undo what a killed run left, and check the plan against the machine.
        engine = stack.enter_context(_checked(plan, journal := Journal(), erase, watch))
        # 2. Open the results: new ones, or those to resume. Change the machine as the plan says.
        machine = _machine(plan, paths := _paths(engine.where(cell) for cell in cells(plan)))
        in_force = stack.enter_context(sysctls(plan.kernel, journal, watch))
        found = Store.for_plan(_root(folder), plan, machine, fresh=fresh, reliefs=reliefs)
        store = stack.enter_context(_opened(found, plan, engine, watch))
        _put_before(store, plan, paths, known_noise_floor(machine, plan, watch))
        erase_drives(erase, watch)
        # 3. Climb on every configuration, measure the knees in turn, prove what limits them.
        context = Context(plan, engine, store, _keeping(store, watch), in_force)
        resumed = bool(store.rungs)
        Bench(context).measure()
        prove(context, journal, reliefs)
        # 4. Keep the drives as they are now, and how long it took.
        return _finished(context, machine, paths, resumed=resumed, brief=brief)


@contextlib.contextmanager
def _checked(
    plan: Plan, journal: Journal, erase: Sequence[WholeDrive], watch: Watch
) -> Iterator[Engine]:
    """The plan's engine, once what a killed run left is undone, and nothing is wrong."""
    journal.clean(watch)
    with closing(engine_of(plan, journal)) as engine:
        refuse(preflight_checks(plan, engine, journal, erase=erase, watch=watch))
        yield engine


def _root(folder: str | Path | None) -> Path:
    """Where the campaigns are."""
    return Path(folder or CAMPAIGNS)


def _paths(servers: Iterable[Whereabouts]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(path for server in servers for path in server.paths))


def _machine(plan: Plan, paths: Iterable[Path]) -> Host:
    """This machine; with all that is known of it, if it is what the plan measures."""
    return described(host(paths)) if plan.engine.measures_real_hardware else host(paths)


def _put_before(store: Store, plan: Plan, paths: Iterable[Path], floor: NoiseFloor | None) -> None:
    """Keep the machine's noise floor, and the drives as they are. Raises Refused if a resumed
    campaign had other ones for its volumes.
    """
    store.put_noise_floor(floor)
    drives = drives_called(plan.drives)
    before = {one.wwid for one in store.campaign.drives_before if one.wwid}
    now = {one.wwid for one in drives if one.wwid}
    if others := sorted(now - before) if before and not store.campaign.joined else []:
        seen = f"the campaign was begun without drive {', '.join(others)}"
        raise Refused(f"resuming {store.folder}", seen=seen, do="use its drives, or run --fresh")
    store.put_drives_before((*drives_under(paths), *drives))


def _finished(
    context: Context, machine: Host, paths: Iterable[Path], *, resumed: bool, brief: bool
) -> LoadedResults:
    """The results of a campaign that has nothing left to measure."""
    plan, store = context.plan, context.store
    store.put_drives_after((*drives_under(paths), *drives_called(plan.drives)))
    results = store.finish(exit_code, awaits_brief=brief)
    step_times.keep(machine, plan, results, resumed=resumed)
    return results


def _keeping(store: Store, watch: Watch) -> Watch:
    """The watcher; reports of preconditioned and loaded drives are also kept."""

    def watched(event: Event) -> None:
        if isinstance(done := event.data.get("written"), Preconditioned | DriveLoad):
            store.put_drive_written(done)
        watch(event)

    return watched


@contextlib.contextmanager
def _opened(store: Store, plan: Plan, engine: Engine, watch: Watch) -> Iterator[Store]:
    """The campaign's folder, once its base image is there; a new one if the image has changed."""
    with contextlib.ExitStack() as stack:
        _held(store, stack, watch)
        image = engine.prepare(watch)
        if differing := store.differing(image):
            doing = f"cannot resume {store.folder} ({differing}); starting a new campaign"
            watch(Event(kind="warning", doing=doing))
            created = Store.create(store.folder.parent, plan, store.campaign.host)
            store = _held(created, stack, watch)
        if joined := store.reopen(plan):
            names = ", ".join(cell.name for cell in joined)
            doing = f"adding to {store.folder.name}: {names}"
            watch(Event(kind="start", doing=doing))
        if store.rungs:
            rungs = plural(store.rungs, "rung")
            doing = f"resuming {store.folder.name} ({rungs} already measured)"
            watch(Event(kind="start", doing=doing))
        store.put_base_image(image)
        yield store


def _held(store: Store, until: contextlib.ExitStack, watch: Watch) -> Store:
    """The store, open until then; its folder is reported."""
    folder = str(until.enter_context(store).folder)
    watch(Event(kind="start", doing=f"writing results to {folder}", data={"folder": folder}))
    return store


def _final_runs(context: Context, climbs: Sequence[Climb]) -> FinalRuns | Rounds:
    ladder, watch = context.plan.ladder, context.watch
    pooled = context.plan.workload.connections > 0

    def report(cell: Cell, result: StopResult) -> None:
        watch(Event(kind="stop", doing=cell.name, data=result.model_dump()))

    if ladder.rounds == "long":
        kept = context.store.campaign.fixed_rate
        return FinalRuns(climbs, ladder, kept, pooled=pooled, report=report)
    wanted = Wanted(ladder.precision, ladder.fewest_repeats, ladder.most_repeats)

    def enough(rungs: Sequence[Rung]) -> bool:
        so_far = rounds_so_far(rungs, wanted)
        watch(Event(kind="round", doing=so_far.sentence))
        return bool(so_far.ended_by)

    return Rounds(climbs, ladder, enough, pooled=pooled, report=report)


class Bench:
    """One campaign under way: what was kept is not measured again."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def measure(self) -> None:
        """A climb on every cell, then the final runs at their knees."""
        found = with_cores(self.context)
        where = self.context.engine.where
        self.context.store.put_servers({cell.id: where(cell) for cell in found})
        climbs = [self.climb(cell) for cell in running_order(found)]
        self.warn_of_rate(climbs)
        for runs in _final_runs(self.context, climbs).restored_runs():
            self.final_runs(runs)

    def climb(self, cell: Cell) -> Climb:
        """Add users on one cell until something stops the climb; then check the consistency
        conditions.
        """
        kept = self.context.store.climb(cell)
        for rung in kept.rungs if kept else ():
            self.context.report_rung(rung, kept=True)
        climbed = kept or self._make_climb(cell)
        for result in climbed.stop_results:
            self.context.watch(Event(kind="stop", doing=cell.name, data=result.model_dump()))
        limits = self.context.plan.ladder_on(cell.storage).stops.limits
        return climbed.model_copy(update={"limits": limits})

    def _make_climb(self, cell: Cell) -> Climb:
        ladder = self.context.plan.ladder_on(cell.storage)
        with Restored(self.context, cell) as restored:
            climbed = measure_orders(climb(cell, ladder, self._cores(cell)), restored.rung)
            restored.load_again()
            self._profile(cell, restored)
            self.context.store.put_drive_fills(drive_fills(restored.server.paths))
            checks = tuple(restored.server.conditions(self.context.watch))
        climbed = climbed.model_copy(update={"checks": checks})
        self.context.store.put_climb(climbed)
        return climbed

    def _profile(self, cell: Cell, restored: Restored) -> None:
        """What the cell's storage does without its database, if the plan asks for it: after the
        first climb on it, when the server is idle and its data are written out.
        """
        context, storage = self.context, self.context.plan.storages[cell.storage]
        wanted = context.plan.raw_profile and (storage.path or storage.volumes)
        same = [one.id for one in cells(context.plan) if one.storage == cell.storage]
        profiles = context.store.campaign.raw_profiles
        if kept := next((profiles[id] for id in same if id in profiles), None):
            context.store.put_raw_profile(cell, kept)
        elif wanted:
            restored.server.checkpoint()
            doing = f"profiling {cell.storage!r} without its database"
            paths = restored.server.paths[: 2 if storage.log_apart else 1]
            try:
                profile = storage_profile(paths, doing, context.watch)
            except PlanError as error:  # no space for its file by now
                context.store.put_unprofiled(cell, str(error))
                return
            if profile:
                context.store.put_raw_profile(cell, profile)

    def warn_of_rate(self, climbs: Sequence[Climb]) -> None:
        """Warn before the final runs if the plan's own fixed rate exceeds a knee of the climbs."""
        if planned_per_s := self.context.plan.ladder.latency_per_s:
            for caveat in rate_caveats(climbs, planned_per_s):
                self.context.watch(Event(kind="warning", doing=caveat))

    def final_runs(self, runs: RestoredRuns) -> None:
        """Measure the final runs of one restore; then check the conditions of the data, if the runs
        say so.
        """
        with SideBySide(self.context, runs.cells, runs.restore, runs.loads) as databases:
            if measure_orders(runs.steps, databases.rung):
                databases.check_conditions()

    def _cores(self, cell: Cell) -> int:
        """Number of the cell's database cores.

        Those of a server on another machine are unknown: its climb begins at 1 user.
        """
        cores = self.context.engine.where(cell).cores
        if not cores and not self.context.plan.ladder.first:
            self.context.store.put_note(
                "the climb started at 1 user because the core count of an external server is"
                " unknown"
            )
        return len(cores) or 1
