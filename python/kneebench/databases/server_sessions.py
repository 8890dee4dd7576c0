"""What the servers of all engines answer alike: where they run, and what is said when the sessions
by which they are asked are lost.
"""

from __future__ import annotations

import contextlib
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, ClassVar, NamedTuple, Protocol

from kneebench._core import GeneratorSpec, LoadGenerator
from kneebench.databases.client import Client
from kneebench.databases.engine import (
    UNLOCK,
    ServerAddress,
    WireAddress,
    wire_address,
)
from kneebench.databases.managed.crash_report import seen_of_its_end
from kneebench.databases.managed.server_process import Process
from kneebench.databases.tproc_c import orders
from kneebench.errors import DatabaseLost, InvalidMeasurement, KneebenchError, PlanError
from kneebench.records import Check, Watch

KEPT = "see the server's log, then run again; completed rungs are saved"


class Timeouts(NamedTuple):
    """Longest waits: a meter's reading; counts while idle, after a load; statements that read or
    write a whole database. `lock_s`: longest wait for a lock that another session has on the
    workload's tables.
    """

    reading_s: float = 60.0
    idle_s: float = 900.0
    whole_s: float = 6 * 3600.0
    lock_s: float = 20.0


TIMEOUTS = Timeouts()


class Meters(Protocol):
    """What one session answers of the server's meters."""

    def read(self, meter: str) -> dict[str, float]: ...


class Waits(Protocol):
    """What another session samples of waits."""

    def read(self) -> dict[str, float]: ...


class ServerSessions(ABC):
    """A server that is asked in SQL, by sessions that may be lost.

    An engine's server adds the abstract methods below, sets `_readings` and `_waits`, and answers
    what else `Server` (databases/engine.py) asks: settings, measures, notes, sums and counts, a
    checkpoint; and it closes its sessions. `users`: the address for users on other machines, where
    that is another.
    """

    client: ClassVar[Client]
    counts_by_database: ClassVar[bool] = False
    """Whether `transaction_counts` are of the database, not of the whole server."""
    schema: ClassVar[str] = ""
    """What stands before a table's name, where a login's path may lead elsewhere."""

    def __init__(
        self,
        address: ServerAddress,
        restore_s: float,
        process: Process | None = None,
        users: ServerAddress | None = None,
    ) -> None:
        self.address: ServerAddress = address
        self._users = users or address
        self._process, self.restore_s = process or Process(), restore_s
        self.cores = self._process.cores
        self.paths, self.roles = self._process.paths, self._process.roles
        self._lock = threading.Lock()
        self._readings: Meters
        self._waits: Waits | None

    @abstractmethod
    def asking(self, what: str, limit_s: float | None = None) -> AbstractContextManager[Any]:
        """The session of the meters, for one question at a time that may take `limit_s`."""

    @abstractmethod
    def reaching(self, what: str) -> AbstractContextManager[Any]:
        """A session of its own in the workload's database, for what reads all of it."""

    @abstractmethod
    def checks(self, session: Any) -> Sequence[Check]:
        """The twelve consistency conditions, asked by a session."""

    @abstractmethod
    def rows(self, session: Any, statement: str) -> orders.Rows:
        """All rows of a query's answer."""

    def explained(self, what: str) -> AbstractContextManager[None]:
        """What the server refuses inside is raised as a KneebenchError in its words."""
        return self.client.explained(what)

    def is_lost(self, error: KneebenchError) -> bool:
        """Whether the server went away, or takes no session any more."""
        return isinstance(error, PlanError) or self.client.is_lost(error.__cause__)

    def alive(self) -> str:
        """Empty while the server answers; else what was seen of its end."""
        answers = partial(self.client.answers, self.address)
        return seen_of_its_end(self._process.crash_report, answers)

    def connection_hint(self, code: str, message: str) -> str:
        """What to do about the error by which it refused connections."""
        return self.client.hint(code, message, None)

    def load_generator(
        self, spec: GeneratorSpec, beside: Sequence[ServerAddress] = ()
    ) -> LoadGenerator:
        """Users of this database, or spread over it and others of the same server."""
        return self.address.load_generator(spec, *beside)

    def users_address(self) -> WireAddress:
        return wire_address(self._users)

    def lock_holders(self, error: KneebenchError) -> str | None:
        """Who has the lock that the question waited for; None where it waited for none."""
        return None

    @contextlib.contextmanager
    def losses_reported(self, what: str) -> Iterator[None]:
        """DatabaseLost where the server went away; its words in a KneebenchError where it refuses;
        InvalidMeasurement where somebody keeps a lock.
        """
        try:
            with self.explained(what):
                yield
        except KneebenchError as error:
            if (holders := self.lock_holders(error)) is not None:
                seen = "; ".join(filter(None, (error.seen, holders)))
                raise InvalidMeasurement(what, seen=seen, do=UNLOCK) from error
            if not self.is_lost(error):
                raise
            refused = str(error) if isinstance(error, PlanError) else error.seen
            seen = "; ".join(filter(None, (refused, self.alive())))
            raise DatabaseLost(what, seen=seen, do=KEPT) from error

    def readings(self, meter: str) -> dict[str, float]:
        """The meter's counters and gauges by "quantity|source"; waits beside all others."""
        if meter == "waits" and self._waits:
            with self.losses_reported("cannot read waits"):
                return self._waits.read()
        with self.asking(f"cannot read {meter}"):
            return self._readings.read(meter)

    def database_readings(self, meter: str) -> dict[str, float]:
        """Those of the meter's readings that are of the database, not of the whole server."""
        return {}

    def conditions(self, watch: Watch) -> Sequence[Check]:
        """The twelve consistency conditions. They need more memory than transactions do: a limit is
        lifted meanwhile.
        """
        limit = self._process.without_limit()
        with limit, self.reaching("cannot check the conditions") as session:
            return self.checks(session)

    def next_order_numbers(self) -> orders.NextNumbers:
        """The number of each district's next order."""
        query = orders.NEXT_NUMBERS.format(schema=self.schema)
        with self.reaching("cannot read the districts") as session:
            return orders.next_numbers(self.rows(session, query))

    def orders_from(self, first: orders.NextNumbers) -> Sequence[orders.KeptOrder]:
        """The orders of every district from these numbers on."""
        query = orders.FROM_NUMBER.format(schema=self.schema, least=min(first.values()))
        with self.reaching("cannot read the orders") as session:
            return orders.orders_from(self.rows(session, query), first)

    def damage(self) -> str:
        """Nothing, unless the engine can tell."""
        return ""

    def processes(self) -> Sequence[int]:
        """The server's process ids on this machine; empty where it runs elsewhere."""
        return self._process.family()

    def now_s(self) -> float:
        return time.monotonic()
