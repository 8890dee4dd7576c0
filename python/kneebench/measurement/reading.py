"""Readings of a meter, each with its time: taken when they are asked for, or in a thread where the
meter is slow.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import NamedTuple, Protocol

from kneebench.measurement.meters.meter import ClosableMeter, Meter, SlowMeter

CLOSE_LIMIT_S = 10.0
"""Longest wait for the reading that a slow meter is at when it is closed; the thread of a later one
is left to end by itself."""


class Reading(NamedTuple):
    """Values of a meter by "quantity|source", the middle of the time in which they were read, and
    how long that took.
    """

    at_s: float
    values: dict[str, float]
    took_s: float


class Reader(Protocol):
    """Gives a meter's reading whenever it is asked, at once or nearly so."""

    def read(self) -> Reading:
        """The present reading, or the latest one of a slow meter. Raises what the meter raises."""
        ...

    def close(self) -> None:
        """Read no more, and close the meter."""
        ...


def reader(meter: Meter, now_s: Callable[[], float]) -> Reader:
    """The reader of a meter, on this clock."""
    return SlowReader(meter, now_s) if isinstance(meter, SlowMeter) else DirectReader(meter, now_s)


class DirectReader:
    """Reads the meter when it is asked."""

    def __init__(self, meter: Meter, now_s: Callable[[], float]) -> None:
        self._meter, self._now_s = meter, now_s

    def read(self) -> Reading:
        """The meter's present values."""
        began_s = self._now_s()
        values = self._meter.read()
        ended_s = self._now_s()
        return Reading((began_s + ended_s) / 2, values, ended_s - began_s)

    def close(self) -> None:
        """Close the meter, if it can be closed."""
        if isinstance(self._meter, ClosableMeter):
            self._meter.close()


class SlowReader:
    """Reads the meter again and again in a thread; asked, it gives the latest reading with its own
    time.

    The first reading is taken before the thread starts, so that there always is one.
    """

    def __init__(self, meter: SlowMeter, now_s: Callable[[], float]) -> None:
        self._direct, self._every_s = DirectReader(meter, now_s), meter.every_s
        self._latest = self._first()
        self._failure: Exception | None = None
        self._ending = threading.Event()
        self._thread = threading.Thread(
            target=self._read_on, name=f"meter {meter.name}", daemon=True
        )
        self._thread.start()

    def read(self) -> Reading:
        """The latest reading; the same one again until there is another."""
        if self._failure:
            raise self._failure
        return self._latest

    def close(self) -> None:
        """Wait for the reading under way, then close the meter."""
        self._ending.set()
        self._thread.join(CLOSE_LIMIT_S)
        self._direct.close()

    def _first(self) -> Reading:
        with contextlib.ExitStack() as unread:
            unread.callback(self._direct.close)
            first = self._direct.read()
            unread.pop_all()
        return first

    def _read_on(self) -> None:
        took_s = self._latest.took_s
        while not self._ending.wait(max(0.0, self._every_s - took_s)):
            try:
                self._latest = self._direct.read()
            except Exception as failure:
                self._failure = failure
                return
            took_s = self._latest.took_s
