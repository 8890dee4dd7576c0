"""The main flow: for each cell prepare, restore, climb, keep; then the knees again, properly.

Start reading here. Measuring never prints (`watch` receives the events), and everything measured is
saved before the next thing begins, so that a killed campaign resumes at the next rung.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from kneebench.analysis.disturbance import TRIES
from kneebench.analysis.outcome import exit_code
from kneebench.analysis.wording import number_of_users, plural
from kneebench.databases.engine import Engine, Server, engine_of
from kneebench.directories import CAMPAIGNS
from kneebench.errors import PlanError, Refused
from kneebench.lab.host import host
from kneebench.lab.journal import Journal
from kneebench.ladder.climb import climb, followed
from kneebench.ladder.final_runs import FinalRuns, Repetition
from kneebench.measurement.measure import MeasuredRung, measure
from kneebench.measurement.rung_runner import described
from kneebench.plan import Plan
from kneebench.plan.cells import cells
from kneebench.preflight import preflight_checks
from kneebench.records import Cell, Climb, Event, Finding, Host, Order, Results, Rung, Watch
from kneebench.results.store import Store

RESUMED = (
    "{}: this climb was resumed on a freshly restored database; drift and consistency checks cover"
    " only what was measured after the resume"
)


def run(
    plan: Plan,
    folder: str | Path | None = None,
    watch: Watch = lambda event: None,
    fresh: bool = False,
    brief: bool = False,
) -> Results:
    """Measure a whole campaign and give its results.

    `folder` holds campaigns, one folder each. An unfinished one of the same plan, image and
    kneebench is continued unless `fresh`. Ctrl-C (KeyboardInterrupt) ends cleanly: the machine is
    put back, what was measured stays. `brief` says that one is to be written next: until it is
    there, `kneebench run` writes it and does not measure again. Raises PlanError or Refused before
    anything is changed; InvalidMeasurement when the database is lost.

    >>> from kneebench import preset, run
    >>> results = run(preset("simulated"), folder="kneebench-results")
    >>> results.finished, results.campaign.simulated
    (True, True)
    """
    journal = Journal()
    journal.clean(watch)
    engine = engine_of(plan, journal)
    _refuse(preflight_checks(plan, engine, journal))
    servers = {cell.storage: engine.where(cell) for cell in cells(plan)}
    machine = host(dict.fromkeys(path for server in servers.values() for path in server.paths))
    with _store(plan, Path(folder or CAMPAIGNS), machine, engine, watch, fresh=fresh) as store:
        store.put_servers(servers)
        bench = Bench(plan, engine, store, watch)
        climbs = [bench.climb(cell) for cell in cells(plan)]
        for repetition in FinalRuns(climbs, plan.ladder).repetitions():
            bench.repetition(repetition)
        return store.finish(exit_code, awaits_brief=brief)


@contextlib.contextmanager
def _store(
    plan: Plan, root: Path, machine: Host, engine: Engine, watch: Watch, *, fresh: bool
) -> Iterator[Store]:
    """The campaign's folder, once its base image is there; a new one if the image has changed."""
    with contextlib.ExitStack() as stack:
        store = _opened(Store.for_plan(root, plan, machine, fresh=fresh), stack, watch)
        image = engine.prepare(watch)
        if differing := store.differing(image):
            doing = f"cannot resume {store.folder} ({differing}); starting a new campaign"
            watch(Event(kind="warning", doing=doing))
            store = _opened(Store.create(root, plan, machine), stack, watch)
        if store.rungs:
            rungs = plural(store.rungs, "rung")
            doing = f"resuming {store.folder.name} ({rungs} already measured)"
            watch(Event(kind="start", doing=doing))
        store.put_base_image(image)
        yield store


def _opened(store: Store, until: contextlib.ExitStack, watch: Watch) -> Store:
    """The store, open until then; its folder is reported."""
    folder = str(until.enter_context(store).folder)
    watch(Event(kind="start", doing=f"writing results to {folder}", data={"folder": folder}))
    return store


def _refuse(found: Sequence[Finding]) -> None:
    """Stop before anything is changed when a finding of `check` says so."""
    for finding in found:
        if finding.level in ("error", "refused"):
            kind = Refused if finding.level == "refused" else PlanError
            raise kind(finding.subject, seen=finding.seen, do=finding.do)


