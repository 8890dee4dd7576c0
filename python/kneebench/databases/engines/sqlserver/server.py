"""A running SQL Server with the workload's tables: what measuring asks of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager

from kneebench.databases.engines.sqlserver.address import explained
from kneebench.databases.engines.sqlserver.blocked import end_stuck, end_users
from kneebench.databases.engines.sqlserver.conditions import Conditions
from kneebench.databases.engines.sqlserver.database import connect_to
from kneebench.databases.engines.sqlserver.error_hints import error_hint
from kneebench.databases.engines.sqlserver.properties import wait_class
from kneebench.databases.engines.sqlserver.readings import (
    GRANT,
    MAY_SEE,
    SqlServerReadings,
    SqlServerWaits,
)
from kneebench.databases.engines.sqlserver.server_address import SqlServerAddress
from kneebench.databases.engines.sqlserver.server_settings import in_force
from kneebench.databases.engines.sqlserver.session import (
    SqlError,
    SqlServerSession,
    connect,
    quoted,
)
from kneebench.databases.engines.sqlserver.version import version_of
from kneebench.databases.server_sessions import ServerSessions
from kneebench.databases.tproc_c.orders import Rows
from kneebench.errors import KneebenchError, PlanError
from kneebench.records import Check, Setting

READING_S, IDLE_S, WHOLE_S = 60.0, 900.0, 6 * 3600.0
"""Longest waits: for a meter's reading; for counts while idle; for what reads the whole
database."""
STARTED = "SELECT create_date FROM sys.databases WHERE name = 'tempdb'"
"""tempdb is created by every start of the server; no right is needed to see it."""
COUNTED_BY_US = (
    "TPM is the load generator's count: the server does not count the workload's transactions apart"
)


class SqlServer(ServerSessions):
    """Answers for one database of one server.

    It asks from three sessions: one for counts in master, so that they are no transactions of the
    workload's database, one that samples waits, and one in the database for what takes long.
    """

    address: SqlServerAddress

    def __init__(
        self,
        address: SqlServerAddress,
        conditions: Conditions,
        restore_s: float,
        notes: Sequence[str] = (),
    ) -> None:
        super().__init__(address, restore_s)
        self._conditions = conditions
        with contextlib.ExitStack() as opened:
            self._session = opened.enter_context(connect(address, limit_s=READING_S))
            self._sampled = opened.enter_context(connect(address, limit_s=READING_S))
            self._side = opened.enter_context(connect_to(address, limit_s=WHOLE_S))
            self.version = version_of(self._session)
            self._started = self._session.value(STARTED)
            self.settings: Sequence[Setting] = in_force(
                self._session, address.database, self.version
            )
            self._readings: SqlServerReadings | BabelfishReadings = self._open_readings()
            self._waits = self._open_waits()
            self._stack = opened.pop_all()
        self.measures = self._readings.meters | ({"waits"} if self._waits else set())
        self.notes: Sequence[str] = (*notes, *self._remarks())

    def _open_readings(self) -> SqlServerReadings | BabelfishReadings:
        if self.version.babelfish:
            return BabelfishReadings(self._session)
        return SqlServerReadings(self._session, self.address.database)

    def _open_waits(self) -> SqlServerWaits | BabelfishWaits | None:
        """None where the server does not show other sessions to this login: it then returns only
        the session that reads, without an error.
        """
        if self.version.babelfish:
            return BabelfishWaits(self._sampled, self._own)
        if not self._sampled.value(f"SELECT {MAY_SEE}"):
            return None
        return SqlServerWaits(self._sampled, self.address.database, self._own)

    def _remarks(self) -> Iterator[str]:
        yield COUNTED_BY_US
        yield from self._readings.notes
        if not self._waits:
            yield f"waits are not measured; {GRANT.format(quoted(self.address.user))}"

    def close(self) -> None:
        self._stack.close()

    @property
    def _own(self) -> list[int]:
        return [self._session.spid, self._sampled.spid, self._side.spid]

    @contextlib.contextmanager
    def asking(self, what: str, limit_s: float | None = None) -> Iterator[SqlServerSession]:
        """The session in master, whose answers may take READING_S."""
        with self._lock, self.losses_reported(what):
            yield self._session

    def explained(self, what: str) -> AbstractContextManager[None]:
        return explained(what, self.address)

    def is_lost(self, error: KneebenchError) -> bool:
        """By what the session saw of its end; a connection that the server itself refuses is
        not lost.
        """
        cause = error.__cause__
        if isinstance(error, PlanError):
            return not isinstance(cause, SqlError)
        return isinstance(cause, SqlError) and cause.lost

    def rows(self, session: SqlServerSession, statement: str) -> Rows:
        return session.execute(statement)

    def sum_next_order_ids(self) -> int:
        with self.reaching("cannot add up the orders") as inside:
            return int(inside.value("SELECT SUM(CAST(d_next_o_id AS bigint)) FROM dbo.district"))

    def transaction_counts(self) -> tuple[int, int] | None:
        """None: "Transactions/sec" counts each statement outside of a transaction and not what was
        rolled back apart; "Batch Requests/sec", which HammerDB takes, counts the whole instance.
        Babelfish counts what its own code does besides.
        """
        return None

    @contextlib.contextmanager
    def reaching(self, what: str) -> Iterator[SqlServerSession]:
        with self.losses_reported(what), connect_to(self.address, WHOLE_S) as inside:
            yield inside

    def checks(self, session: SqlServerSession) -> Sequence[Check]:
        return self._conditions.checks(session)

    def checkpoint(self) -> None:
        with self.losses_reported("cannot run a checkpoint"):
            self._side.execute("CHECKPOINT")

    def connection_hint(self, code: str, message: str) -> str:
        """By the error number, or by the message where there is none."""
        return error_hint(int(code) if code.isdigit() else 0, message, self.address)

    def end_stuck(self, for_s: float) -> str:
        """By the chain of blocked requests; nothing where the server does not show it."""
        if self.version.babelfish or not self._waits:
            return ""
        with self.asking("cannot check for users that wait for a lock") as session:
            return end_stuck(session, self.address.database, self._own, for_s)

    def end_users(self) -> int:
        with self.asking("cannot end the users' sessions") as session:
            return end_users(session, self.address.database, self._own)

    def alive(self) -> str:
        """Empty while the server answers and was not restarted; else what was seen of its end."""
        try:
            with connect(self.address, limit_s=READING_S) as session:
                restarted = session.value(STARTED) != self._started
        except (PlanError, SqlError):
            return "it accepts no connections"
        return "it was restarted" if restarted else ""


# What Babelfish counts about itself: it has no dm_ views, but the views of the PostgreSQL
# underneath, which answer in its own protocol.
#
# All databases of Babelfish are one of PostgreSQL, so its counts are of all of them together. Its
# commits are not read: Babelfish's own code makes transactions besides those of the workload.

Found = dict[str, float]
DATABASE = """
SELECT blks_hit, blks_read FROM pg_catalog.pg_stat_database
WHERE datname = 'babelfish_db'"""
LOG = """
SELECT wal_bytes, wal_records, wal_fpi, wal_write, wal_write_time, wal_sync, wal_sync_time
FROM pg_catalog.pg_stat_wal"""
CHECKPOINTS = """
SELECT checkpoints_timed, checkpoints_req, buffers_checkpoint FROM pg_catalog.pg_stat_bgwriter"""
TIMED = "SELECT setting FROM pg_catalog.pg_settings WHERE name = 'track_wal_io_timing'"
SAMPLE = """
SELECT wait_event_type, wait_event, COUNT(*) FROM pg_catalog.pg_stat_activity
WHERE state = 'active' AND backend_type = 'client backend' AND pid NOT IN ({own})
GROUP BY wait_event_type, wait_event"""


class BabelfishReadings:
    """The counters of one server of Babelfish."""

    notes: tuple[str, ...] = ()

    def __init__(self, session: SqlServerSession) -> None:
        self._session = session
        self._timed = session.value(TIMED) == "on"
        self.meters = frozenset(["log_writes", "checkpoints", "tables"])
        try:
            self._checkpoints()
        except SqlError:
            self.meters -= {"checkpoints"}

    def read(self, meter: str) -> Found:
        """One meter's readings by "quantity|source"; raises KeyError for one that is not there."""
        return {
            "log_writes": self._log_writes,
            "checkpoints": self._checkpoints,
            "tables": self._tables,
        }[meter]()

    def _log_writes(self) -> Found:
        size_bytes, records, images, writes, write_ms, syncs, sync_ms = (
            float(value or 0) for value in self._session.execute(LOG)[0]
        )
        log = {
            "bytes": size_bytes,
            "records": records,
            "full_page_images": images,
            "writes": writes,
            "flushes": syncs,
        }
        if self._timed:
            log |= {"write_time": write_ms / 1e3, "flush_time": sync_ms / 1e3}
        return {f"log.{name}|database": value for name, value in log.items()}

    def _checkpoints(self) -> Found:
        names = ("checkpoints.timed", "checkpoints.requested", "checkpoints.buffers")
        values = self._session.execute(CHECKPOINTS)[0]
        return {f"{name}|database": float(n) for name, n in zip(names, values, strict=True)}

    def _tables(self) -> Found:
        hits, reads = self._session.execute(DATABASE)[0]
        return {"cache.hits|database": float(hits), "cache.reads|database": float(reads)}


class BabelfishWaits:
    """What the sessions at work wait for, except for those with the given ids."""

    def __init__(self, session: SqlServerSession, own: Sequence[int]) -> None:
        self._session, self._query = session, SAMPLE.format(own=", ".join(map(str, own)))
        self._seen: set[str] = set()

    def read(self) -> Found:
        """Sessions at work at this moment; a wait seen once is read as 0 later."""
        found = {
            f"{kind}:{name}" if kind else "running": float(count)
            for kind, name, count in self._session.execute(self._query)
        }
        self._seen |= set(found)
        return {
            f"waits.{wait_class(name)}|{name}": found.get(name, 0.0) for name in sorted(self._seen)
        }
