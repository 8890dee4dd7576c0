"""Change points: where a figure that was measured again and again moved to another level; and
outliers, which are alone on theirs.

Campaigns of different days scatter by more than any of their intervals shows, so the scatter of the
series itself decides. On logarithms:

1. Levels are fitted to the series, with the least squared distance plus a cost for each: COST times
   the variance between neighbours times ln n. Levels of fewer than LEAST campaigns are left out:
   one bad night, or one good night after bad ones, belongs to no level.
2. A change stays only if Student's t of the two levels beside it, with the scatter around all
   levels, exceeds the quantile of LEVEL divided by the number of places where a change could be;
   and if the ratio of the two levels is beyond the noise floor. The weakest that fails is removed,
   and the rest is looked at again.
3. A campaign is an outlier if it is that far from the levels beside it, of the other campaigns:
   beyond the noise floor, and by Student's t with LEVEL divided by the length of the series. The
   farthest is taken out, and the rest is looked at again.

The variance is never taken for less than that of the campaigns' own intervals. docs/trend.md has
the shares of false and missed changes, simulated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from math import exp, inf, log, log1p, sqrt
from statistics import fmean, median
from typing import NamedTuple

from kneebench.analysis.estimate import student_t
from kneebench.records import Estimate

LEAST = 2
"""Campaigns of a level: one campaign alone may have had a bad night."""
FEWEST = 5
"""Campaigns from which a change can be seen at all."""
COST = 5.0
MEDIAN = 0.6745
"""Median distance of a normal value from its mean, in standard deviations."""
TINY = 1e-9
"""Where neither noise nor a floor is known, values that differ by less are equal."""
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


class Outlier(NamedTuple):
    """A value that is alone: its place in the series, and its ratio to the nearer of the levels
    beside it.
    """

    place: int
    ratio: float


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
    logs, own = _logs(series)
    levels = _levels(logs, own, floor)
    return _as_points(logs, levels, _steps(logs, levels, own, log1p(floor)))


def outliers(series: Sequence[Estimate], floor: float = 0.0) -> tuple[Outlier, ...]:
    """The values of such a series that are alone, each beyond what the series scatters by and
    beyond the noise floor.

    >>> def level(value): return Estimate(value=value, low=0.99 * value, high=1.01 * value, n=6)
    >>> series = [level(one) for one in (100, 101, 99.5, 100.4, 99.9, 100.2, 85)]
    >>> [(one.place, round(one.ratio, 2)) for one in outliers(series, 0.02)]
    [(6, 0.85)]
    >>> outliers(series, 0.2)
    ()
    """
    logs, own = _logs(series)
    levels = _levels(logs, own, floor)
    found: list[Outlier] = []
    while levels:
        known = {one.place for one in found}
        alone = max(_alone(logs, levels, known, own, log1p(floor)), default=None)
        if alone is None or alone.strength < 1:
            break
        found.append(Outlier(alone.place, exp(alone.move)))
        levels = [[one for one in level if one != alone.place] for level in levels]
    return tuple(sorted(found))


class _Alone(NamedTuple):
    """How far a value is from the nearer level beside it, relative to what noise explains."""

    strength: float
    place: int
    move: float


def _alone(
    logs: Sequence[float], levels: Sequence[Level], known: set[int], own: float, floor: float
) -> Iterator[_Alone]:
    """Every value that may be alone: not those of a level that would be none without them."""
    kept = {place for level in levels if len(level) <= LEAST for place in level}
    for place in {*range(len(logs))} - known - kept:
        others = [[one for one in level if one != place] for level in levels]
        scatter, freedom = _scatter(logs, others)
        needed = student_t(freedom, 1 - LEVEL / 2 / len(logs))
        found = []
        for level in _beside(place, others):
            move = logs[place] - fmean(logs[one] for one in level)
            error = sqrt(max(scatter, own) * (1 + 1 / len(level)))
            found.append(_Alone(abs(move) / max(needed * error, floor, TINY), place, move))
        yield min(found)


def _beside(place: int, levels: Sequence[Level]) -> list[Level]:
    """The levels of the nearest values before and after a place that is on none."""
    level_of = {one: level for level in levels for one in level}
    before = max((one for one in level_of if one < place), default=None)
    after = min((one for one in level_of if one > place), default=None)
    return [level_of[one] for one in (before, after) if one is not None]


def _logs(series: Sequence[Estimate]) -> tuple[list[float], float]:
    """The figures' logarithms, and the mean variance that their own intervals say."""
    own = fmean(_error(one) ** 2 for one in series) if series else 0.0
    return [log(one.value) for one in series], own


def _levels(logs: Sequence[float], own: float, floor: float) -> list[Level]:
    """The levels between which each change is one; none of a series that is too short."""
    if len(logs) < FEWEST:
        return []
    fitted = _fitted(logs, COST * max(own, _between_neighbours(logs)) * log(len(logs)))
    levels = [level for level in fitted if len(level) >= LEAST]
    while len(levels) > 1:
        steps = _steps(logs, levels, own, log1p(floor))
        weakest = min(range(len(steps)), key=lambda number: steps[number].strength)
        if steps[weakest].strength >= 1:
            break
        levels[weakest : weakest + 2] = [levels[weakest] + levels[weakest + 1]]
    return levels


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
    if len(levels) < 2:
        return []
    scatter, freedom = _scatter(logs, levels)
    places = len(logs) - 2 * LEAST + 1
    needed = student_t(freedom, 1 - LEVEL / 2 / places)
    found = []
    for before, after in pairwise([[logs[place] for place in level] for level in levels]):
        move = fmean(after) - fmean(before)
        error = sqrt(max(scatter, own) * (1 / len(before) + 1 / len(after)))
        known = abs(move) / (needed * error) if error else inf
        found.append(_Step(move, error, known if abs(move) > floor else 0.0))
    return found


def _scatter(logs: Sequence[float], levels: Sequence[Level]) -> tuple[float, int]:
    """The variance around all levels, and its degrees of freedom."""
    freedom = sum(map(len, levels)) - len(levels)
    values = [[logs[place] for place in level] for level in levels]
    return sum((one - fmean(level)) ** 2 for level in values for one in level) / freedom, freedom


def _as_points(
    logs: Sequence[float], levels: Sequence[Level], steps: Sequence[_Step]
) -> tuple[ChangePoint, ...]:
    if not steps:
        return ()
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
