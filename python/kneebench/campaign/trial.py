"""A trial of a server: everything that a campaign asks of it, once, on one warehouse in a database
of its own that is removed again (`kneebench check --try`).

It uses only what every engine has (databases/engine.py), so that it tries an engine that is new as
well as a server that kneebench has never met. Each step is one finding; a step that fails does not
keep the others from being tried.
"""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from kneebench import units
from kneebench.databases.engine import Engine, RemovesImages, Server, finding_of
from kneebench.databases.several import engine_of
from kneebench.errors import CheckFailed, KneebenchError, PlanError
from kneebench.lab.journal import Journal
from kneebench.measurement.quantities import READ
from kneebench.plan.constraints import Constraints
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.study import Study
from kneebench.plan.workload import Workload
from kneebench.records import TRANSACTIONS, Check, Configuration, Finding, Order, Tally, Watch
from kneebench.workload import generator_spec, running_load

USERS = 2
LEAST_S, MOST_S = 3, 40
"""How long the load lasts at least, and until each transaction has committed at most."""
BACKED_UP = "backup"
READ_BY_SERVERS = ("log_writes", "checkpoints", "tables", "waits")
"""Meters that only a server can answer."""


def trial_study(study: Study) -> Study:
    """The plan on one warehouse, in a database of its own, without constraints.

    Raises PlanError for a plan whose servers are managed: each of their runs is in directories of
    its own.
    """
    if not _by_url(study):
        raise PlanError(
            "--try",
            seen="the plan names no running server (url)",
            do="measure briefly instead: kneebench run --users 2 --for 10s",
        )
    database = study.only_database.database.for_trial()
    storages = {
        name: storage.model_copy(update={"url": database.trial_url(storage.url)})
        for name, storage in study.storages.items()
    }
    workload = Workload(warehouses=1, profile=study.workload.profile)
    return study.changed(
        database=database, storages=storages, constraints=Constraints(), workload=workload
    )


def _by_url(study: Study) -> bool:
    """Whether all servers of a plan with one database run already."""
    return all(study.only_database.urls.values())


def try_databases(study: Study, journal: Journal, watch: Watch) -> Iterator[Finding]:
    """What works and what does not, step by step, while it is tried; of each database of the plan
    whose servers run already, in turn.

    Raises PlanError for a plan that cannot be tried. An error of level "refused" or of the first
    findings ends the trial of a database: nothing was made.
    """
    if not any(_by_url(study.alone(name)) for name in study.databases):
        trial_study(study)
    for name in study.databases:
        for finding in _try_database(name, study.alone(name), journal, watch):
            subject = ": ".join(filter(None, (name, finding.subject)))
            yield finding.model_copy(update={"subject": subject})


def _try_database(name: str, study: Study, journal: Journal, watch: Watch) -> Iterator[Finding]:
    """The trial of one database; beside others what keeps it from being tried is a finding."""
    if not _by_url(study):
        yield Finding(level="note", subject="", seen="not tried: kneebench starts its servers")
        return
    try:
        yield from _try_server(study, journal, watch)
    except PlanError as error:
        if not name:
            raise
        yield finding_of(error)


def _try_server(study: Study, journal: Journal, watch: Watch) -> Iterator[Finding]:
    own = trial_study(study)
    engine = engine_of(own.databases, journal)
    if not isinstance(engine, RemovesImages):
        raise PlanError("--try", seen="this engine cannot remove a trial", do="use kneebench run")
    found = engine.findings()
    yield from found
    if any(one.level in ("error", "refused") for one in found):
        return
    left = _step("remove", lambda: engine.remove_image(watch))  # of a trial that was killed
    if left.level == "error":
        yield left
        return
    try:
        yield from _steps(own, engine, journal, watch)
    finally:
        removed = _step("remove", lambda: engine.remove_image(watch))
    yield removed


