"""A running server with the workload's tables: what measuring asks of it, ours or one by URL."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import psycopg

from kneebench import units
from kneebench.analysis.wording import number_of_users
from kneebench.databases.engine import Analyst, LogCalls
from kneebench.databases.engines.postgres.address import CLIENT, connect
from kneebench.databases.engines.postgres.log_segments import LogSegments
from kneebench.databases.engines.postgres.readings import METERS, PostgresReadings, PostgresWaits
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.databases.engines.postgres.settings_in_force import (
    in_force,
    log_calls,
    remarks,
    with_users_session,
)
from kneebench.databases.engines.postgres.sql_schema import PostgresSchema
from kneebench.databases.managed.server_process import Process
from kneebench.databases.server_sessions import TIMEOUTS, ServerSessions, Timeouts
from kneebench.databases.tproc_c.orders import Rows
from kneebench.errors import KneebenchError, PlanError
from kneebench.records import Check, Setting

FLUSH_LIMIT_S = 10.0
"""How long the last sessions of a rung may take to end and hand over their counts."""
LOG_POSITION = """
SELECT pg_walfile_name(here), pg_wal_lsn_diff(here, '0/0') FROM pg_current_wal_insert_lsn() here"""
CHECKSUMS = "SELECT coalesce(sum(checksum_failures), 0)::int8 FROM pg_stat_database"
NO_CHECKPOINTS = "the role may not run CHECKPOINT, so windows do not start at one"


CANCEL_S = 5.0
"""How long a request to cancel may take."""


class PostgresServer(ServerSessions):
    """Answers for one database of one server.

    It asks from three sessions (one for what takes long, one that samples waits) on the workload's
    database, each in one transaction that never ends: so none of its own questions is counted as a
    transaction. Read
    committed and without a snapshot between statements, they keep no row from being vacuumed. Each
    question is rolled back to a savepoint, which gives back the locks that it took: between
    questions they keep nobody waiting.
    """

    address: PostgresAddress
    client = CLIENT
    schema = "public."
    measures = METERS | {"waits"}

    counts_by_database = True

    def __init__(
        self,
        address: PostgresAddress,
        warehouses: int,
        restore_s: float,
        notes: Sequence[str] = (),
        process: Process | None = None,
        before: Sequence[Check] | None = None,
        timeouts: Timeouts = TIMEOUTS,
        segments: LogSegments | None = None,
        users: PostgresAddress | None = None,
        schema: type[PostgresSchema] = PostgresSchema,
    ) -> None:
        super().__init__(address, restore_s, process, users)
        self.warehouses, self._schema = warehouses, schema
        self._before, self._segments, self._timeouts = before, segments, timeouts
        self._session = connect(address, limit_s=timeouts.reading_s)
        self._side = connect(address, limit_s=timeouts.whole_s)
        self._sampled = connect(address, limit_s=timeouts.reading_s)
        of_users = schema.users_settings
        self.settings: Sequence[Setting] = with_users_session(in_force(self._session), of_users)
        self._readings: PostgresReadings = PostgresReadings(self._session, address.database)
        self._waits: PostgresWaits = PostgresWaits(self._sampled, self._own)
        self._may_checkpoint = _may_checkpoint(self._session)
        self.notes: Sequence[str] = (
            *notes,
            *remarks(self.settings),
            *([] if self._may_checkpoint else [NO_CHECKPOINTS]),
        )
        for session in (self._session, self._side, self._sampled):
            _settle(session, timeouts.lock_s)

    def close(self) -> None:
        for session in (self._session, self._side, self._sampled):
            session.close()

    @contextlib.contextmanager
    def asking(
        self, what: str, limit_s: float | None = None
    ) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """The session of the meters; what it locks is given back."""
        with self._lock, self.losses_reported(what):
            self._session.limit_s = limit_s or self._timeouts.reading_s
            with _question(self._session):
                yield self._session

    @contextlib.contextmanager
    def reaching(self, what: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        with (
            self.losses_reported(what),
            connect(self.address, limit_s=self._timeouts.whole_s) as connection,
        ):
            _bound(connection, self._timeouts.lock_s)
            yield connection

    def is_lost(self, error: KneebenchError) -> bool:
        """By psycopg's class, or where a connection was refused."""
        return isinstance(error, PlanError) or isinstance(error.__cause__, psycopg.OperationalError)

    def lock_holders(self, error: KneebenchError) -> str | None:
        """By pg_blocking_pids, from the side session."""
        if not isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
            return None
        with _question(self._side):
            return lockers(self._side)

    def sum_next_order_ids(self) -> int:
        with self.asking("cannot add up the orders", self._timeouts.idle_s) as session:
            orders = session.execute("SELECT sum(d_next_o_id) FROM public.district").fetchone()
            return int((orders or (0,))[0])

    def transaction_counts(self) -> tuple[int, int]:
        """(committed, rolled back) as pg_stat_database counts them, once the last session of the
        load has handed over its counts.

        Beside the load's transactions it counts one commit for each session's start and one for
        each statement it prepares.
        """
        with self.asking("cannot count the transactions", self._timeouts.idle_s) as session:
            _await_idle(session, self._own)
        seen = self.readings("log_writes")
        return round(seen["database.commits|database"]), round(seen["database.rollbacks|database"])

    def database_readings(self, meter: str) -> dict[str, float]:
        """Commits and rollbacks; all of its tables."""
        with self.asking(f"cannot read {meter}"):
            return self._readings.of_database(meter)

    def sample_waits_of(self, databases: Sequence[str]) -> None:
        """Of all sessions in these databases."""
        self._waits = PostgresWaits(self._sampled, self._own, databases)

    def checks(self, session: psycopg.Connection[tuple[Any, ...]]) -> Sequence[Check]:
        return self._schema(session).conditions(self.warehouses, self._before)

    def rows(self, session: psycopg.Connection[tuple[Any, ...]], statement: str) -> Rows:
        return session.execute(statement.encode()).fetchall()

    @contextlib.contextmanager
    def querying(self, limit_s: float) -> Iterator[Analyst]:
        """By statement_timeout, and by a request to cancel; a server that does not answer to that
        either is lost.
        """
        opened = connect(self.address, limit_s=limit_s + self._timeouts.reading_s)
        with contextlib.ExitStack() as stack:
            with self.losses_reported("cannot run a query"):
                session = stack.enter_context(opened)
                session.execute(f"SET statement_timeout = {round(1000 * limit_s)}".encode())

            def ask(statement: str) -> Rows | None:
                try:
                    ran = session.execute(statement.encode())
                    return ran.fetchall() if ran.description else []
                except psycopg.errors.QueryCanceled:
                    return None

            def settle() -> None:
                if session.info.server_version >= 150000:
                    session.execute("SELECT pg_stat_force_next_flush()")

            yield Analyst(ask, partial(session.cancel_safe, timeout=CANCEL_S), settle)

    def damage(self) -> str:
        """Pages with a wrong checksum that were met since the server started, where it has
        checksums.
        """
        with self.reaching("cannot read the failures of checksums") as session:
            [[failures]] = self.rows(session, CHECKSUMS)
        return f"{failures} pages with a wrong checksum" if failures else ""

    def log_calls(self) -> LogCalls | str:
        """By its settings and its first process."""
        settings = {setting.name: setting.value for setting in self.settings}
        return log_calls(settings, next(iter(self.processes()), None))

    def checkpoint(self) -> None:
        """Run a checkpoint; nothing where the role may not (a note says so)."""
        if self._may_checkpoint:
            with self.losses_reported("cannot run a checkpoint"):
                self._side.execute("CHECKPOINT")

    def ready_log(self, for_s: float, limit_s: float) -> bool | None:
        """Segments of zeros behind the current one, at the fastest rate seen so far; None without
        room for them, and for a server whose directory is not ours.
        """
        if self._segments is None:
            return None
        with self.asking("cannot read the log's position") as session:
            name, position = session.execute(LOG_POSITION).fetchone() or ("", 0)
        self._segments.rate.look(time.monotonic(), float(position))
        try:
            return self._segments.ready(name, for_s, limit_s)
        except OSError:
            return None

    def end_stuck(self, for_s: float) -> str:
        """By pg_blocking_pids; waits for other users do not count."""
        with self.asking("cannot check for users that wait for a lock") as session:
            return end_stuck(session, self._own, for_s)

    def end_users(self) -> int:
        """By pg_terminate_backend."""
        with self.asking("cannot end the users' sessions") as session:
            return end_users(session, self._own)

    @property
    def _own(self) -> list[int]:
        return [own.info.backend_pid for own in (self._session, self._side, self._sampled)]


