"""Estimates from rounds; when enough rounds have been measured is decided in final_estimates.py.

In each round every configuration is measured once, for a short window; every few rounds each one is
restored. Rounds of one restore are alike for two reasons that a plain t interval ignores: restores
differ, and noise lasts longer than a round. So an interval here is the wider of two, both on
logarithms:

- Rounds: a t interval of as many rounds as autocorrelation leaves.
- Restores: a t interval of their means. Consecutive restores count as one unit until it has two
  rounds. Three units of four rounds say enough, or five smaller ones, which are less independent;
  with fewer, each restore is one unit.

Both are widened by a fifth, because the values themselves decide when to stop. Values are lists by
restore; the ratio of two configurations is one list of paired rounds, which the restores divide in
the same way. docs/method/rounds.md has the simulated coverage and the price.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from math import exp, log, sqrt
from statistics import fmean, variance
from typing import NamedTuple

from kneebench.analysis.estimate import arithmetic, estimate, few_and_equal, student_t
from kneebench.records import Estimate

Restores = Sequence[Sequence[float]]

UNIT_ROUNDS = 2
"""Fewest rounds of a unit."""
LARGE = 4
"""Rounds of a large unit: with noise of autocorrelation 0.5, means of four correlate by 0.2."""
LEAST_LARGE, LEAST_SMALL = 3, 5
"""Fewest units whose agreement says anything, of large ones and of others: two can agree by
chance."""
ASSUMED = 0.5
"""Autocorrelation of noise from one round to the next, for the bias of a measured one: that is too
low by (1 + 4 rho) / n (Marriott and Pope, "Bias in the estimation of autocorrelations", Biometrika
41, 1954)."""
MOST_CORRELATED = 0.9
LEAST_INDEPENDENT = 4.0
"""A throughput that drifts all the time would count as one or two rounds, and Student's t of so few
has intervals that reach far beyond all that was measured."""
LOOKED = 1.2
"""Factor of every half-width: the interval is looked at after each round, and the look at which it
is narrow by chance would be the last one."""


class Interval(NamedTuple):
    """Mean and half-width of the 95% interval, on the scale of the values."""

    centre: float
    half: float


def rounds_estimate(restores: Restores, spacing: float = 1.0, *, adds: bool = False) -> Estimate:
    """The geometric mean of all rounds, and its 95% interval; `n` counts rounds. Of what adds up
    the arithmetic mean, as `estimate` has it.

    `restores` has the values of each restore, in the order of measurement, `spacing` rounds apart
    on average (some figures are not measured in every round). Rounds of one restore alone cannot
    show how restores differ: `method` says so. One round has the interval of a single
    value (estimate.ALONE). If a value is 0 or less there are no logarithms: the mean, and an
    interval not below 0. Raises ValueError for no values.

    >>> print(rounds_estimate([[100.0, 104.0, 102.0, 99.0], [101.0, 103.0, 98.0, 104.0]]))
    101.4 (99.1 to 103.7, n=8)
    >>> rounds_estimate([[100.0, 104.0, 102.0, 99.0]]).method
    't interval on logarithms, 4 rounds on one restore: how restores differ is unknown'
    """
    kept = [tuple(rounds) for rounds in restores if rounds]
    values = list(chain.from_iterable(kept))
    if len(values) < 2 or few_and_equal(values):
        return estimate(values)
    how = f"{len(values)} rounds on {_restores(len(kept))}"
    if adds or min(values) <= 0:
        mean, half = interval(kept, spacing)
        return Estimate(
            value=mean,
            low=max(0.0, mean - half),
            high=mean + half,
            n=len(values),
            method=f"{arithmetic(adds=adds)}, {how}",
        )
    centre, half = interval([[log(value) for value in rounds] for rounds in kept], spacing)
    return Estimate(
        value=exp(centre),
        low=exp(centre - half),
        high=exp(centre + half),
        n=len(values),
        method=f"t interval on logarithms, {how}",
    )


def rounds_ratio(of: Restores, to: Restores, spacing: float = 1.0) -> Estimate:
    """The geometric mean of of / to by round, and its interval: drift common to both cancels out.

    Raises ValueError unless both have as many rounds on each restore, all above 0.

    >>> print(rounds_ratio([[250.0, 262.0], [247.0, 255.0]], [[100.0, 104.0], [99.0, 101.0]]))
    2.51 (2.482 to 2.538, n=4)
    """
    found = rounds_estimate(paired(of, to), spacing)
    return found.model_copy(update={"method": f"{found.method}, of paired ratios"})


def paired(of: Restores, to: Restores) -> tuple[tuple[float, ...], ...]:
    """of / to of each round, by restore; raises ValueError as rounds_ratio does."""
    if [len(rounds) for rounds in of] != [len(rounds) for rounds in to] or (
        min(chain(*of, *to), default=0) <= 0
    ):
        raise ValueError(f"a ratio needs pairs of positive values, not {of} and {to}")
    return tuple(
        tuple(a / b for a, b in zip(ours, theirs, strict=True))
        for ours, theirs in zip(of, to, strict=True)
    )


def half_width(ratio: Estimate) -> float:
    """The half-width of an interval on logarithms as a share of its value; infinite from 0.

    >>> round(half_width(Estimate(value=1.0, low=0.9, high=1 / 0.9, n=5)), 3)
    0.111
    """
    return sqrt(ratio.high / ratio.low) - 1 if ratio.low > 0 else float("inf")


def interval(restores: Restores, spacing: float = 1.0) -> Interval:
    """The mean of at least two values, and the wider of the two half-widths, on their scale."""
    values = list(chain.from_iterable(restores))
    return Interval(fmean(values), LOOKED * max(_by_round(values, spacing), _by_restore(restores)))


def independent_rounds(values: Sequence[float], spacing: float = 1.0) -> float:
    """As many independent rounds say as much of the mean as these do: n (1 - r) / (1 + r), at least
    LEAST_INDEPENDENT (or n).

    r is the autocorrelation from one value to the next, which are `spacing` rounds apart on
    average, corrected for its bias, not below 0.

    >>> independent_rounds([1.0, 3.0] * 10), round(independent_rounds([1.0] * 10 + [3.0] * 10), 1)
    (20.0, 4.0)
    """
    n, mean = len(values), fmean(values)
    square = sum((value - mean) ** 2 for value in values)
    if not square:
        return n
    product = sum((a - mean) * (b - mean) for a, b in pairwise(values))
    bias: float = (1 + 4 * ASSUMED**spacing) / n
    r = min(max(product / square + bias, 0.0), MOST_CORRELATED)
    return max(min(n, LEAST_INDEPENDENT), n * (1 - r) / (1 + r))


def _by_round(values: Sequence[float], spacing: float) -> float:
    n = independent_rounds(values, spacing)
    return student_t(n - 1) * sqrt(variance(values) / n)


def _by_restore(restores: Restores) -> float:
    """Of the means of units, each weighing as much as it has rounds; 0 from one unit alone."""
    units = _units(restores)
    if len(units) < 2:
        return 0.0
    mean, n = fmean(chain.from_iterable(units)), sum(map(len, units))
    between = sum(len(unit) * (fmean(unit) - mean) ** 2 for unit in units) / (len(units) - 1)
    return student_t(len(units) - 1) * sqrt(between / n)


def _units(restores: Restores) -> list[list[float]]:
    """Restores put together to units of two rounds; the restores themselves where that leaves too
    few to compare.
    """
    merged = unit_rounds(restores)
    return merged if are_enough(merged) else unit_rounds(restores, least=1)


def are_enough(units: Sequence[Sequence[float]]) -> bool:
    """Whether the agreement of so many units says anything; the last may be smaller than the
    others.
    """
    large = all(len(unit) >= LARGE for unit in units[:-1])
    return len(units) >= (LEAST_LARGE if large else LEAST_SMALL)


def unit_rounds(restores: Restores, least: int = UNIT_ROUNDS) -> list[list[float]]:
    """Consecutive restores put together until each unit has `least` rounds. A last unit with less
    than half of the rounds of the one before joins it.
    """
    units: list[list[float]] = []
    for rounds in restores:
        if units and len(units[-1]) < least:
            units[-1] += rounds
        elif rounds:
            units.append(list(rounds))
    if len(units) > 1 and 2 * len(units[-1]) < len(units[-2]):
        units[-2:] = [units[-2] + units[-1]]
    return units


def _restores(count: int) -> str:
    return "one restore: how restores differ is unknown" if count == 1 else f"{count} restores"