def _steps(study: Study, engine: Engine, journal: Journal, watch: Watch) -> Iterator[Finding]:
    """Load, back up, and the steps of each storage; on the loaded database where the backup
    fails.
    """
    unsaved = study.changed(database=study.only_database.database.before_backup())
    loading = engine if unsaved == study else engine_of(unsaved.databases, journal)
    loaded = _step("load one warehouse", lambda: _loaded(loading.prepare(watch)))
    yield loaded.model_copy(update={"about": "trial_load"})  # the first that changes something
    if loaded.level == "error":
        return
    if loading is not engine:
        saved = _step(BACKED_UP, lambda: f"restored by {engine.prepare(watch)['restored_by']}")
        yield saved
        if saved.level == "error":
            study, engine = unsaved, loading
    database = study.only_database
    for configuration in {one.storage: one for one in reversed(database.configurations)}.values():
        yield from Trial(database, engine, configuration, watch).steps()


def _loaded(facts: Mapping[str, str]) -> str:
    rows = f"{int(facts['rows']):,} rows in {facts['rows_s']} s" if "rows_s" in facts else "loaded"
    return f"{rows}, keys in {facts['keys_s']} s" if "keys_s" in facts else rows


def _step(subject: str, do: Callable[[], str]) -> Finding:
    """A finding on what `do` says, or on its error; without what that left on the server, which the
    trial removes in the end.
    """
    began = time.monotonic()
    try:
        seen = do()
    except KneebenchError as error:
        return Finding(level="error", subject=subject, seen=error.alone)
    took_s = time.monotonic() - began
    return Finding(level="ok", subject=subject, seen=f"{seen} ({units.time(took_s)})".lstrip())


