"""Sampler of a rung: reads every meter once per second, on the server's clock."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kneebench.measurement.meters.meter import Absent, Meter, PartialMeter
from kneebench.measurement.reading import reader
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
