"""Protocol of a meter, and the code that meters share.

A meter file has `QUANTITIES` (what it reads, by name in measurement/quantities.py) and
`open_meter(context) -> Meter`. A meter may also be closed at the end of a rung (`ClosableMeter`),
or take too long for the tick of a rung (`SlowMeter`).
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Protocol, runtime_checkable

from kneebench.databases.engine import Server
from kneebench.measurement.log_trace import NO_TRACE, LogTrace
from kneebench.records import Remark

MOST_BYTES = 1 << 17
"""Larger than any file under /proc that is read here (/proc/stat has 80 bytes per core, before all
else)."""


class Meter(Protocol):
    """Reads counters (cumulative) and gauges; cheap enough to be asked every second."""

    @property
    def name(self) -> str: ...

    @property
    def quantities(self) -> tuple[str, ...]:
        """Quantities that it reads, by name in measurement/quantities.py."""

    @property
    def notes(self) -> tuple[Remark, ...]:
        """Notes for the reader: quantities that cannot be read here, and why."""

    def read(self) -> dict[str, float]:
        """Current values by "quantity|source"; an absent one is left out, never 0."""


@runtime_checkable
class ClosableMeter(Meter, Protocol):
    """A meter with something to give back: a session, a file, a process."""

    def close(self) -> None:
        """Called once, after the last reading."""


@runtime_checkable
class SlowMeter(Meter, Protocol):
    """A meter whose readings take more than a few milliseconds, or are taken several times per
    second: they are taken in a thread of its own, not in the tick.
    """

    @property
    def every_s(self) -> float:
        """Seconds from the start of one reading to the start of the next; longer where a reading
        takes longer.
        """


class Absent(NamedTuple):
    """A thing that a meter cannot read here, and why; both are parts of a sentence."""

    what: str
    why: str


@runtime_checkable
class PartialMeter(Meter, Protocol):
    """A meter that cannot read everything here: one note lists what all meters lack."""

    @property
    def absent(self) -> tuple[Absent, ...]:
        """The same throughout a rung."""


@runtime_checkable
class SampledMeter(SlowMeter, Protocol):
    """A meter of gauges that is read several times per second: the tick gets the mean."""

    @property
    def rate(self) -> str:
        """Name ("quantity|source") under which the tick gets the samples per second."""


class MeterContext(NamedTuple):
    """Context of a meter: the server, the paths of its files on this machine, the trace of its log
    writes or why there is none, and what interfaces carry where that is known better than their
    drivers do, in bytes per second.
    """

    server: Server
    storage_paths: Sequence[Path]
    log_trace: LogTrace | str = NO_TRACE
    links: Mapping[str, float] = MappingProxyType({})


class ServerMeter:
    """A meter that the server itself answers: statistics views, or a simulated server's own
    counters.
    """

    def __init__(self, name: str, quantities: tuple[str, ...], server: Server) -> None:
        self.name, self.quantities = name, quantities
        self.notes: tuple[Remark, ...] = ()
        self._server = server

    def read(self) -> dict[str, float]:
        """The server's readings of this meter."""
        return self._server.readings(self.name)


class SampledServerMeter(ServerMeter):
    """A meter of gauges that the server answers several times per second."""

    def __init__(
        self, name: str, quantities: tuple[str, ...], server: Server, every_s: float
    ) -> None:
        super().__init__(name, quantities, server)
        self.every_s, self.rate = every_s, f"{name}.samples|server"


class UnavailableMeter:
    """A meter that cannot read anything here: its notes or `absent` state why, and its quantities
    stay absent.
    """

    def __init__(
        self, name: str, quantities: tuple[str, ...], *absent: Absent, notes: Sequence[Remark] = ()
    ) -> None:
        self.name, self.quantities, self.absent = name, quantities, absent
        self.notes = tuple(notes)

    def read(self) -> dict[str, float]:
        """Nothing."""
        return {}


def only_by_server(name: str, quantities: tuple[str, ...]) -> Meter:
    """Replacement for a meter that needs readings from the server, if this server has none."""
    return UnavailableMeter(name, quantities, Absent(name, "not reported by this server"))


def elsewhere(name: str, quantities: tuple[str, ...], *whats: str) -> Meter:
    """Replacement for a meter of the server's machine, if that is not this one."""
    why = "the server runs on another machine"
    return UnavailableMeter(name, quantities, *(Absent(what, why) for what in whats))


class KernelFile:
    """A file under /proc or /sys kept open: one pread a sample, no path look-up."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._fd)

    def read(self) -> bytes:
        """The whole file as it is now."""
        return os.pread(self._fd, MOST_BYTES, 0)
