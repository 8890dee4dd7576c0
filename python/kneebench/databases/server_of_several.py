"""A server with several databases of the workload, over which its users are spread.

Each database is asked by its own sessions. The first one also answers for the server: its settings,
its processes, its log, and the waits of all databases' sessions.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kneebench._core import GeneratorSpec, LoadGenerator
from kneebench.databases.engine import LogCalls, MakesLogFiles, ServerAddress
from kneebench.errors import KneebenchError
from kneebench.records import Check, Role, Setting, Watch


class ServerOfSeveral:
    """At least two databases of one server."""

    def __init__(self, servers: Sequence[Any]) -> None:
        self._servers, self._first = servers, servers[0]
        self.settings: Sequence[Setting] = self._first.settings
        self.measures: frozenset[str] = self._first.measures
        self.cores: Sequence[int] = self._first.cores
        self.paths: Sequence[Path] = self._first.paths
        self.roles: Sequence[Role] = self._first.roles
        self.restore_s: float = self._first.restore_s
        self.notes: Sequence[str] = self._first.notes
        addresses: list[ServerAddress] = [one.address for one in servers]
        self._first.sample_waits_of([one.database for one in addresses])
        self._beside = addresses[1:]

    def load_generator(self, spec: GeneratorSpec) -> LoadGenerator:
        """User n is in database n modulo their number."""
        found: LoadGenerator = self._first.load_generator(spec, self._beside)
        return found

    # --- of each database -------------------------------------------------------------------------

    def readings(self, meter: str) -> dict[str, float]:
        """The server's, with those of its databases added up."""
        found = Counter(self._first.readings(meter))
        for one in self._servers[1:]:
            found.update(one.database_readings(meter))
        return dict(found)

    def next_order_ids(self) -> tuple[int, ...]:
        """Sum D_NEXT_O_ID of each database."""
        return tuple(one.sum_next_order_ids() for one in self._servers)

    def sum_next_order_ids(self) -> int:
        """Of all."""
        return sum(self.next_order_ids())

    def transaction_counts(self) -> tuple[int, int] | None:
        """Of all; asked of each, as each waits for its own last session."""
        found: list[tuple[int, int] | None] = [one.transaction_counts() for one in self._servers]
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            return None
        if not self._first.counts_by_database:
            return known[-1]
        return sum(commits for commits, _ in known), sum(rollbacks for _, rollbacks in known)

    def conditions(self, watch: Watch) -> Sequence[Check]:
        """Each condition in all databases: the first that does not hold, if there is one."""
        every = [
            [_named(check, one.address.database) for check in one.conditions(watch)]
            for one in self._servers
        ]
        return [
            next((check for check in same if not check.passed), same[0])
            for same in zip(*every, strict=True)
        ]

    def end_stuck(self, for_s: float) -> str:
        """In any database."""
        return "; ".join(filter(None, (one.end_stuck(for_s) for one in self._servers)))

    def close(self) -> None:
        """End the sessions of all."""
        with contextlib.ExitStack() as opened:
            for one in self._servers:
                opened.callback(one.close)

    # --- of the server ----------------------------------------------------------------------------

    def processes(self) -> Sequence[int]:
        """Its processes."""
        return tuple(self._first.processes())

    def now_s(self) -> float:
        """Its clock."""
        return float(self._first.now_s())

    def checkpoint(self) -> None:
        """Of all databases at once."""
        self._first.checkpoint()

    def connection_hint(self, code: str, message: str) -> str:
        """What to do about the error by which it refused connections."""
        return str(self._first.connection_hint(code, message))

    def alive(self) -> str:
        """Empty while it answers."""
        return str(self._first.alive())

    def is_lost(self, error: KneebenchError) -> bool:
        """Whether it went away."""
        return bool(self._first.is_lost(error))

    def log_calls(self) -> LogCalls | str:
        """How it writes its log."""
        found: LogCalls | str = self._first.log_calls()
        return found


class OfSeveralWithLogFiles(ServerOfSeveral):
    """A server whose log takes new files as it grows."""

    def ready_log(self, for_s: float, limit_s: float) -> bool | None:
        """Make files of the log for so many seconds."""
        found: bool | None = self._first.ready_log(for_s, limit_s)
        return found


def _named(check: Check, database: str) -> Check:
    return check.model_copy(update={"sentence": f"In {database}: {check.sentence}"})


def server_of(servers: Sequence[Any]) -> Any:
    """The server of one database, or of several."""
    if len(servers) == 1:
        return servers[0]
    several = OfSeveralWithLogFiles if isinstance(servers[0], MakesLogFiles) else ServerOfSeveral
    return several(servers)