class Trial:
    """The trial of one storage's server."""

    def __init__(
        self, plan: DatabasePlan, engine: Engine, configuration: Configuration, watch: Watch
    ) -> None:
        self.plan, self.engine, self.configuration, self.watch = plan, engine, configuration, watch
        self._fresh_ids = 0
        self._read: defaultdict[str, set[str]] = defaultdict(set)
        self._unread: dict[str, str] = {}

    def steps(self) -> Iterator[Finding]:
        """Restore, ask and load; then restore once more and see that the database is as it was."""
        yield from self._try_restored(1, self._first)
        yield from self._try_restored(2, self._second)

    def _try_restored(
        self, number: int, steps: Callable[[Server], Iterator[Finding]]
    ) -> Iterator[Finding]:
        """The steps on a restored database; an error of restoring or removing is a finding too."""
        subject = f"{self.configuration.storage}: restore {number}"
        with contextlib.ExitStack() as stack:
            try:
                restored = self.engine.restored(self.configuration, self.watch, number - 1)
                server = stack.enter_context(restored)
            except KneebenchError as error:
                yield Finding(level="error", subject=subject, seen=str(error))
                return
            how = f"{units.time(server.restore_s)} ({self.plan.restore})"
            yield Finding(level="ok", subject=subject, seen=how)
            yield from (Finding(level="note", subject=subject, seen=one) for one in server.notes)
            yield from steps(server)

    def _first(self, server: Server) -> Iterator[Finding]:
        matter = [setting for setting in server.settings if setting.matters]
        seen = f"{len(server.settings)} read, {len(matter)} of them affect storage I/O"
        yield self._found("settings", seen)
        yield from self._load(server)
        yield from (self._reading(server, meter) for meter in READ_BY_SERVERS)
        yield self._ask("checkpoint", lambda: _done(server.checkpoint))
        yield from self._conditions(server)

    def _second(self, server: Server) -> Iterator[Finding]:
        yield self._ask("fresh database", lambda: self._unused(server))
        yield from self._conditions(server)

    def _unused(self, server: Server) -> str:
        """Raises CheckFailed where the restored database contains orders of the first load."""
        now = server.sum_next_order_ids()
        if now != self._fresh_ids:
            seen = f"sum D_NEXT_O_ID is {now:,}, freshly loaded it was {self._fresh_ids:,}"
            raise CheckFailed("restored database", seen=seen)
        return "it contains none of the first load's orders"

    def _found(self, subject: str, seen: str, *, works: bool = True) -> Finding:
        level = "ok" if works else "error"
        return Finding(level=level, subject=f"{self.configuration.storage}: {subject}", seen=seen)

    def _ask(self, subject: str, do: Callable[[], str]) -> Finding:
        return _step(f"{self.configuration.storage}: {subject}", do)

    def _reading(self, server: Server, meter: str) -> Finding:
        subject = f"{self.configuration.storage}: {meter}"
        if meter not in server.measures:
            return Finding(level="warning", subject=subject, seen="not measured on this server")
        if error := self._unread.get(meter):
            return self._found(meter, error, works=False)
        return self._found(meter, ", ".join(sorted(self._read[meter])) or "nothing was seen")

    def _take_readings(self, server: Server) -> None:
        """All readings, while the server is under load: an idle one waits for nothing."""
        for meter in server.measures:
            try:
                names = {name.partition("|")[0] for name in server.readings(meter)}
            except KneebenchError as error:
                self._unread[meter] = str(error)
            else:
                self._read[meter] |= names & set(READ)

    def _load(self, server: Server) -> Iterator[Finding]:
        """Every transaction, with its counts; then the orders as the database has them."""
        try:
            self._fresh_ids = server.sum_next_order_ids()
            counted, tally = server.transaction_counts(), self._put_load(server)
            ids, counted_after = server.sum_next_order_ids(), server.transaction_counts()
        except KneebenchError as error:
            yield self._found("load", str(error), works=False)
            return
        for kind in TRANSACTIONS:
            one = tally.transactions[kind].whole
            seen = f"{one.committed} committed, {one.rolled_back} rolled back by design"
            seen += f", {one.failed} failed" if one.failed else ""
            yield self._found(kind.replace("_", "-"), seen, works=one.committed > 0)
        yield from (
            self._found(f"error {error.code}", f"{error.count} times: {error.first}", works=False)
            for error in tally.errors
        )
        orders = tally.transactions["new_order"].whole.committed
        seen = f"{orders} New-Orders counted by the load generator, {ids - self._fresh_ids} by the"
        yield self._found("orders", f"{seen} database", works=orders == ids - self._fresh_ids)
        seen = f"{tally.whole.completed} completed"
        if counted and counted_after:
            seen += f", {sum(counted_after) - sum(counted)} counted by the database"
        yield self._found("transactions", seen)

    def _put_load(self, server: Server) -> Tally:
        """A short load: until each transaction has committed, at most MOST_S."""
        order = Order(configuration=self.configuration.id, phase="search", users=USERS)
        plan = self.plan
        generator = server.load_generator(generator_spec(plan.workload, plan.seed, order))
        generator.ready()
        with running_load(generator) as load:
            load.mark("window")
            seen: set[str] = set()
            for second in range(MOST_S):
                ticked = load.tick().seconds
                self._take_readings(server)
                seen |= {one.transaction for one in ticked if one.committed}
                if second >= LEAST_S and seen == set(TRANSACTIONS):
                    break
            load.mark("cool_down")
            return load.stop()

    def _conditions(self, server: Server) -> Iterator[Finding]:
        try:
            checks = server.conditions(self.watch)
        except KneebenchError as error:
            yield self._found("conditions", str(error), works=False)
            return
        yield from self._judged(checks)

    def _judged(self, checks: Sequence[Check]) -> Iterator[Finding]:
        broken = [check.sentence for check in checks if not check.passed]
        if not broken:
            yield self._found("conditions", f"all {len(checks)} hold")
        yield from (self._found("conditions", one, works=False) for one in broken)


def _done(do: Callable[[], None]) -> str:
    do()
    return "done"
