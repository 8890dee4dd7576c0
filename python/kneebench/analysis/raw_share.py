"""How much of what a storage can do without a database the database used at its knee.

Both are counted at the same level: what a volume's drives do for one write of a file (two copies in
a mirror) is multiplied out.
"""

from __future__ import annotations

from typing import NamedTuple

from kneebench.analysis.devices import volume_load, volumes
from kneebench.records import RawProfile, RawRow, Rung

SLOWED = 2.0
NEAR = 0.8
"""From this share of the raw figure on, it may have been the limit."""


class RawShare(NamedTuple):
    """One figure at the knee and without a database. `what`: "reads", "writes" or "log writes";
    `await_s`, `raw_mean_s`: the mean time of one, at the knee and at the raw row's depth.
    """

    what: str
    per_s: float
    raw_per_s: float
    await_s: float | None
    raw_mean_s: float
    raw: RawRow

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


def raw_shares(
    rung: Rung, raw: RawProfile, copies: int = 1, *, log_apart: bool = False
) -> tuple[RawShare, ...]:
    """The shares at a rung; `copies` of each block on the storage's drives; `log_apart`: the log is
    on a storage of its own. What was not measured is left out.
    """
    reads, writes = _of_the_data(rung, log_apart=log_apart)
    log = Asked(rung.quantity("log.flushes"), rung.quantity("log.write_latency"))
    found = (
        _share("reads", reads, _best(raw, "read"), 1, raw),
        _share("writes", writes, _best(raw, "write"), copies, raw),
        _share("log writes", log, _best(raw, "log"), 1, raw),
    )
    return tuple(one for one in found if one)


def _of_the_data(rung: Rung, *, log_apart: bool) -> tuple[Asked, Asked]:
    """Reads and writes of all devices that hold data. Where these hold the log as well, its writes
    are among them; where only some do, the writes are unknown. Results of old do not say which
    devices hold what: there all count, and the writes are unknown where the log has others.
    """
    data = tuple(one for volume in volumes(rung) for one in volume if 0 in one.directories)
    if data:
        load = volume_load(rung, data)
        alike = all(one.directories == data[0].directories for one in data)
        return (
            Asked(load.reads_per_s, load.read_await_s),
            Asked(load.writes_per_s, load.write_await_s) if alike else Asked(None, None),
        )
    reads = Asked(rung.quantity("device.reads"), rung.quantity("device.read_await"))
    writes = Asked(rung.quantity("device.writes"), rung.quantity("device.write_await"))
    return reads, Asked(None, None) if log_apart else writes


def _best(raw: RawProfile, kind: str) -> RawRow | None:
    """The most that it did of a kind, at any depth."""
    rows = [row for row in raw.rows if row.kind == kind and not row.invalid]
    return max(rows, key=lambda row: row.iops, default=None)


def _share(
    what: str, asked: Asked, best: RawRow | None, copies: int, raw: RawProfile
) -> RawShare | None:
    per_s, await_s = asked
    if per_s is None or best is None or not best.iops:
        return None
    alike = _at_depth(raw, best, per_s * (await_s or 0.0))
    return RawShare(what, per_s, best.iops * copies, await_s, alike.mean_s, alike)


def _at_depth(raw: RawProfile, best: RawRow, depth: float) -> RawRow:
    """The row of that kind whose depth is nearest to the requests that were outstanding."""
    rows = [row for row in raw.rows if row.kind == best.kind and not row.invalid]
    return min(rows, key=lambda row: abs(row.depth - depth))
