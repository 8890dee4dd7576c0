"""The steady state of a drive: whether its throughput has stopped changing.

The rule is that of the SNIA Solid State Storage Performance Test Specification 2.0: over the last
five rounds the range is at most 20% of the average, and the least-squares line moves by at most 10%
of the average.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, linear_regression
from typing import NamedTuple

ROUNDS, MOST_ROUNDS = 5, 25
RANGE, SLOPE = 0.20, 0.10


class Steadiness(NamedTuple):
    """How far the last five rounds differ, as shares of their average: their range, and what their
    line moves from the first to the last.
    """

    range: float
    slope: float

    @property
    def steady(self) -> bool:
        """Whether both are within the limits."""
        return self.range <= RANGE and abs(self.slope) <= SLOPE


def steadiness(iops: Sequence[float]) -> Steadiness | None:
    """That of the last five rounds; None for fewer, or for rounds without any I/O.

    >>> steadiness([9000, 5200, 5000, 5100, 4950, 5050]).steady
    True
    >>> steadiness([9000, 7000, 6000, 5500, 5200]).steady
    False
    """
    last = iops[-ROUNDS:]
    if len(last) < ROUNDS or not (mean := fmean(last)):
        return None
    line = linear_regression(range(ROUNDS), last)
    return Steadiness((max(last) - min(last)) / mean, line.slope * (ROUNDS - 1) / mean)
