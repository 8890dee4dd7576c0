"""A running server with the workload's tables: what measuring asks of it, ours or one by URL."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from kneebench._core import GeneratorSpec, LoadGenerator
from kneebench.databases.engine import LogCalls
from kneebench.databases.engines.mariadb.address import core_address, wire_address
from kneebench.databases.engines.mariadb.blocked import end_stuck, end_users, holders
from kneebench.databases.engines.mariadb.conditions import conditions
from kneebench.databases.engines.mariadb.error_hints import error_hint
from kneebench.databases.engines.mariadb.log_calls import log_calls
from kneebench.databases.engines.mariadb.readings import METERS, NOT_TIMED, MariadbReadings
from kneebench.databases.engines.mariadb.server_address import MariadbAddress
from kneebench.databases.engines.mariadb.session import (
    MariadbSession,
    answers,
    connect,
    explained,
    is_lost,
    words_of,
)
from kneebench.databases.engines.mariadb.settings_in_force import in_force, log_is_mapped
from kneebench.databases.engines.mariadb.waits import MariadbWaits
from kneebench.databases.managed.crash_report import seen_of_its_end
from kneebench.databases.managed.process import Process
from kneebench.databases.server_sessions import ServerSessions
from kneebench.databases.wire_address import WireAddress
from kneebench.errors import KneebenchError, PlanError
from kneebench.records import Check, Setting, Watch

FLUSH_LIMIT_S = 10.0
"""How long the last sessions of a rung may take to end."""
STRANGERS_LIMIT_S = 0.5
"""The same of a session that was there for one question."""
LOCK_TIMED_OUT = "1205"


class MariadbTimeouts(NamedTuple):
    """Longest waits: a meter's reading; counts while idle, after a load; statements that read or
    write a whole database. `lock_s`: longest wait for a lock that another session has.
    """

    reading_s: float = 60.0
    idle_s: float = 900.0
    whole_s: float = 6 * 3600.0
    lock_s: float = 20.0


TIMEOUTS = MariadbTimeouts()


class MariadbServer(ServerSessions):
    """Answers for one database of one server.

    It asks from two sessions on the workload's database, one of which samples waits. Both are in
    autocommit and send no COMMIT, so none of their questions is counted as a transaction.
    """

    measures = METERS | {"waits"}

    def __init__(
        self,
        address: MariadbAddress,
        warehouses: int,
        restore_s: float,
        notes: Sequence[str] = (),
        process: Process | None = None,
        before: Sequence[Check] | None = None,
        timeouts: MariadbTimeouts = TIMEOUTS,
        users: MariadbAddress | None = None,
    ) -> None:
        super().__init__(restore_s, process)
        self._users = users or address
        self.address, self.warehouses = address, warehouses
        self._before, self._timeouts = before, timeouts
        self._session = connect(address, limit_s=timeouts.reading_s)
        self._sampled = connect(address, limit_s=timeouts.reading_s)
        for session in (self._session, self._sampled):
            _bound(session, timeouts.lock_s)
        self.settings: Sequence[Setting] = in_force(self._session)
        values = {setting.name: setting.value for setting in self.settings}
        self._readings: MariadbReadings = MariadbReadings(self._session, values)
        self._waits: MariadbWaits = MariadbWaits(self._sampled, self._own)
        unmeasured = [] if self._readings.timed else [NOT_TIMED]
        unmeasured += [self._waits.unseen.seen] if self._waits.unseen else []
        self.notes: Sequence[str] = (*notes, *_remarks(self.settings), *unmeasured)

    def close(self) -> None:
        """End the sessions."""
        self._session.close()
        self._sampled.close()

    @contextlib.contextmanager
    def asking(self, what: str, limit_s: float | None = None) -> Iterator[MariadbSession]:
        """The session of the meters."""
        with self._lock, self.losses_reported(what):
            self._session.limit(limit_s or self._timeouts.reading_s)
            yield self._session

    @contextlib.contextmanager
    def _reaching(self, what: str) -> Iterator[MariadbSession]:
        """A session of its own for what reads the whole database."""
        with (
            self.losses_reported(what),
            connect(self.address, limit_s=self._timeouts.whole_s) as session,
        ):
            _bound(session, self._timeouts.lock_s)
            yield session

    def explained(self, what: str) -> AbstractContextManager[None]:
        """In the server's words."""
        return explained(what)

    def is_lost(self, error: KneebenchError) -> bool:
        """By the error's number, or where a session was refused."""
        return isinstance(error, PlanError) or is_lost(error.__cause__)

    def lock_holders(self, error: KneebenchError) -> str | None:
        """By InnoDB's lock waits, from the session that samples."""
        if not error.__cause__ or words_of(error.__cause__)[0] != LOCK_TIMED_OUT:
            return None
        return holders(self._sampled, self._own)

    def load_generator(self, spec: GeneratorSpec) -> LoadGenerator:
        """A load generator for this server."""
        return LoadGenerator(spec, core_address(self.address))

    def users_address(self) -> WireAddress:
        """Where users on other hosts connect."""
        return wire_address(self._users)

    def sum_next_order_ids(self) -> int:
        """sum D_NEXT_O_ID over all districts."""
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

    def conditions(self, watch: Watch) -> Sequence[Check]:
        """The twelve consistency conditions. They need more memory than transactions do: a limit is
        lifted meanwhile.
        """
        limit = self._process.without_limit()
        with limit, self._reaching("cannot check the conditions") as session:
            return conditions(session, self.warehouses, self._before)

    def log_calls(self) -> LogCalls | str:
        """By its settings, its process, and the directory of its log."""
        settings = {setting.name: setting.value for setting in self.settings}
        return log_calls(settings, next(iter(self.processes()), None), self._process.log)

    def checkpoint(self) -> None:
        """Nothing: InnoDB writes pages all the time (docs/decisions/innodb-log.md). A checkpoint
        that is asked for would write all of them, and then none for a while.
        """

    def connection_hint(self, code: str, message: str) -> str:
        """By the error's number, or by the message where there is none."""
        return error_hint(code, message, None)

    def end_stuck(self, for_s: float) -> str:
        """By InnoDB's lock waits; waits for other users do not count."""
        with self.asking("cannot check for users that wait for a lock") as session:
            return end_stuck(session, self._own, for_s)

    def end_users(self) -> int:
        """By KILL."""
        with self.asking("cannot end the users' sessions") as session:
            return end_users(session, self._own)

    @property
    def _own(self) -> list[int]:
        return [self._session.id, self._sampled.id]

    def alive(self) -> str:
        """Empty while the server answers; else what was seen of its end."""
        return seen_of_its_end(self._process.crash_report, lambda: answers(self.address))


OTHERS = """
SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE() AND id NOT IN ({})"""
STRANGERS = """
SELECT count(*) FROM information_schema.processlist
WHERE user <> SUBSTRING_INDEX(CURRENT_USER(), '@', 1) AND id NOT IN ({})
    AND command NOT IN ('Daemon', 'Connect')
    AND user NOT IN ('system user', 'event_scheduler', 'unauthenticated user')"""
"""Of people and programs: the server has threads of its own in the list."""


def _bound(session: MariadbSession, lock_s: float) -> None:
    session.run(f"SET SESSION lock_wait_timeout = {round(lock_s)}")
    session.run(f"SET SESSION innodb_lock_wait_timeout = {round(lock_s)}")


def _await(session: MariadbSession, sessions: str, own: Sequence[int], limit_s: float) -> bool:
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
