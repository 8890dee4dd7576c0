"""A running server with the workload's tables: what measuring asks of it, ours or one by URL."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import pymysql

from kneebench.databases.engine import Analyst, LogCalls
from kneebench.databases.innodb.blocked import end_stuck, end_users, holders
from kneebench.databases.innodb.server_address import InnodbAddress
from kneebench.databases.innodb.session import CLIENT, InnodbSession, connect, words_of
from kneebench.databases.innodb.settings_in_force import in_force, log_calls, log_is_mapped
from kneebench.databases.innodb.sql_schema import InnodbSchema
from kneebench.databases.innodb.versions import Product, is_from
from kneebench.databases.innodb.waits import InnodbWaits
from kneebench.databases.managed.server_process import Process
from kneebench.databases.server_sessions import TIMEOUTS, ServerSessions, Timeouts
from kneebench.databases.tproc_c.orders import Rows
from kneebench.databases.tproc_c.tables import LARGEST_FIRST
from kneebench.errors import KneebenchError
from kneebench.records import Check, Setting

# What the server counts about itself, asked once a second: SHOW GLOBAL STATUS, and the performance
# schema where it times the log.
#
# Waits are sampled apart (waits.py).
#
# From 10.8 the server does not time the writes of its log: the performance schema has no instrument
# for them. Then the times are left out, not read as 0, and the kernel's are used where its calls
# are traced (meter log_histogram). With innodb_flush_log_at_trx_commit = 1 each write of the log is
# followed by its sync, so the writes are the flushes; older servers and MySQL count the syncs.
#
# All counts are the server's: on one that others use too, what they do is among them.

METERS = frozenset(["log_writes", "checkpoints", "tables"])
PICOSECONDS_S = 1e-12
TIMED = """
SELECT count_star, sum_timer_write, sum_timer_misc
FROM performance_schema.file_summary_by_event_name
WHERE event_name = 'wait/io/file/innodb/innodb_log_file'"""
INSTRUMENT = """
SELECT enabled = 'YES' AND timed = 'YES' FROM performance_schema.setup_instruments
WHERE name = 'wait/io/file/innodb/innodb_log_file'"""
METRIC = """
SELECT count FROM information_schema.innodb_metrics
WHERE name = %s AND time_enabled IS NOT NULL AND time_disabled IS NULL"""
"""Of a counter that counts: MariaDB and MySQL have other columns that say it."""
STORMS, HISTORY = "buffer_flush_sync", "trx_rseg_history_len"
"""MySQL has no status variable of the latter."""
READ = (
    *("Com_commit", "Com_rollback", "Innodb_buffer_pool_pages_dirty", "Innodb_buffer_pool_reads"),
    *("Innodb_buffer_pool_pages_flushed", "Innodb_buffer_pool_read_requests"),
    *("Innodb_checkpoint_age", "Innodb_history_list_length", "Innodb_log_write_requests"),
    *("Innodb_log_writes", "Innodb_os_log_fsyncs", "Innodb_os_log_written"),
    *("Innodb_redo_log_checkpoint_lsn", "Innodb_redo_log_current_lsn"),
    *("Innodb_row_lock_time", "Innodb_row_lock_waits"),
)
STATUS = f"SHOW GLOBAL STATUS WHERE variable_name IN {READ}"
"""A quarter of the CPU of the whole list: 400 and 1,700 microseconds on 10.11."""
NOT_TIMED = (
    "the server shows no times of its log writes; log write latency is measured in the kernel,"
    " where its calls can be traced"
)


class InnodbReadings:
    """The counters and gauges of one server."""

    def __init__(self, session: InnodbSession, settings: Mapping[str, str]) -> None:
        self._session = session
        flushed = settings.get("innodb_flush_log_at_trx_commit", "1") == "1"
        self._writes_are_flushes = flushed and not log_is_mapped(settings)
        self.timed = any(self._timed().values()) or self._will_be_timed(settings)
        self._counted = {name for name in (STORMS, HISTORY) if self._counts(name)}

    def read(self, meter: str) -> dict[str, float]:
        """One meter's readings by "quantity|source"; raises KeyError for a meter that is not one of
        METERS.
        """
        read: Callable[[Mapping[str, float]], dict[str, float]] = {
            "log_writes": self._log_writes,
            "checkpoints": self._checkpoints,
            "tables": self._tables,
        }[meter]
        return {f"{name}|database": value for name, value in read(self._status()).items()}

    def counts(self) -> tuple[int, int]:
        """(COMMIT statements, ROLLBACK statements)."""
        status = self._status()
        return round(status["Com_commit"]), round(status["Com_rollback"])

    def _status(self) -> dict[str, float]:
        return dict(_numbers(dict(self._session.rows(STATUS))))

    def _timed(self) -> dict[str, float]:
        """Seconds in writes and in syncs of the log; 0 while none was made, and where an instrument
        is not timed; empty without one.
        """
        try:
            _, writes, others = self._session.row(TIMED) or (0, 0, 0)
        except pymysql.Error:  # no performance schema, or no right to read it
            return {}
        return {
            "log.write_time": float(writes) * PICOSECONDS_S,
            "log.flush_time": float(others) * PICOSECONDS_S,
        }

    def _will_be_timed(self, settings: Mapping[str, str]) -> bool:
        """Whether a server that has just started and wrote nothing times its log: MySQL, by its
        instrument. From 10.8 MariaDB has one that counts nothing.
        """
        if not is_from(settings.get("version", "0.0-MariaDB"), Product.MYSQL, (0, 0)):
            return False
        try:
            return bool(self._session.value(INSTRUMENT))
        except pymysql.Error:
            return False

    def _log_writes(self, status: Mapping[str, float]) -> dict[str, float]:
        writes = status["Innodb_log_writes"]
        flushes = status.get("Innodb_os_log_fsyncs", writes if self._writes_are_flushes else None)
        return {
            "log.bytes": status["Innodb_os_log_written"],
            "log.records": status["Innodb_log_write_requests"],
            "log.writes": writes,
            **({} if flushes is None else {"log.flushes": flushes}),
            **(self._timed() if self.timed else {}),
            "database.commits": status["Com_commit"],
            "database.rollbacks": status["Com_rollback"],
        }

    def _checkpoints(self, status: Mapping[str, float]) -> dict[str, float]:
        found = {
            "checkpoints.buffers": status["Innodb_buffer_pool_pages_flushed"],
            "pages.dirty": status["Innodb_buffer_pool_pages_dirty"],
        }
        if (age := _checkpoint_age(status)) is not None:
            found["log.checkpoint_age"] = age
        if STORMS in self._counted:
            found["checkpoints.requested"] = float(self._session.value(METRIC, STORMS))
        return found

    def _tables(self, status: Mapping[str, float]) -> dict[str, float]:
        reads = status["Innodb_buffer_pool_reads"]
        found = {
            "cache.hits": status["Innodb_buffer_pool_read_requests"] - reads,
            "cache.reads": reads,
            "locks.row_waits": status["Innodb_row_lock_waits"],
            "locks.row_wait_time": status["Innodb_row_lock_time"] / 1e3,
        }
        if "Innodb_history_list_length" in status:
            found["undo.history"] = status["Innodb_history_list_length"]
        elif HISTORY in self._counted:
            found["undo.history"] = float(self._session.value(METRIC, HISTORY))
        return found

    def _counts(self, name: str) -> bool:
        try:
            return self._session.value(METRIC, name) is not None
        except pymysql.Error:  # a version without that counter, or a user without the right
            return False


def _checkpoint_age(status: Mapping[str, float]) -> float | None:
    """Bytes of the log since the checkpoint: MariaDB says it, MySQL from 8.0.30 where both are.

    >>> _checkpoint_age({"Innodb_redo_log_current_lsn": 9.0, "Innodb_redo_log_checkpoint_lsn": 2.0})
    7.0
    """
    written = status.get("Innodb_redo_log_current_lsn")
    checkpoint = status.get("Innodb_redo_log_checkpoint_lsn")
    if written is None or checkpoint is None:
        return status.get("Innodb_checkpoint_age")
    return written - checkpoint


def _numbers(status: Mapping[str, str]) -> list[tuple[str, float]]:
    """The status values that are numbers.

    >>> _numbers({"Uptime": "7", "Rpl_status": "AUTH_MASTER"})
    [('Uptime', 7.0)]
    """
    return [(name, float(value)) for name, value in status.items() if value.isdigit()]


FLUSH_LIMIT_S = 10.0
"""How long the last sessions of a rung may take to end."""
STRANGERS_LIMIT_S = 0.5
"""The same of a session that was there for one question."""
LOCK_TIMED_OUT = "1205"
CANCELLED = (1317, 1969, 3024)
"""Errors of a query that was killed, and of one that took too long (MariaDB, MySQL)."""


class InnodbServer(ServerSessions):
    """Answers for one database of one server.

    It asks from two sessions on the workload's database, one of which samples waits. Both are in
    autocommit and send no COMMIT, so none of their questions is counted as a transaction.
    """

    address: InnodbAddress
    client = CLIENT
    measures = METERS | {"waits"}

    def __init__(
        self,
        address: InnodbAddress,
        warehouses: int,
        restore_s: float,
        notes: Sequence[str] = (),
        process: Process | None = None,
        before: Sequence[Check] | None = None,
        timeouts: Timeouts = TIMEOUTS,
        users: InnodbAddress | None = None,
        schema: type[InnodbSchema] = InnodbSchema,
    ) -> None:
        super().__init__(address, restore_s, process, users)
        self.warehouses, self._schema = warehouses, schema
        self._before, self._timeouts = before, timeouts
        self._session = connect(address, limit_s=timeouts.reading_s)
        self._sampled = connect(address, limit_s=timeouts.reading_s)
        for session in (self._session, self._sampled):
            _bound(session, timeouts.lock_s)
        self.settings: Sequence[Setting] = in_force(self._session)
        values = {setting.name: setting.value for setting in self.settings}
        self._readings: InnodbReadings = InnodbReadings(self._session, values)
        self._waits: InnodbWaits = InnodbWaits(self._sampled, self._own)
        unmeasured = [] if self._readings.timed else [NOT_TIMED]
        unmeasured += [self._waits.unseen.seen] if self._waits.unseen else []
        self.notes: Sequence[str] = (*notes, *_remarks(self.settings), *unmeasured)

    def sample_waits_of(self, databases: Sequence[str]) -> None:
        """Of all sessions in these databases."""
        self._waits = InnodbWaits(self._sampled, self._own, databases)

    def close(self) -> None:
        self._session.close()
        self._sampled.close()

    @contextlib.contextmanager
    def asking(self, what: str, limit_s: float | None = None) -> Iterator[InnodbSession]:
        with self._lock, self.losses_reported(what):
            self._session.limit(limit_s or self._timeouts.reading_s)
            yield self._session

    @contextlib.contextmanager
    def reaching(self, what: str) -> Iterator[InnodbSession]:
        with (
            self.losses_reported(what),
            connect(self.address, limit_s=self._timeouts.whole_s) as session,
        ):
            _bound(session, self._timeouts.lock_s)
            yield session

    def lock_holders(self, error: KneebenchError) -> str | None:
        """By InnoDB's lock waits, from the session that samples."""
        if not error.__cause__ or words_of(error.__cause__)[0] != LOCK_TIMED_OUT:
            return None
        return holders(self._sampled, self._own)

    def rows(self, session: InnodbSession, statement: str) -> Rows:
        return session.rows(statement)

    @contextlib.contextmanager
    def querying(self, limit_s: float) -> Iterator[Analyst]:
        """By the session's own limit, and by KILL QUERY; a server that does not answer to that
        either is lost.
        """
        opened = connect(self.address, limit_s=limit_s + self._timeouts.reading_s)
        with contextlib.ExitStack() as stack:
            with self.losses_reported("cannot run a query"):
                session = stack.enter_context(opened)
                session.run(_limiting(session.version, limit_s))

            def ask(statement: str) -> Rows | None:
                try:
                    return session.rows(statement)
                except pymysql.OperationalError as error:
                    if error.args[0] not in CANCELLED:
                        raise
                    return None

            def cancel() -> None:
                with connect(self.address) as other:
                    other.run(f"KILL QUERY {session.id}")

            yield Analyst(ask, cancel)

    def damage(self) -> str:
        """By CHECK TABLE, which reads every page."""
        with self.reaching("cannot check the tables") as session:
            found = session.rows(f"CHECK TABLE {', '.join(LARGEST_FIRST)}")
        odd = (f"{table}: {words}" for table, _, kind, words in found if kind in ("error", "Error"))
        return "; ".join(odd)

    def sum_next_order_ids(self) -> int:
        with self.asking("cannot add up the orders", self._timeouts.idle_s) as session:
            return int(session.value("SELECT sum(d_next_o_id) FROM district") or 0)

    def transaction_counts(self) -> tuple[int, int] | None:
        """(COMMIT statements, ROLLBACK statements), once the last session of the load has ended.

        None while others have sessions on the server: theirs are among them.
        """
        with self.asking("cannot count the transactions", self._timeouts.idle_s) as session:
            _await(session, OTHERS, self._own, FLUSH_LIMIT_S)
            if not _await(session, STRANGERS, self._own, STRANGERS_LIMIT_S):
                return None
            return self._readings.counts()

    def checks(self, session: InnodbSession) -> Sequence[Check]:
        return self._schema(session).conditions(self.warehouses, self._before)

    def log_calls(self) -> LogCalls | str:
        """By its settings, its process, and the directory of its log."""
        settings = {setting.name: setting.value for setting in self.settings}
        return log_calls(settings, next(iter(self.processes()), None), self._process.log)

    def checkpoint(self) -> None:
        """Nothing: InnoDB writes pages all the time (docs/decisions/innodb-log.md). A checkpoint
        that is asked for would write all of them, and then none for a while.
        """

    def end_stuck(self, for_s: float) -> str:
        """By InnoDB's lock waits; waits for other users do not count."""
        with self.asking("cannot check for users that wait for a lock") as session:
            return end_stuck(session, self._own, for_s)

    def end_users(self) -> int:
        with self.asking("cannot end the users' sessions") as session:
            return end_users(session, self._own)

    @property
    def _own(self) -> list[int]:
        return [self._session.id, self._sampled.id]


