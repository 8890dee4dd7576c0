"""Estimates over final runs: long runs on restores of their own, or rounds that share one.

Long runs are independent, so a run is the unit (analysis/estimate.py). Rounds of one restore are
not, so their intervals know both scatters (analysis/rounds.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from math import exp, hypot, log

from kneebench.analysis.estimate import estimate, paired_ratio
from kneebench.analysis.rounds import rounds_estimate, rounds_ratio
from kneebench.records import Estimate, Rung

Pick = Callable[[Rung], float]
Pairs = Sequence[tuple[Rung, Rung]]


def estimate_of(rungs: Sequence[Rung], pick: Pick) -> Estimate:
    """The geometric mean of a figure over the rungs of one configuration, and its 95% interval.

    Raises ValueError for no rungs.
    """
    if short(rungs):
        return rounds_estimate(by_restore(rungs, pick), _spacing(rungs))
    return estimate([pick(rung) for rung in rungs])


def ratio_of_pairs(pairs: Pairs, pick: Pick) -> Estimate:
    """The geometric mean of the ratio of a figure over pairs of rungs, and its 95% interval.

    Raises ValueError unless all figures are above 0.
    """
    of, to = ([pair[side] for pair in pairs] for side in (0, 1))
    if short(of):
        return rounds_ratio(by_restore(of, pick), by_restore(to, pick), _spacing(of))
    return paired_ratio([pick(rung) for rung in of], [pick(rung) for rung in to])


def quotient(of: Estimate, to: Estimate) -> Estimate:
    """The ratio of two estimates that were not measured in turn: both half-widths count.

    Raises ValueError unless both intervals are above 0.

    >>> one, other = (Estimate(value=v, low=v / 1.1, high=v * 1.1, n=9) for v in (300.0, 100.0))
    >>> print(quotient(one, other))
    3 (2.622 to 3.433, n=9)
    """
    if min(of.low, to.low) <= 0:
        raise ValueError(f"a ratio needs intervals above 0, not {of} and {to}")
    value = of.value / to.value
    below = exp(hypot(log(of.value / of.low), log(to.high / to.value)))
    above = exp(hypot(log(of.high / of.value), log(to.value / to.low)))
    method = f"not interleaved; {of.method} over {to.method}"
    low, high = value / below, value * above
    return Estimate(value=value, low=low, high=high, n=min(of.n, to.n), method=method)


def short(rungs: Sequence[Rung]) -> bool:
    """Whether the rungs are short rounds."""
    return bool(rungs) and all(rung.order.restore for rung in rungs)


def by_restore(rungs: Sequence[Rung], pick: Pick) -> tuple[tuple[float, ...], ...]:
    """A figure of rounds, by restore, in the order of measurement."""
    return tuple(
        tuple(pick(rung) for rung in of_restore)
        for _, of_restore in groupby(rungs, lambda rung: rung.order.restore)
    )


def _spacing(rungs: Sequence[Rung]) -> float:
    """Rounds from one of these rungs to the next, on average: two of four have the fixed rate."""
    repeats = [rung.order.repeat for rung in rungs]
    return (max(repeats) - min(repeats)) / max(1, len(repeats) - 1) or 1.0
