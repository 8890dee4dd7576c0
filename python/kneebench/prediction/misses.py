"""The miss curve: reads per transaction by the memory of the database, from a sweep over memory."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median
from typing import NamedTuple

from kneebench.errors import PlanError
from kneebench.prediction.observed import HARDLY, Observed
from kneebench.records import Climb, Configuration
from kneebench.units import size

BEYOND = 1.5
"""Factor beyond the sizes that were measured up to which the curve is followed."""
FEWEST = 2


class MissCurve(NamedTuple):
    """Reads per transaction at the sizes that were measured, the smallest first."""

    points: tuple[tuple[int, float], ...]

    def at(self, memory_bytes: int) -> float:
        """Reads per transaction with so much memory: (a - b memory)^p, with p of 1 or 2, whichever
        is nearer to what was measured. Raises PlanError too far from that.

        >>> curve = MissCurve(((100, 4.0), (200, 2.0), (300, 0.0)))
        >>> curve.at(150), curve.at(250), curve.at(400)
        (3.0, 1.0, 0.0)
        """
        sizes = [one for one, _ in self.points]
        if len(sizes) < FEWEST:
            raise PlanError(
                f"cannot predict {size(memory_bytes)} of memory",
                seen="the reads were measured with one size of memory",
                do='measure a sweep: [constraints] memory = ["8GiB", "16GiB", "32GiB"]',
            )
        none_left = memory_bytes > sizes[-1] and self.points[-1][1] <= HARDLY
        if none_left:
            return 0.0
        if not sizes[0] / BEYOND <= memory_bytes <= sizes[-1] * BEYOND:
            seen = f"{size(sizes[0])} to {size(sizes[-1])} were measured"
            do = f"stay within a factor of {BEYOND:g} of these, or measure that size"
            raise PlanError(f"cannot predict {size(memory_bytes)} of memory", seen=seen, do=do)
        return min((_curve(self.points, power) for power in (1, 2)), key=lambda one: one.off).at(
            memory_bytes
        )


class _Curve(NamedTuple):
    start: float
    slope: float
    power: int
    off: float

    def at(self, memory_bytes: int) -> float:
        return float(max(0.0, self.start + self.slope * memory_bytes) ** self.power)


def _curve(points: Sequence[tuple[int, float]], power: int) -> _Curve:
    """The straight line through the reads' roots, and the sum of squares by which reads differ."""
    sizes = [float(one) for one, _ in points]
    roots = [reads ** (1 / power) for _, reads in points]
    middle, mean = fmean(sizes), fmean(roots)
    spread = sum((one - middle) ** 2 for one in sizes)
    slope = sum((one - middle) * root for one, root in zip(sizes, roots, strict=True)) / spread
    found = _Curve(mean - slope * middle, slope, power, 0.0)
    off = sum((found.at(one) - reads) ** 2 for one, reads in points)
    return found._replace(off=off)


def miss_curve(of: Configuration, climbs: Sequence[tuple[Climb, Sequence[Observed]]]) -> MissCurve:
    """That of the configurations that differ from one only in memory."""
    alike = {"storage": of.storage, "database": of.database, "cores": of.cores}
    found = {
        memory_of(climb.configuration): median(one.reads for one in rungs)
        for climb, rungs in climbs
        if rungs and {key: getattr(climb.configuration, key) for key in alike} == alike
    }
    return MissCurve(tuple(sorted((one, reads) for one, reads in found.items() if one)))


def memory_of(configuration: Configuration) -> int | None:
    """The smaller of its limits of memory; None without any."""
    sizes = (configuration.memory_bytes, configuration.engine_memory_bytes)
    return min((one for one in sizes if one), default=None)
