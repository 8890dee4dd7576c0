"""How much of what a storage can do without a database the database used at its knee.

Both are counted at the same level: what a volume's drives do for one write of a file (two copies in
a mirror) is multiplied out.
"""

from __future__ import annotations

from typing import NamedTuple

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


def raw_shares(
    rung: Rung, raw: RawProfile, copies: int = 1, *, log_apart: bool = False
) -> tuple[RawShare, ...]:
    """The shares at a rung; `copies` of each block on the storage's drives; `log_apart`: the log is
    on a storage of its own. What was not measured is left out.
    """
    seen = {
        "reads": ("device.reads", "device.read_await", "read", 1),
        "writes": ("device.writes", "device.write_await", "write", copies),
        "log writes": ("log.flushes", "log.write_latency", "log", 1),
    }
    if log_apart:
        del seen["writes"]  # the meters count the log's drives too
    found = (
        _share(what, rung.quantity(per_s), rung.quantity(await_s), _best(raw, kind), times, raw)
        for what, (per_s, await_s, kind, times) in seen.items()
    )
    return tuple(one for one in found if one)


def _best(raw: RawProfile, kind: str) -> RawRow | None:
    """The most that it did of a kind, at any depth."""
    rows = [row for row in raw.rows if row.kind == kind and not row.invalid]
    return max(rows, key=lambda row: row.iops, default=None)


def _share(
    what: str,
    per_s: float | None,
    await_s: float | None,
    best: RawRow | None,
    copies: int,
    raw: RawProfile,
) -> RawShare | None:
    if per_s is None or best is None or not best.iops:
        return None
    alike = _at_depth(raw, best, per_s * (await_s or 0.0))
    return RawShare(what, per_s, best.iops * copies, await_s, alike.mean_s, alike)


def _at_depth(raw: RawProfile, best: RawRow, depth: float) -> RawRow:
    """The row of that kind whose depth is nearest to the requests that were outstanding."""
    rows = [row for row in raw.rows if row.kind == best.kind and not row.invalid]
    return min(rows, key=lambda row: abs(row.depth - depth))
