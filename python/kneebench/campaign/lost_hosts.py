"""A load host that is lost in mid-rung: the others stop, no session is left on the server, and the
rung is measured again once the host is back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from kneebench.databases.engine import ReachedByUsers, Server
from kneebench.errors import InvalidMeasurement
from kneebench.hosts.connection import HostLost
from kneebench.hosts.load_hosts import LoadHosts
from kneebench.records import Event, Watch

Found = TypeVar("Found")

TIMES = 3
"""So often a rung is begun again."""
ENDED_S, LOOK_S = 30.0, 0.2
"""For the sessions of a lost host to end, and between two looks."""


def measured_on_all(
    measure: Callable[[], Found],
    load_hosts: LoadHosts | None,
    server: Server,
    doing: str,
    watch: Watch,
) -> tuple[Found, tuple[str, ...]]:
    """(what `measure` gives once no host is lost meanwhile, each loss before it).

    Raises HostLost where a host stays away, or is lost too often: the campaign is resumed there.
    """
    lost: list[str] = []
    while True:
        try:
            return measure(), tuple(lost)
        except HostLost as error:
            if load_hosts is None or len(lost) >= TIMES:
                raise
            lost.append(f"{error.what} ({error.seen})")
            watch(Event(kind="warning", doing=f"{doing}: invalid: {lost[-1]}"))
            end_all_users(server)
            load_hosts.connect_again(error)
            watch(Event(kind="start", doing=f"host {error.name} is back; measuring again"))


def end_all_users(server: Server) -> None:
    """End the sessions that a lost host left. Raises InvalidMeasurement where some stay."""
    until = time.monotonic() + ENDED_S
    while isinstance(server, ReachedByUsers) and (left := server.end_users()):
        if time.monotonic() > until:
            seen = f"{left} of them are still there after {ENDED_S:g} s"
            do = "end them by hand; completed rungs are saved"
            raise InvalidMeasurement("cannot end the users' sessions", seen=seen, do=do)
        time.sleep(LOOK_S)
