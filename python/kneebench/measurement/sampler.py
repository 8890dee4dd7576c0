"""Sampler of a rung: reads every meter once per second, on the server's clock."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple, Protocol

from kneebench.measurement.meters.meter import (
    Absent,
    ClosableMeter,
    Meter,
    PartialMeter,
    SampledMeter,
    SlowMeter,
)
from kneebench.records import Remark, noted


class RawSeries(NamedTuple):
    """Readings of one meter: the i-th values belong to the i-th time.

    All raw series of a sampler are equally long.
    """

    meter: str
    at_s: list[float]
    values: list[dict[str, float]]


class LoadMeter:
    """The load itself as a meter: transactions completed up to the last second, as the load
    generator reports them, and what the interfaces of load hosts have carried.
    """

    name, quantities = "load", ("load.transactions",)
    notes: tuple[Remark, ...] = ()

    def __init__(self) -> None:
        self.completed = 0
        self.network: Mapping[str, float] = {}

    def read(self) -> dict[str, float]:
        """Transactions completed so far: exact at the end of each second, while the database's own
        counts lag.
        """
        return {"load.transactions|load_generator": float(self.completed), **self.network}


class Sampler:
    """Samples all meters and the load, and keeps the readings. Close it after the last sample.

    Times count from the making of the sampler, and each meter has its own: a sample at the server
    may take some milliseconds under load, and a rate is only as good as its times. Of a slow meter
    a sample has the latest reading and the time of that one, so its rates are over the time between
    two readings. How long each reading took is kept too ("meters.read_time").
    """

    def __init__(self, meters: Sequence[Meter], now_s: Callable[[], float]) -> None:
        self.load = LoadMeter()
        self._meters, self._now_s, self._start_s = (self.load, *meters), now_s, now_s()
        self.raw_series = tuple(
            RawSeries(name, [], []) for name in (*(meter.name for meter in self._meters), "meters")
        )
        with contextlib.ExitStack() as opened:
            self._readers = [
                opened.enter_context(contextlib.closing(reader(meter, now_s)))
                for meter in self._meters
            ]
            self.sample()
            self._opened = opened.pop_all()

    def sample(self) -> int:
        """Take a reading of every meter; return the number of this sample, from 0."""
        cost_s = {}
        for meter, source, raw in zip(self._meters, self._readers, self.raw_series, strict=False):
            reading = source.read()
            raw.at_s.append(reading.at_s - self._start_s)
            raw.values.append(reading.values)
            cost_s[f"meters.read_time|{meter.name}"] = reading.took_s
        self.raw_series[-1].at_s.append(self._now_s() - self._start_s)
        self.raw_series[-1].values.append(cost_s)
        return self.last

    def close(self) -> None:
        """Close all meters: the last one first, and each even if another cannot be closed."""
        self._opened.close()

    @property
    def last(self) -> int:
        """The number of the last sample."""
        return len(self.raw_series[-1].at_s) - 1

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """Those of the meters: quantities that could not be read, and why."""
        absent = [one for m in self._meters if isinstance(m, PartialMeter) for one in m.absent]
        own = (one for meter in self._meters for one in meter.notes)
        return (*own, *noted("not_measured", *not_measured(absent)))


def not_measured(absent: Sequence[Absent]) -> tuple[str, ...]:
    """One note for all that is absent; none where nothing is.

    >>> not_measured([Absent("CPU frequency", "no cpufreq"), Absent("network", "no device")])
    ('not measured: CPU frequency (no cpufreq), network (no device)',)
    """
    reasons = dict.fromkeys(one.why for one in absent)
    listed = (
        f"{', '.join(one.what for one in absent if one.why == why)} ({why})" for why in reasons
    )
    return (f"not measured: {', '.join(listed)}",) if absent else ()


# Readings of a meter, each with its time: taken when they are asked for, or in a thread where the
# meter is slow or sampled several times per second.

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

    def close(self) -> None:
        """Read no more, and close the meter."""


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