class Bench:
    """One campaign under way: what is measured is kept at once, what was kept is not measured
    again.
    """

    def __init__(self, plan: Plan, engine: Engine, store: Store, watch: Watch) -> None:
        self.plan, self.engine, self.store, self.watch = plan, engine, store, watch

    def climb(self, cell: Cell) -> Climb:
        """Add users on one cell until something stops the climb; then the consistency
        conditions.
        """
        kept = self.store.climb(cell)
        for rung in kept.rungs if kept else ():
            self.report_rung(rung, kept=True)
        climbed = kept or self._climbed(cell)
        for result in climbed.stop_results:
            self.watch(Event(kind="stop", doing=cell.storage, data=result.model_dump()))
        return climbed

    def _climbed(self, cell: Cell) -> Climb:
        with Restored(self, cell) as place:
            climbed = followed(climb(cell, self.plan.ladder, self._cores(cell)), place.rung)
            place.load_again()
            climbed = climbed.model_copy(
                update={"checks": tuple(place.server.conditions(self.watch))}
            )
        self.store.put_climb(climbed)
        return climbed

    def repetition(self, repetition: Repetition) -> None:
        """Measure the final runs of one configuration, on one restore; then ask the conditions of
        the data that its figures come from.
        """
        with Restored(self, repetition.cell, repetition.repeat, repetition.load) as place:
            followed(repetition.steps, place.rung)
            if place.last and not self.store.has_conditions(place.last):
                place.load_again()
                self.store.put_conditions(place.last, place.server.conditions(self.watch))

    def report_rung(self, rung: Rung, *, kept: bool) -> None:
        """Tell the watcher of a rung: measured now, or kept from before."""
        self.watch(
            Event(kind="rung", doing=number_of_users(rung.users), data={"rung": rung, "kept": kept})
        )

    def _cores(self, cell: Cell) -> int:
        """Number of the cell's database cores.

        Those of a server on another machine are unknown: its climb begins at 1 user.
        """
        cores = self.engine.where(cell).cores
        if not cores and not self.plan.ladder.first:
            self.store.put_note(
                "the climb started at 1 user because the core count of an external server is"
                " unknown"
            )
        return len(cores) or 1


class Restored:
    """One restored database: made when the first rung really has to be measured, removed at the
    end.

    `load` is measured on it first, for nothing; without one, the first rung that is kept of a
    database that was here before.
    """

    def __init__(
        self, bench: Bench, cell: Cell, repeat: int = 0, load: Order | None = None
    ) -> None:
        self.bench, self.cell, self.repeat = bench, cell, repeat
        self._stack = contextlib.ExitStack()
        self._server: Server | None = None
        self._load = load
        self.last: Order | None = None
        """The latest order that was measured or kept."""

    def __enter__(self) -> Restored:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @property
    def server(self) -> Server:
        """The server, restored and started on first use."""
        if self._server is None:
            self._server = self._stack.enter_context(
                self.bench.engine.restored(self.cell, self.bench.watch, self.repeat)
            )
            self.bench.store.put_settings(self.cell, self._server.settings)
        return self._server

    def rung(self, order: Order) -> Rung:
        """The kept rung of this order, or else a new one, measured and kept."""
        kept = self.bench.store.rung(order)
        if kept and self._server is None:
            self._load = self._load or order
        rung = kept or self._measured(order)
        self.last = order
        self.bench.report_rung(rung, kept=kept is not None)
        return rung

    def _measured(self, order: Order) -> Rung:
        first = self._server is None
        measured = self._undisturbed(order, cold=not self.load_again() and first)
        rung = (
            measured.rung.model_copy(update={"restore_s": self.server.restore_s})
            if first
            else measured.rung
        )
        self.bench.store.put(measured._replace(rung=rung))
        return rung

    def _undisturbed(self, order: Order, *, cold: bool) -> MeasuredRung:
        """The first try that nothing from outside made invalid, or the last one; it says what
        became of those before.
        """
        tried: list[str] = []
        while True:
            measured = self._measure(order, cold=cold and not tried)
            if not measured.disturbed or len(tried) + 1 == TRIES:
                return measured._replace(rung=_with_tries(measured.rung, tried))
            tried.append(f"{measured.rung.tally.nopm:,.0f} NOPM, {measured.disturbed}")
            self.bench.watch(
                Event(
                    kind="warning",
                    doing=(
                        f"{described(order)}: attempt {len(tried)} of {TRIES} is invalid:"
                        f" {measured.disturbed}"
                    ),
                )
            )

    def load_again(self) -> bool:
        """True if the database was restored and cold, and a load was put on it now: before the
        fixed rate of a final run, or after a resume.

        It fills the cache, as it did before, and leaves the consistency conditions something to
        find.
        """
        if self._server is not None or self._load is None:
            return False
        if not self.repeat:
            self.bench.store.put_note(RESUMED.format(self.cell.storage))
        self._measure(self._load, cold=True)
        return True

    def _measure(self, order: Order, *, cold: bool) -> MeasuredRung:
        return measure(
            order, self.bench.plan, self.server, self.server.paths, self.bench.watch, cold=cold
        )


def _with_tries(rung: Rung, tried: Sequence[str]) -> Rung:
    """The rung with a note for each try before it: that one was invalid and is not kept."""
    notes = (
        f"attempt {number} of {len(tried) + 1} was invalid and was repeated: {seen}"
        for number, seen in enumerate(tried, start=1)
    )
    return rung.model_copy(update={"notes": (*rung.notes, *notes)})
