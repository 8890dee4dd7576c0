"""Users that wait for a lock of somebody else's: the load is no longer the one ordered, and may
never end.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from kneebench.databases.engine import UNLOCK, EndsStuckUsers, Server
from kneebench.errors import InvalidMeasurement, KneebenchError

STUCK_S = 20.0
"""How long a user may wait for a session that is none of ours; waits for other users are the
workload's own, however long."""
EVERY_S = 5
"""Seconds from one sample to the next."""


def refuse_stuck(server: Server, what: str) -> None:
    """Raises InvalidMeasurement that names the sessions that have blocked users for `STUCK_S`."""
    if isinstance(server, EndsStuckUsers) and (seen := server.end_stuck(STUCK_S)):
        raise InvalidMeasurement(what, seen=seen, do=UNLOCK)


@contextlib.contextmanager
def refusing_stuck(server: Server, what: str) -> Iterator[None]:
    """The same while the block waits for users: they are looked at beside it, and ended where they
    are stuck, so that it ends.
    """
    ended, seen = threading.Event(), list[InvalidMeasurement]()

    def sample() -> None:
        while not ended.wait(EVERY_S):
            try:
                refuse_stuck(server, what)
            except InvalidMeasurement as stuck:
                seen.append(stuck)
            except KneebenchError:  # whoever waits for that server meets the same
                return

    threading.Thread(target=sample, name="stuck", daemon=True).start()
    try:
        yield
    finally:
        ended.set()
    if seen:
        raise seen[0]