OTHERS = """
SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE() AND id NOT IN ({})"""
STRANGERS = """
SELECT count(*) FROM information_schema.processlist
WHERE user <> SUBSTRING_INDEX(CURRENT_USER(), '@', 1) AND id NOT IN ({})
    AND command NOT IN ('Daemon', 'Connect')
    AND user NOT IN ('system user', 'event_scheduler', 'unauthenticated user')"""
"""Of people and programs: the server has threads of its own in the list."""


def _limiting(version: str, limit_s: float) -> str:
    """What limits the statements of a session; MySQL limits a SELECT alone.

    >>> _limiting("8.0.36", 60.0), _limiting("10.11.19-MariaDB", 60.0)
    ('SET SESSION max_execution_time = 60000', 'SET SESSION max_statement_time = 60.0')
    """
    if is_from(version, Product.MYSQL, (0, 0)):
        return f"SET SESSION max_execution_time = {round(1000 * limit_s)}"
    return f"SET SESSION max_statement_time = {limit_s}"


def _bound(session: InnodbSession, lock_s: float) -> None:
    session.run(f"SET SESSION lock_wait_timeout = {round(lock_s)}")
    session.run(f"SET SESSION innodb_lock_wait_timeout = {round(lock_s)}")


def _await(session: InnodbSession, sessions: str, own: Sequence[int], limit_s: float) -> bool:
    """Wait until there are no such sessions; False if there still are."""
    counted = sessions.format(", ".join(map(str, own)))
    until = time.monotonic() + limit_s
    while there := session.value(counted):
        if time.monotonic() > until:
            break
        time.sleep(0.02)
    return not there


def _remarks(settings: Sequence[Setting]) -> Iterator[str]:
    """What a reader must know of settings that change what was measured."""
    values = {setting.name: setting.value for setting in settings}
    if log_is_mapped(values):
        yield (
            "the log is in /dev/shm, where the server maps it into memory and writes it without a"
            " system call: no storage can be as fast, and its flushes are neither counted nor timed"
        )
    if values.get("log_bin") == "ON":
        synced = values.get("sync_binlog", "0")
        yield (
            f"the binary log is on (sync_binlog is {synced}): each commit also writes to it, which"
            " the log write latency does not include"
        )