@contextlib.contextmanager
def _question(session: psycopg.Connection[tuple[Any, ...]]) -> Iterator[None]:
    """What the block reads is as of now, what it locks is given back at its end, and an error in it
    leaves the transaction usable.
    """
    try:
        session.execute("SELECT pg_stat_clear_snapshot()")
        yield
    finally:
        if not session.closed:
            session.execute("ROLLBACK TO SAVEPOINT unlocked")


def _bound(session: psycopg.Connection[tuple[Any, ...]], lock_s: float) -> None:
    session.execute(f"SET lock_timeout = {round(1000 * lock_s)}".encode())


def _settle(session: psycopg.Connection[tuple[Any, ...]], lock_s: float) -> None:
    """Have the counts of the session's own start handed over, then enter the transaction that never
    ends.
    """
    _bound(session, lock_s)
    if session.info.server_version >= 150000:
        session.execute("SELECT pg_stat_force_next_flush()")
    else:  # the collector is sent a message every half second
        time.sleep(1.0)
        session.execute("SELECT 1")
    session.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY")
    session.execute("SAVEPOINT unlocked")


def _may_checkpoint(session: psycopg.Connection[tuple[Any, ...]]) -> bool:
    """Superusers may, and from version 15 on members of pg_checkpoint."""
    query = """
        SELECT rolsuper OR EXISTS (
            SELECT FROM pg_roles r
            WHERE r.rolname = 'pg_checkpoint' AND pg_has_role(r.oid, 'usage'))
        FROM pg_roles WHERE rolname = current_user"""
    return bool((session.execute(query).fetchone() or (False,))[0])


