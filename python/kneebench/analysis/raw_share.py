"""How much of what a storage can do without a database the database used at its knee.

Both are counted at the same level: what a volume's drives do for one write of a file (two copies in
a mirror) is multiplied out. Times are compared at the same depth, as an I/O that waits behind
others takes longer on any drive.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import exp, log
from typing import NamedTuple

from kneebench.analysis.devices import DeviceLoad, volume_load, volumes
from kneebench.analysis.knee_readings import KneeReadings
from kneebench.records import RawProfile, RawRow, RawStorage

SLOWED = 2.0
"""Times the raw await at the same depth. Beside other I/O that takes half of the drives' time an
I/O takes twice as long; the raw await between two depths that were measured is known to less."""
NEAR = 0.8
"""From this share of the raw figure on, it may have been the limit."""


class RawShare(NamedTuple):
    """One figure at the knee and without a database. `what`: "reads", "writes" or "log writes";
    `depth`: the mean number of them that was outstanding; `await_s`, `raw_mean_s`: the mean time of
    one, at the knee and without a database at that depth.
    """

    what: str
    per_s: float
    raw_per_s: float
    await_s: float | None
    raw_mean_s: float
    depth: float

    @property
    def share(self) -> float:
        """Of the raw figure; above 1 where the file system merged what the database wrote."""
        return self.per_s / self.raw_per_s

    @property
    def slowed(self) -> float | None:
        """How many times as long one took as without the database, from `SLOWED` on: other I/O kept
        the drives busy. None below, and where it was not measured.
        """
        times = self.await_s / self.raw_mean_s if self.await_s and self.raw_mean_s else 0.0
        return times if times >= SLOWED else None

    @property
    def near(self) -> bool:
        """Whether the storage itself may have been the limit."""
        return self.share >= NEAR


class Asked(NamedTuple):
    """What the database asked of a storage: I/Os per second and the mean time of one."""

    per_s: float | None
    await_s: float | None


def raw_shares(readings: KneeReadings, raw: RawStorage) -> tuple[RawShare, ...]:
    """The shares at the knee; what was not measured is left out."""
    reads, writes = _of_the_data(readings, raw)
    log = Asked(readings.value("log.flushes"), readings.value("log.write_latency"))
    found = (
        _share("reads", reads, "read", 1, raw.profile),
        _share("writes", writes, "write", raw.copies, raw.profile),
        _share("log writes", log, "log", 1, raw.profile),
    )
    return tuple(one for one in found if one)


def _of_the_data(readings: KneeReadings, raw: RawStorage) -> tuple[Asked, Asked]:
    """Reads and writes of all devices that hold data, or share their limits. Where these hold the
    log as well, its writes are among them; where only some do, the writes are unknown. Where
    nothing says which devices hold what, all count, and the writes are unknown if the log has
    others. Flushes are not among the writes.
    """
    every = (one for volume in volumes(readings.rungs[0]) for one in volume)
    data = tuple(one for one in every if raw.shared or 0 in one.directories)
    if data:
        load = volume_load(readings, data)
        alike = raw.shared or all(one.directories == data[0].directories for one in data)
        reads = Asked(load.reads_per_s, load.read_await_s)
        return reads, _writes(load) if alike else Asked(None, None)
    reads = Asked(readings.value("device.reads"), readings.value("device.read_await"))
    written = readings.value("device.writes")
    if raw.log_apart or written is None:
        return reads, Asked(None, None)
    load = DeviceLoad(
        writes_per_s=written,
        flushes_per_s=readings.value("device.flushes"),
        write_await_s=readings.value("device.write_await"),
    )
    return reads, _writes(load)


def _writes(load: DeviceLoad) -> Asked:
    return Asked(load.data_writes_per_s, load.data_write_await_s)


def _share(what: str, asked: Asked, kind: str, copies: int, raw: RawProfile) -> RawShare | None:
    rows = [row for row in raw.rows if row.kind == kind and not row.invalid]
    most = max((row.iops for row in rows), default=0.0)
    per_s, await_s = asked
    if per_s is None or not most:
        return None
    depth = per_s * (await_s or 0.0) / copies
    return RawShare(what, per_s, most * copies, await_s, raw_await_s(rows, depth), depth)


def raw_await_s(rows: Sequence[RawRow], depth: float) -> float:
    """The mean time of an I/O at a depth, on a straight line of logarithms between the two rows
    beside it.

    Below the lowest depth that was measured it is that row's, which is too long. Above the highest
    the drives do no more I/Os per second, so each waits for the others (Little's law).

    >>> rows = [
    ...     RawRow(name="", kind="read", block_bytes=8192, depth=depth, iops=9.0, mean_s=mean_s)
    ...     for depth, mean_s in ((1, 0.001), (4, 0.004))
    ... ]
    >>> [round(raw_await_s(rows, depth), 4) for depth in (0.5, 2, 8)]
    [0.001, 0.002, 0.008]
    """
    ordered = sorted(rows, key=lambda row: row.depth)
    first, last = ordered[0], ordered[-1]
    if depth <= first.depth:
        return first.mean_s
    if depth >= last.depth:
        return last.mean_s * depth / last.depth
    low, high = next(two for two in pairwise(ordered) if two[0].depth <= depth <= two[1].depth)
    if not low.mean_s or not high.mean_s or low.depth == high.depth:
        return max(low.mean_s, high.mean_s)
    at = log(depth / low.depth) / log(high.depth / low.depth)
    return exp((1 - at) * log(low.mean_s) + at * log(high.mean_s))
