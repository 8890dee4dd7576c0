"""Background work of the servers that are up side by side, counted around a short round.

A server that is idle may still begin a checkpoint, in its neighbour's window. Such a round is
measured again (campaign/restored.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kneebench.analysis.background import Kinds
from kneebench.databases.engine import Server

METERS = ("checkpoints", "tables")
"""The meters of a server that count its background work."""


class BackgroundWork:
    """Looks at the servers' counters when it is made, and again when asked what has begun."""

    def __init__(self, servers: Mapping[str, Server], kinds: Kinds) -> None:
        self._servers, self._kinds = servers, kinds
        self._before = self._counts()

    def began(self) -> str:
        """What has begun since then, and on which storage; empty for nothing."""
        begun = self._counts() - self._before
        return "; ".join(f"{what} on {storage}" for what, storage in begun)

    def _counts(self) -> Counter[tuple[str, str]]:
        found: Counter[tuple[str, str]] = Counter()
        for storage, server in self._servers.items():
            readings = {
                key: value
                for meter in METERS
                if meter in server.measures
                for key, value in server.readings(meter).items()
            }
            for what, counters in self._kinds.items():
                found[what, storage] = sum(
                    int(value)
                    for key, value in readings.items()
                    if key.partition("|")[0] in counters
                )
        return found