def _await_idle(session: psycopg.Connection[tuple[Any, ...]], own: Sequence[int]) -> None:
    """Wait until no other client's session is in the database: a session hands its last counts over
    before it leaves the list.
    """
    others = """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend'
            AND pid <> ALL(%s)"""
    until = time.monotonic() + FLUSH_LIMIT_S
    while time.monotonic() < until and (session.execute(others, [list(own)]).fetchone() or (0,))[0]:
        time.sleep(0.02)
        session.execute("SELECT pg_stat_clear_snapshot()")
    if session.info.server_version < 150000:
        time.sleep(1.0)


# Who keeps sessions waiting for a lock: by process, application, state and lock, never by the text
# of a statement, which may hold secrets.
#
# A user that waits for another user is the workload itself, however long the queue. So only waits
# that lead to a session of somebody else count: one that holds the lock, or one that asked for it
# first.

Connection = psycopg.Connection[tuple[Any, ...]]
OURS = (
    "datname = current_database() AND usename = current_user"
    " AND application_name = 'kneebench' AND pid <> ALL(%(asking)s)"
)
WAITING = f"""
SELECT pid, extract(epoch FROM clock_timestamp() - query_start)::float8 FROM pg_stat_activity
WHERE {OURS} AND wait_event_type = 'Lock'"""  # noqa: S608
USERS = f"SELECT pid FROM pg_stat_activity WHERE {OURS}"  # noqa: S608
QUEUE = """
WITH RECURSIVE queue (pid) AS (
    SELECT unnest(pg_blocking_pids(first)) FROM unnest(%s::int[]) AS those (first)
    UNION
    SELECT unnest(pg_blocking_pids(pid)) FROM queue)
SELECT pid FROM queue"""
LOCKERS = """
SELECT pid FROM pg_locks JOIN pg_class ON pg_class.oid = relation
WHERE mode = 'AccessExclusiveLock' AND relnamespace = 'public'::regnamespace
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
WANTED = """
SELECT DISTINCT relation FROM pg_locks
WHERE pid = ANY(%s) AND NOT granted AND relation IS NOT NULL"""
SEEN = """
SELECT pid, coalesce(nullif(application_name, ''), backend_type), state,
    extract(epoch FROM clock_timestamp() - state_change)::float8, pg_blocking_pids(pid),
    (SELECT string_agg(DISTINCT format('%%s%%s on %%I.%%I',
         CASE WHEN NOT granted THEN 'waits for ' END, mode, nspname, relname), ', ')
     FROM pg_locks JOIN pg_class ON pg_class.oid = relation
         JOIN pg_namespace ON pg_namespace.oid = relnamespace
     WHERE pg_locks.pid = those.pid AND (relation = ANY(%s) OR NOT granted))
