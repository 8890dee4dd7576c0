"""How far a host's time of day is from ours, with a bound.

Cristian's algorithm (Distributed Computing 3, 1989): of many probes the one with the smallest round
trip knows best, to half of that round trip. No monotonic clock of another machine is used.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from kneebench.hosts.connection import HostLine

PROBES = 60


class Offset(NamedTuple):
    """Seconds by which a host's time of day is ahead, to within `bound_s`, by the smallest round
    trip.
    """

    ahead_s: float
    bound_s: float
    round_trip_s: float


def offset(host: HostLine, probes: int = PROBES) -> Offset:
    """The offset now. Raises HostLost."""
    return min((_probe(host) for _ in range(probes)), key=lambda one: one.bound_s)


def _probe(host: HostLine) -> Offset:
    began, before = time.time(), time.perf_counter()
    there = host.ask("probe")["now"]
    took = time.perf_counter() - before
    return Offset(there - (began + took / 2), took / 2, took)
