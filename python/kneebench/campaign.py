"""The main flow: for each cell prepare, restore, climb, keep; then the knees again, properly.

Start reading here. Measuring never prints (`watch` is told), and everything measured is kept before the
next thing begins, so that a campaign that was killed goes on at the next rung.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from kneebench import catalogue
from kneebench.analysis.words import number_of_users
from kneebench.databases.engine import Engine, Server
from kneebench.errors import PlanError, Refused
from kneebench.findings import findings
from kneebench.lab.host import host
from kneebench.lab.journal import Journal
from kneebench.ladder.climb import climb, followed
from kneebench.ladder.report import Visit, report
from kneebench.measurement.rung import Measured, measure
from kneebench.outcome import exit_code
from kneebench.plan import Plan
from kneebench.plan.cells import cells
from kneebench.records import Cell, Climb, Event, Finding, Order, Results, Rung, Watch
from kneebench.results.store import Store

GONE_ON = "{}: its climb was gone on with on a database restored again: its consistency conditions and its drift tell of what was measured since"
RESULTS = Path("kneebench-results")
"""Where campaigns are kept when no other folder is named."""


def run(plan: Plan, folder: Path | None = None, watch: Watch = lambda event: None, fresh: bool = False) -> Results:
    """Measure a whole campaign and give its results.

    `folder` holds campaigns, one folder each. An unfinished one of the same plan, image and kneebench is
    continued unless `fresh`. Ctrl-C (KeyboardInterrupt) ends cleanly: the machine is put back, what was measured stays.
    Raises PlanError or Refused before anything is changed; InvalidMeasurement when the database is lost.

    >>> from kneebench import read_plan
    >>> results = run(read_plan("plans/simulated.toml"), folder=getfixture("tmp_path"))
    >>> results.finished, results.campaign.simulated
    (True, True)
    """
    journal = Journal()
    journal.clean(watch)
    engine = catalogue.engine(plan, journal)
    _refuse(findings(plan, engine, journal))
    root, machine = folder or RESULTS, host(plan.paths)
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(Store.for_plan(root, plan, machine, fresh=fresh))
        image = engine.prepare(watch)
        if differing := store.differing(image):
            watch(Event(kind="warning", doing=f"{store.folder} is not gone on with ({differing}): a fresh campaign begins"))
            store = stack.enter_context(Store.create(root, plan, machine))
        if store.rungs:
            watch(Event(kind="start", doing=f"going on with {store.folder.name}: rungs kept: {store.rungs}"))
        store.put_image(image)
        bench = Bench(plan, engine, store, watch)
        climbs = [bench.climb(cell) for cell in cells(plan)]
        for visit in report(climbs, plan.ladder):
            bench.visit(visit)
        return store.finish(exit_code)


def _refuse(found: Sequence[Finding]) -> None:
    """Stop before anything is changed when a finding of `check` says so."""
    for finding in found:
        if finding.level in ("error", "refused"):
            kind = Refused if finding.level == "refused" else PlanError
            raise kind(f"checking {finding.subject}", seen=finding.seen, do=finding.do)


class Bench:
    """One campaign under way: what is measured is kept at once, what was kept is not measured again."""

    def __init__(self, plan: Plan, engine: Engine, store: Store, watch: Watch) -> None:
        self.plan, self.engine, self.store, self.watch = plan, engine, store, watch

    def climb(self, cell: Cell) -> Climb:
        """Add users on one cell until something stops the climb; then the consistency conditions."""
        kept = self.store.climb(cell)
        for rung in kept.rungs if kept else ():
            self.tell(rung, kept=True)
        climbed = kept or self._climbed(cell)
        for verdict in climbed.verdicts:
            self.watch(Event(kind="verdict", doing=cell.storage, data=verdict.model_dump()))
        return climbed

    def _climbed(self, cell: Cell) -> Climb:
        with Restored(self, cell) as place:
            climbed = followed(climb(cell, self.plan.ladder, self._cores(cell)), place.rung)
            place.load_again()
            climbed = climbed.model_copy(update={"checks": tuple(place.server.conditions(self.watch))})
        self.store.put_climb(climbed)
        return climbed

    def visit(self, visit: Visit) -> None:
        """Measure what the report wants of one cell, on one restore."""
        with Restored(self, visit.cell, visit.repeat) as place:
            for order in visit.orders:
                place.rung(order)

    def tell(self, rung: Rung, *, kept: bool) -> None:
        """Tell the watcher of a rung: measured now, or kept from before."""
        self.watch(Event(kind="rung", doing=number_of_users(rung.users), data={"rung": rung, "kept": kept}))

    def _cores(self, cell: Cell) -> int:
        """Of the database, as far as the plan or this machine tells; of a server by URL nothing does, so its climb begins at 1 user."""
        storage = self.plan.storages[cell.storage]
        if self.plan.urls[cell.storage]:
            if isinstance(self.plan.ladder.users, tuple) and not self.plan.ladder.users[0]:
                self.store.put_note("the climb began at 1 user: how many cores a server by URL has is not known")
            return 1
        return storage.simulated.cores if storage.simulated else len(self.plan.database.cores) or host().cores


class Restored:
    """One restored database: made when the first rung really has to be measured, removed at the end."""

    def __init__(self, bench: Bench, cell: Cell, repeat: int = 0) -> None:
        self.bench, self.cell, self.repeat = bench, cell, repeat
        self._stack = contextlib.ExitStack()
        self._server: Server | None = None
        self._kept: Order | None = None

    def __enter__(self) -> Restored:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @property
    def server(self) -> Server:
        """The server, restored and started on first use."""
        if self._server is None:
            self._server = self._stack.enter_context(self.bench.engine.restored(self.cell, self.bench.watch, self.repeat))
            self.bench.store.put_settings(self.cell, self._server.settings)
        return self._server

    def rung(self, order: Order) -> Rung:
        """The kept rung of this order, or else a new one, measured and kept."""
        kept = self.bench.store.rung(order)
        if kept and self._server is None:
            self._kept = self._kept or order
        rung = kept or self._measured(order)
        self.bench.tell(rung, kept=kept is not None)
        return rung

    def _measured(self, order: Order) -> Rung:
        first = self._server is None
        measured = self._measure(order, cold=not self.load_again() and first)
        rung = measured.rung.model_copy(update={"restore_s": self.server.restore_s}) if first else measured.rung
        self.bench.store.put(measured._replace(rung=rung))
        return rung

    def load_again(self) -> bool:
        """True where this is gone on with: its database is restored again, cold and untouched, and the first rung is measured on it once more, for nothing.

        That rung fills the cache as it did before, and leaves the consistency conditions something to find.
        """
        if self._server is not None or self._kept is None:
            return False
        if not self.repeat:
            self.bench.store.put_note(GONE_ON.format(self.cell.storage))
        self._measure(self._kept, cold=True)
        return True

    def _measure(self, order: Order, *, cold: bool) -> Measured:
        return measure(order, self.bench.plan, self.server, self.bench.plan.storages[self.cell.storage].paths, self.bench.watch, cold=cold)
