"""An IOPS limit: a cloud volume, a throttle and a disk that seeks allow so many I/Os per second,
however large. Flash does fewer of larger ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from kneebench.measurement.profile.jobs import KIB
from kneebench.measurement.profile.rows import ProfileRow

ALIKE = 0.03
"""Of the mean: rows that differ by no more are the same."""
BLOCKS = (4 * KIB, 8 * KIB, 16 * KIB)
DEPTHS = (16, 64)


def iops_limit(rows: Sequence[ProfileRow]) -> float | None:
    """The random reads per second that are the same for blocks of 4, 8 and 16 KiB, and at four
    times the depth. None if they differ, or if a core may have been the limit.
    """
    reads = [row for row in rows if row.pattern == "randread" and not row.invalid]
    blocks = [row for row in reads if row.group == "block size" and row.block_bytes in BLOCKS]
    depths = [row for row in reads if row.group == "queue depth" and row.depth in DEPTHS]
    found = [*blocks, *depths]
    if len(found) < len(BLOCKS) + len(DEPTHS) or any(row.limited_by_a_core for row in found):
        return None
    iops = [row.iops for row in found]
    return fmean(iops) if max(iops) - min(iops) <= ALIKE * fmean(iops) else None
