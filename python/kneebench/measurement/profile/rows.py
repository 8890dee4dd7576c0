"""The rows of a profile: one for each kind of I/O."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from kneebench.records import Record

TOLERANCE = 0.02
"""Between bytes per second and I/Os per second times the block size, beside the I/Os in flight."""
CERTAIN = 100
"""Fewest I/Os that must exceed a percentile that is quoted (docs/method/workload.md)."""
CORE_BUSY = 0.95


class Traffic(Record):
    """Reads or writes of a row. Times from submission to completion; `percentiles_s` by percent:
    those that enough I/Os exceed.
    """

    iops: float
    bytes_per_s: float
    n: int
    mean_s: float
    percentiles_s: Mapping[str, float] = Field(default_factory=dict)


class ProfileRow(Record):
    """One kind of I/O. `pattern`, `depth`, `workers`: fio's, empty for a copy; `sync`: the syncs
    after each log write; `cpu_s_per_io`: of fio's threads; `worker_busy`: the share of a core that
    each of them used; `cores_busy`: share of each core's time, of all programs; `files_per_s`: of a
    copy; `over_time`: seconds since its start and I/Os per second around then; `invalid`: why
    the row must not be quoted.
    """

    name: str
    group: str
    pattern: str = ""
    block_bytes: int
    depth: int | None = None
    workers: int = 1
    read: Traffic | None = None
    write: Traffic | None = None
    sync: Traffic | None = None
    files_per_s: float | None = None
    cpu_s_per_io: float | None = None
    worker_busy: float | None = None
    cores_busy: Mapping[str, float] = Field(default_factory=dict)
    over_time: tuple[tuple[float, float], ...] = ()
    invalid: str = ""

    @property
    def iops(self) -> float:
        """Reads and writes per second."""
        return sum(one.iops for one in (self.read, self.write) if one)

    @property
    def bytes_per_s(self) -> float:
        """Of reads and writes."""
        return sum(one.bytes_per_s for one in (self.read, self.write) if one)

    @property
    def mean_s(self) -> float | None:
        """Of an I/O, in a mix of the slower kind; of a log write with its sync; None for a copy."""
        slower = self._slower
        if slower is None or self.files_per_s is not None:
            return None
        return slower.mean_s + (self.sync.mean_s if self.sync else 0.0)

    @property
    def percentiles_s(self) -> Mapping[str, float]:
        """By percent: of an I/O, in a mix of the slower kind; of a log write the sync's."""
        timed = self.sync or self._slower
        return timed.percentiles_s if timed else {}

    @property
    def busiest_core(self) -> float | None:
        """The share of its time that the busiest core was busy."""
        return max(self.cores_busy.values(), default=None)

    @property
    def _slower(self) -> Traffic | None:
        sides = [one for one in (self.read, self.write) if one]
        return max(sides, key=lambda one: one.mean_s, default=None)

    @property
    def limited_by_a_core(self) -> str:
        """A sentence where a core, or each of fio's workers, was busy all the time; else empty.

        >>> row = ProfileRow(name="", group="", block_bytes=1, cores_busy={"0": 0.1, "3": 0.98})
        >>> row.limited_by_a_core
        'core 3 was 98% busy: it may have been the limit, not the drive'
        """
        if (self.worker_busy or 0.0) >= CORE_BUSY:
            return "fio's workers had no CPU time left: they may have been the limit, not the drive"
        if not self.cores_busy:
            return ""
        core = max(self.cores_busy, key=lambda one: self.cores_busy[one])
        busy = self.cores_busy[core]
        if busy < CORE_BUSY:
            return ""
        return f"core {core} was {100 * busy:.0f}% busy: it may have been the limit, not the drive"


def inconsistent(row: ProfileRow, in_flight: float) -> str:
    """Why a row's MB/s is not its IOPS times the block size, so that one of them is wrong; empty if
    they agree. fio counts an I/O when it begins and its bytes when it ends, so those in flight at
    the ramp's end may count once: `in_flight` per second.
    """
    product = row.iops * row.block_bytes
    allowed = TOLERANCE * product + in_flight * row.block_bytes
    if abs(row.bytes_per_s - product) <= allowed:
        return ""
    return (
        f"{row.bytes_per_s:,.0f} bytes per second, but {row.iops:,.0f} IOPS of"
        f" {row.block_bytes} bytes are {product:,.0f}"
    )