FROM unnest(%s::int[]) AS those (pid) LEFT JOIN pg_stat_activity USING (pid) ORDER BY pid"""
"""Without pg_monitor, another role's session shows neither application nor state."""


def end_stuck(session: Connection, asking: Sequence[int], for_s: float) -> str:
    """Who has kept our users waiting for so long; empty where nobody has.

    `asking` are our own sessions that are no users.

    Then all users that wait are ended: else what they ask for would happen once the lock is free,
    long after us.
    """
    own = {"asking": list(asking)}
    waiting: dict[int, float] = dict(session.execute(WAITING.encode(), own).fetchall())
    long = [pid for pid, waited_s in waiting.items() if waited_s > for_s]
    users = _pids(session, USERS, own) if long else []
    others = [pid for pid in _pids(session, QUEUE, [long]) if pid not in users] if long else []
    if not others:
        return ""
    seen = _described(session, others, _pids(session, WANTED, [[*long, *others]]))
    session.execute(
        "SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) AS those (pid)", [list(waiting)]
    )
    return (
        f"{number_of_users(len(waiting))} waited up to {units.time(max(waiting.values()))} for a"
        f" lock held by {seen}"
    )


def end_users(session: Connection, asking: Sequence[int]) -> int:
    """Terminate the sessions of all users; how many there still are."""
    left = _pids(session, USERS, {"asking": list(asking)})
    session.execute(
        "SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) AS those (pid)", [left]
    )
    return len(left)


def lockers(session: Connection) -> str:
    """Who holds or wants one of the workload's tables for itself alone, and whom that one waits
    for; empty where nobody does.
    """
    first = _pids(session, LOCKERS)
    others = (
        [*first, *(pid for pid in _pids(session, QUEUE, [first]) if pid not in first)]
        if first
        else []
    )
    return _described(session, others, _pids(session, WANTED, [others])) if others else ""


def _pids(session: Connection, query: str, given: Any = None) -> list[int]:
    return [pid for (pid,) in session.execute(query.encode(), given).fetchall()]


def _described(session: Connection, pids: Iterable[int], wanted: Sequence[int]) -> str:
    rows = session.execute(SEEN.encode(), [list(wanted), sorted(set(pids))]).fetchall()
    return "; ".join(_one(*row) for row in rows)


def _one(
    pid: int,
    application: str | None,
    state: str | None,
    for_s: float | None,
    behind: Sequence[int],
    locks: str | None,
) -> str:
    """One session in words.

    >>> _one(7, "psql", "idle in transaction", 75.0, [], "ShareLock on public.orders")
    "process 7 (application 'psql', idle in transaction for 1.25 min, ShareLock on public.orders)"
    """
    if pid == 0:
        return "a prepared transaction (pg_prepared_xacts)"
    shown = [f"application {application!r}", f"{state} for {units.time(for_s or 0.0)}"]
    facts = shown if state else ["details hidden from this role; grant pg_monitor"]
    if locks:
        facts.append(locks)
    if behind:
        facts.append(f"blocked by process {', '.join(map(str, sorted(set(behind))))}")
    return f"process {pid} ({', '.join(facts)})"
