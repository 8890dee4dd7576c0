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
from typing import Any, NamedTuple, Protocol

from kneebench.databases.engine import UNLOCK
from kneebench.databases.managed.server_process import Process
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
    what else `Server` (databases/engine.py) asks: settings, measures, notes, the load generator,
    sums and counts, a checkpoint, hints on connections; and it closes its sessions.
    """

    def __init__(self, restore_s: float, process: Process | None = None) -> None:
        self._process, self.restore_s = process or Process(), restore_s
        self.cores = self._process.cores
        self.paths, self.roles = self._process.paths, self._process.roles
        self._lock = threading.Lock()
        self._readings: Meters
        self._waits: Waits | None

    @abstractmethod
    def alive(self) -> str:
        """Empty while the server answers; else what was seen of its end."""

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
    def explained(self, what: str) -> AbstractContextManager[None]:
        """What the server refuses inside is raised as a KneebenchError in its words."""

    @abstractmethod
    def is_lost(self, error: KneebenchError) -> bool:
        """Whether the server went away, or takes no session any more."""

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

    def conditions(self, watch: Watch) -> Sequence[Check]:
        """The twelve consistency conditions. They need more memory than transactions do: a limit is
        lifted meanwhile.
        """
        limit = self._process.without_limit()
        with limit, self.reaching("cannot check the conditions") as session:
            return self.checks(session)

    def processes(self) -> Sequence[int]:
        """The server's process ids on this machine; empty where it runs elsewhere."""
        return self._process.family()

    def now_s(self) -> float:
        return time.monotonic()
