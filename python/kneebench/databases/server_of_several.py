"""A server with several databases of the workload, over which its users are spread.

Each database is asked by sessions of its own. The first one also answers for the server: its
settings, its processes, its log.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from kneebench._core import GeneratorSpec, LoadGenerator
from kneebench.records import Check, Setting, Watch

OF_THE_SERVER = frozenset(
    {
        *("measures", "cores", "paths", "roles", "restore_s", "notes", "processes", "now_s"),
        *("checkpoint", "connection_hint", "alive", "log_calls", "ready_log", "is_lost"),
        *("losses_reported", "lost"),
    }
)
"""What the first database's sessions answer for all."""
COMMITS = "database.commits|database"


class ServerOfSeveral:
    """At least two databases of one server."""

    def __init__(self, servers: Sequence[Any]) -> None:
        self._servers = servers
        self.settings: Sequence[Setting] = servers[0].settings

    def __getattr__(self, name: str) -> Any:
        if name not in OF_THE_SERVER:
            raise AttributeError(name)
        return getattr(self._servers[0], name)

    def load_generator(self, spec: GeneratorSpec) -> LoadGenerator:
        """Each session is opened in the next database."""
        first, *more = self._servers
        found: LoadGenerator = first.load_generator(spec, [one.address for one in more])
        return found

    def readings(self, meter: str) -> dict[str, float]:
        """The server's, with those of its databases added up."""
        first, *more = self._servers
        found = Counter(first.readings(meter))
        for one in more:
            own = one.readings(meter) if meter in _OF_DATABASES else {}
            found.update({name: value for name, value in own.items() if self._is_own(name)})
        return dict(found)

    def _is_own(self, name: str) -> bool:
        own: tuple[str, ...] = self._servers[0].own_readings
        return name.startswith(own)

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
        if not self._is_own(COMMITS):
            return known[-1]
        return sum(commits for commits, _ in known), sum(rollbacks for _, rollbacks in known)

    def conditions(self, watch: Watch) -> Sequence[Check]:
        """Each condition in all databases: the first that does not hold, if there is one."""
        found = zip(*(one.conditions(watch) for one in self._servers), strict=True)
        every = f"in each of {len(self._servers)} databases"
        return [
            next((one for one in same if not one.passed), None)
            or same[0].model_copy(update={"sentence": f"{same[0].sentence} So {every}."})
            for same in found
        ]

    def end_stuck(self, for_s: float) -> str:
        """In any database."""
        return "; ".join(filter(None, (one.end_stuck(for_s) for one in self._servers)))

    def close(self) -> None:
        """End the sessions of all."""
        with contextlib.ExitStack() as opened:
            for one in self._servers:
                opened.callback(one.close)


_OF_DATABASES = frozenset(["log_writes", "tables", "waits"])
"""Meters with readings of single databases."""
