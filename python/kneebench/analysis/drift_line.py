"""A line through the figures of repeated runs: how far it moves, and how certain that is.

A least-squares line through logarithms, in the order of time. Its error is widened where
neighbouring runs are alike. The limit is the slope of the steady-state rule (steady_state.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log, sqrt
from statistics import linear_regression
from typing import NamedTuple

from kneebench.analysis.steady import widened
from kneebench.analysis.steady_state import SLOPE
from kneebench.analysis.student import student_t

LIMIT = log(1 + SLOPE)
SURE, WITHIN = 0.995, 0.95
"""Levels of Student's t: for a 99% interval beyond the limit, and a 90% interval within it (two
one-sided tests of 5%)."""


class DriftLine(NamedTuple):
    """How far a line through logarithms moves from the first run to the last; its standard error
    and degrees of freedom.
    """

    move: float
    error: float
    freedom: int

    def is_beyond(self, level: float = SURE) -> bool:
        """It moves by more than the limit, with certainty."""
        return abs(self.move) - student_t(self.freedom, level) * self.error > LIMIT

    @property
    def interval(self) -> tuple[float, float]:
        """The 90% interval of its move."""
        half = student_t(self.freedom, WITHIN) * self.error
        return self.move - half, self.move + half

    @property
    def is_within(self) -> bool:
        """It moves by less than the limit, with certainty."""
        return max(map(abs, self.interval)) <= LIMIT


def line(values: Sequence[float]) -> DriftLine:
    """The line through values above 0; of fewer than three nothing is certain.

    >>> line([4.0, 4.1, 3.9, 4.0, 4.1]).is_within, line([4.0, 5.0, 6.1, 7.2, 8.3]).is_beyond()
    (True, True)
    """
    n, up = len(values), [log(value) for value in values]
    if n < 3:
        return DriftLine(0.0, inf, 1)
    found = linear_regression(range(n), up)
    residuals = [y - found.intercept - found.slope * x for x, y in enumerate(up)]
    squares = sum(r * r for r in residuals)
    # variance of the slope: residual variance / sum (x - mean x)^2, which is n (n^2 - 1) / 12
    error = sqrt(squares / (n - 2) / (n * (n * n - 1) / 12)) * widened(residuals, squares)
    return DriftLine(found.slope * (n - 1), error * (n - 1), n - 2)
