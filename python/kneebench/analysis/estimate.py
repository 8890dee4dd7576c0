"""Estimates: a value from runs, with the 95% interval that their number allows.

The unit is one restored run, never one second of it. Throughputs and latencies are positive and
scatter by factors, so all is done on logarithms: the value is the geometric mean, and the interval
of a ratio is that of its inverse turned round.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import exp, isclose, log, sqrt
from statistics import fmean, stdev

from kneebench.records import Estimate

FEW = 6
"""With fewer runs a bootstrap has too little to draw from: a t interval instead (methods:
comparing)."""
T_975 = {
    1: 12.706204736174694,
    2: 4.302652729749462,
    3: 3.1824463052837078,
    4: 2.7764451051977934,
}
"""Student's t, 97.5%, by degrees of freedom: as far as FEW needs it (importing scipy takes a
second)."""
ALONE = 9.68
"""x -+ 9.68 |x| covers the mean of any normal distribution at least 95 times in 100 from a single
x, whatever its mean and scatter (Wall, Boen and Tweedie, "An effective confidence interval for the
mean with samples of size one and two", Am. Stat. 55, 2001)."""
LEAST_EQUAL = 3
"""Fewest equal values whose scatter is taken for none: two agree by the resolution of a counter."""
ZERO = "t interval (a value of 0 has no logarithm)"
RESAMPLES = 9_999
SEED = 9300
"""Of the bootstrap: the same runs always give the same interval."""


def estimate(values: Sequence[float], *, adds: bool = False) -> Estimate:
    """The geometric mean of positive values, one per run, and its 95% interval; of what adds up,
    such as the traffic of several devices, the arithmetic one and a t interval not below 0.

    `method` names the kind of interval. From 2 to 5 values: t interval on logarithms. From 6: BCa
    bootstrap (Efron, "Better bootstrap confidence intervals", JASA 82, 1987). One value alone has
    the interval that a single value honestly allows, 0 to 10.68 times: it means "unknown" in a
    number that JSON can hold, and it covers the truth as often as it claims. So do two values that
    are equal: the scatter of two says nothing then. Values of which one is
    0 or less have no logarithm: the mean, and a t interval not below 0. Raises ValueError for no
    values.

    >>> print(estimate([100.0, 104.0, 102.0]))
    102 (97.14 to 107.1, n=3)
    >>> estimate([100.0]).high, estimate([100.0]).method
    (1068.0, 'one run: all that a single value allows')
    >>> estimate([7.0, 7.0, 7.0]).low, estimate([7.0, 7.0]).low
    (7.0, 0.0)
    """
    if not values:
        raise ValueError("an estimate needs at least one value")
    n, first = len(values), values[0]
    if few_and_equal(values):
        value, low, high = first, 0.0, (1 + ALONE) * max(0.0, first)
        what = "one run" if n == 1 else "two equal runs"
        method = f"{what}: all that a single value allows"
    elif adds or min(values) <= 0:
        value, low, high = _t_interval(values)
        low, method = max(0.0, low), arithmetic(adds=adds)
    elif max(values) == min(values):
        value, low, high = first, first, first
        method = "all runs gave the same"
    elif n < FEW:
        value, low, high = map(exp, _t_interval([log(v) for v in values]))
        method = "t interval on logarithms"
    else:
        logs = [log(v) for v in values]
        value, low, high = map(exp, (fmean(logs), *_bca(logs)))
        method = "BCa bootstrap of the geometric mean"
    return Estimate(value=value, low=low, high=high, n=n, method=method)


def arithmetic(*, adds: bool) -> str:
    """The interval around an arithmetic mean, and why that mean is not the geometric one."""
    return "t interval of the arithmetic mean" if adds else ZERO


def few_and_equal(values: Sequence[float]) -> bool:
    """Whether values are equal and too few to show that they do not scatter."""
    return len(values) < LEAST_EQUAL and isclose(min(values), max(values))


def _t_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """(mean, low, high) by Student's t."""
    middle, half = fmean(values), student_t(len(values) - 1) * stdev(values) / sqrt(len(values))
    return middle, middle - half, middle + half


def paired_ratio(of: Sequence[float], to: Sequence[float]) -> Estimate:
    """The geometric mean of of[i] / to[i], and its interval: what drifts from pair to pair cancels
    out.

    Raises ValueError unless there are as many of the one as of the other, and all are above 0.

    >>> print(paired_ratio([250.0, 262.0, 247.0], [100.0, 104.0, 99.0]))
    2.505 (2.473 to 2.537, n=3)
    """
    if len(of) != len(to) or min((*of, *to), default=0) <= 0:
        raise ValueError(f"a ratio needs pairs of positive values, not {list(of)} and {list(to)}")
    found = estimate([a / b for a, b in zip(of, to, strict=True)])
    return found.model_copy(update={"method": f"{found.method}, of paired ratios"})


def unpaired_ratio(of: Sequence[float], to: Sequence[float]) -> Estimate:
    """The ratio of the geometric means of runs that were not measured in turn, and its interval;
    `n` is that of the fewer runs.

    Both scatters count, with the degrees of freedom of the fewer runs: Welch's interval on
    logarithms, on the safe side. What drifted between the two is in the ratio and in no interval.
    Raises ValueError unless all values are above 0 and there are some of each.

    >>> print(unpaired_ratio([250.0, 262.0, 247.0], [100.0, 104.0, 99.0]))
    2.505 (2.264 to 2.77, n=3)
    """
    if not of or not to or min(*of, *to) <= 0:
        raise ValueError(f"a ratio needs positive values, not {list(of)} and {list(to)}")
    logs, n = [[log(value) for value in runs] for runs in (of, to)], min(len(of), len(to))
    value = exp(fmean(logs[0]) - fmean(logs[1]))
    if n == 1 or all(map(few_and_equal, logs)):
        return estimate([value] * n)
    half = student_t(n - 1) * sqrt(sum(stdev(some) ** 2 / len(some) for some in logs))
    return Estimate(
        value=value,
        low=value * exp(-half),
        high=value * exp(half),
        n=n,
        method="t interval on logarithms, of runs not interleaved",
    )


def scatter(groups: Sequence[Sequence[float]]) -> float:
    """How far two runs of the same thing differ (A/A): the 95th percentile of |ratio| - 1 over all
    pairs within a group.

    With a handful of pairs that is nearly the largest. 0 where no group has two runs.

    >>> round(scatter([[100.0, 103.0], [250.0, 252.0, 251.0]]), 3)
    0.027
    """
    pairs = sorted(
        abs(log(b / a))
        for g in groups
        for i, a in enumerate(g)
        for b in g[i + 1 :]
        if a > 0 and b > 0
    )
    if not pairs:
        return 0.0
    at = 0.95 * (len(pairs) - 1)
    below = int(at)
    above = min(below + 1, len(pairs) - 1)
    return exp(pairs[below] + (at - below) * (pairs[above] - pairs[below])) - 1


def _bca(logs: Sequence[float]) -> tuple[float, float]:
    """BCa of the mean at the level that makes it cover: the bootstrap knows neither n / (n - 1) nor
    Student's t.

    The tails are those of a normal at -t sqrt(n / (n - 1)) (Hesterberg, "What Teachers Should Know
    About the Bootstrap", Am. Stat. 69, 2015, for percentile intervals). At the plain 95% BCa covers
    85 times in 100 with 6 runs and 92 with 12; so 93 and 95.
    """
    import numpy as np
    from scipy.special import ndtr, stdtrit
    from scipy.stats import bootstrap

    n = len(logs)
    tail = float(ndtr(-float(stdtrit(n - 1, 0.975)) * sqrt(n / (n - 1))))
    rng = np.random.default_rng(SEED)
    found = bootstrap(
        (np.asarray(logs),),
        np.mean,
        n_resamples=RESAMPLES,
        method="BCa",
        confidence_level=1 - 2 * tail,
        rng=rng,
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


@lru_cache(maxsize=1024)
def student_t(freedom: float, level: float = 0.975) -> float:
    """The quantile of a level; that of a 95% interval unless another is asked for.

    scipy is imported where it is first used, as it takes long.

    >>> round(student_t(2), 3), round(student_t(3, 0.95), 3)
    (4.303, 2.353)
    """
    if level == 0.975 and freedom in T_975:
        return T_975[int(freedom)]
    from scipy.special import stdtrit

    return float(stdtrit(freedom, level))
