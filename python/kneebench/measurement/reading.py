"""Readings of a meter, each with its time: taken when they are asked for, or in a thread where the
meter is slow or sampled several times per second.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from statistics import fmean
from typing import NamedTuple, Protocol

from kneebench.measurement.meters.meter import ClosableMeter, Meter, SampledMeter, SlowMeter

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
    if not isinstance(meter, SlowMeter):
        return DirectReader(meter, now_s)
    return MeanReader(meter, now_s) if isinstance(meter, SampledMeter) else SlowReader(meter, now_s)


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
                latest = self._direct.read()
            except Exception as failure:
                self._failure = failure
                return
            took_s = latest.took_s
            self._keep(latest)

    def _keep(self, latest: Reading) -> None:
        self._latest = latest


class MeanReader(SlowReader):
    """Samples a meter of gauges several times between two questions; asked, it gives the mean of
    the samples since the last question, and how many there were per second.
    """

    def __init__(self, meter: SampledMeter, now_s: Callable[[], float]) -> None:
        self._lock, self._samples = threading.Lock(), list[Reading]()
        self._rate, self._until_s = meter.rate, now_s()
        super().__init__(meter, now_s)

    def read(self) -> Reading:
        """The mean since the last question; the same one again if there was no sample since."""
        found = super().read()
        with self._lock:
            samples, self._samples = self._samples, []
        if samples:
            found = self._latest = self._mean(samples)
        return found

    def _keep(self, latest: Reading) -> None:
        with self._lock:
            self._samples.append(latest)

    def _mean(self, samples: list[Reading]) -> Reading:
        since_s, self._until_s = self._until_s, samples[-1].at_s
        names = {name for sample in samples for name in sample.values}
        values = {name: fmean(one.values.get(name, 0.0) for one in samples) for name in names}
        values[self._rate] = len(samples) / max(self._until_s - since_s, 1e-9)
        return Reading(
            fmean(one.at_s for one in samples), values, fmean(one.took_s for one in samples)
        )
