"""Change points: where a figure that was measured again and again moved to another level.

Campaigns of different days scatter by more than any of their intervals shows, so the scatter of the
series itself decides. On logarithms:

1. Levels are fitted to the series, with the least squared distance plus a cost for each: COST times
   the variance between neighbours times ln n. Levels of fewer than LEAST campaigns are left out:
   one bad night, or one good night after bad ones, belongs to no level.
2. A change stays only if Student's t of the two levels beside it, with the scatter around all
   levels, exceeds the quantile of LEVEL divided by the number of places where a change could be;
   and if the ratio of the two levels is beyond the noise floor. The weakest that fails is removed,
   and the rest is looked at again.

The variance is never taken for less than that of the campaigns' own intervals. docs/trend.md has
the shares of false and missed changes, simulated.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import exp, inf, log, log1p, sqrt
from statistics import fmean, median
from typing import NamedTuple

from kneebench.analysis.student import student_t
from kneebench.records import Estimate

LEAST = 2
"""Campaigns of a level: one campaign alone may have had a bad night."""
FEWEST = 5
"""Campaigns from which a change can be seen at all."""
COST = 5.0
MEDIAN = 0.6745
"""Median distance of a normal value from its mean, in standard deviations."""
LEVEL = 0.01
"""Of series without a change, about as many have one marked."""


Level = list[int]
"""The places of a series that are on one level."""


class ChangePoint(NamedTuple):
    """A change: the places in the series of the first value after it and of the last before it, and
    the level after it over the one before it, with its 95% interval.
    """

    place: int
    last: int
    ratio: Estimate


class _Step(NamedTuple):
    """Two levels beside each other: by how much they differ, as a logarithm and relative to what
    noise explains.
    """

    move: float
    error: float
    strength: float


def change_points(series: Sequence[Estimate], floor: float = 0.0) -> tuple[ChangePoint, ...]:
    """The changes of a series of positive figures in the order measured. `floor`: ratios that are
    within it are noise, as a share.

    >>> def level(value): return Estimate(value=value, low=0.99 * value, high=1.01 * value, n=6)
    >>> series = [level(one) for one in (100, 101, 99.5, 100.4, 90, 90.5, 89.4)]
    >>> [(one.place, round(one.ratio.value, 2)) for one in change_points(series, 0.02)]
    [(4, 0.9)]
    >>> change_points(series, 0.15)
    ()
    """
    logs = [log(one.value) for one in series]
    if len(logs) < FEWEST:
        return ()
    own = fmean(_error(one) ** 2 for one in series)
    fitted = _fitted(logs, COST * max(own, _between_neighbours(logs)) * log(len(logs)))
    levels = [level for level in fitted if len(level) >= LEAST]
    while len(levels) > 1:
        steps = _steps(logs, levels, own, log1p(floor))
        weakest = min(range(len(steps)), key=lambda number: steps[number].strength)
        if steps[weakest].strength >= 1:
            return _as_points(logs, levels, steps)
        levels[weakest : weakest + 2] = [levels[weakest] + levels[weakest + 1]]
    return ()


def _error(one: Estimate) -> float:
    """The standard error of a figure's logarithm; 0 where its interval says nothing."""
    if one.n < 2 or one.low <= 0:
        return 0.0
    return log(one.high / one.low) / 2 / student_t(one.n - 1)


def _between_neighbours(logs: Sequence[float]) -> float:
    """The variance of a series, from the median distance of neighbours, which a few changes and bad
    nights hardly move.
    """
    return (median(abs(b - a) for a, b in pairwise(logs)) / MEDIAN) ** 2 / 2


def _fitted(logs: Sequence[float], cost: float) -> list[Level]:
    """The levels that fit best, each at the `cost` of one more: the best fit up to every place is
    made of the best up to an earlier one.
    """
    sums, squares = ([0.0, *accumulate(some)] for some in (logs, [one * one for one in logs]))

    def distance(start: int, end: int) -> float:
        whole = sums[end] - sums[start]
        return squares[end] - squares[start] - whole * whole / (end - start)

    best, before = [0.0], [0]
    for end in range(1, len(logs) + 1):
        fits = [(best[start] + distance(start, end) + cost, start) for start in range(end)]
        least, start = min(fits)
        best.append(least)
        before.append(start)
    levels, end = [], len(logs)
    while end:
        levels.append(range(before[end], end))
        end = before[end]
    return [[*level] for level in levels[::-1]]


def _steps(logs: Sequence[float], levels: Sequence[Level], own: float, floor: float) -> list[_Step]:
    values = [[logs[place] for place in level] for level in levels]
    freedom = sum(map(len, values)) - len(values)
    scatter = sum((one - fmean(level)) ** 2 for level in values for one in level) / freedom
    places = len(logs) - 2 * LEAST + 1
    needed = student_t(freedom, 1 - LEVEL / 2 / places)
    found = []
    for before, after in pairwise(values):
        move = fmean(after) - fmean(before)
        error = sqrt(max(scatter, own) * (1 / len(before) + 1 / len(after)))
        known = abs(move) / (needed * error) if error else inf
        found.append(_Step(move, error, known if abs(move) > floor else 0.0))
    return found


def _as_points(
    logs: Sequence[float], levels: Sequence[Level], steps: Sequence[_Step]
) -> tuple[ChangePoint, ...]:
    half = student_t(sum(map(len, levels)) - len(levels))
    return tuple(
        ChangePoint(
            after[0],
            before[-1],
            Estimate(
                value=exp(step.move),
                low=exp(step.move - half * step.error),
                high=exp(step.move + half * step.error),
                n=len(logs),
                method="t interval of two levels, on logarithms",
            ),
        )
        for (before, after), step in zip(pairwise(levels), steps, strict=True)
    )
