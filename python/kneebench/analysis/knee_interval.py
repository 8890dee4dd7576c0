"""The interval of the knee's users, which includes the noise of the rungs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import log, sqrt

from kneebench.analysis.elasticity import elasticity
from kneebench.analysis.usl import fit
from kneebench.records import Climb, Estimate, Rung

LEAST_NOISE, USUAL_NOISE = 0.005, 0.02
"""Relative noise of one rung's throughput: the least that is believed, and what is assumed if too
few rungs show it."""
ONE_SIDED_90 = 1.282
PARAMETERS = 3
"""Of the USL."""


def users_interval(climb: Climb) -> Estimate | None:
    """The knee's users; the interval is the climb's bracket, widened to every rung that noise may
    have ruled out.

    A rung below the knee stays in while its growth up to the knee is not shown to exceed the plan's
    limit of elasticity; one above while growth from the knee to it is not shown to fall short of
    that. The noise is the scatter of the climb's rungs around a fitted curve, which is used for
    nothing else here. In simulations with 0.5 to 3% noise, on soft and on sharp bends, the interval
    contains the bend 96 to 100 times in 100; the bracket alone 34 to 98 times. None without a knee;
    a fixed load is exact.
    """
    by_plan = "fixed by the plan"
    fixed = climb.of("fixed_load")
    if fixed and not climb.stopped_by:  # interrupted before the campaign recorded it as the load
        users = fixed[0].users
        return Estimate(value=users, low=users, high=users, n=1, method=by_plan)
    if climb.knee_users is None or climb.bracket is None:
        return None
    rungs = [r for r in climb.of("search", "bisection") if not r.invalid]
    rungs = sorted((r for r in rungs if r.tally.throughput_per_s > 0), key=lambda r: r.users)
    knee = next((r for r in rungs if r.users == climb.knee_users), None)
    (low, high), method = climb.bracket, by_plan
    if knee:
        lowest, highest = _not_ruled_out(rungs, knee, climb.limits.elasticity)
        low, high = min(low, lowest), max(high, highest)
        method = "adjacent rungs, widened for noise"
    return Estimate(value=climb.knee_users, low=low, high=high, n=1, method=method)


def _not_ruled_out(rungs: list[Rung], knee: Rung, flat: float) -> tuple[int, int]:
    """(lowest, highest) users that the noise leaves possible for the knee.

    Growth ended somewhere between the lowest rung that stays in and the one below it.
    """
    error = ONE_SIDED_90 * sqrt(2) * noise(rungs)

    def within(low: Rung, high: Rung, sign: int) -> float:
        return elasticity(low, high) + sign * error / log(high.users / low.users)

    below = [r.users for r in rungs if r.users < knee.users and within(r, knee, -1) < flat]
    above = [r.users for r in rungs if r.users > knee.users and within(knee, r, +1) > flat]
    before = [r.users for r in rungs if r.users < min(below, default=0)]
    return min([*below, *before[-1:], knee.users]), max([*above, knee.users])


def noise(rungs: list[Rung]) -> float:
    """Relative scatter of one rung's throughput: root mean square around the better of two curves,
    for the degrees of freedom left.

    The USL bends softly; a closed loop whose one resource fills up bends sharply. What a curve
    cannot follow is not noise.
    """
    users, throughput = [float(r.users) for r in rungs], [r.tally.throughput_per_s for r in rungs]
    return _noise(tuple(users), tuple(throughput))


@lru_cache(maxsize=1024)
def _noise(users: tuple[float, ...], throughput: tuple[float, ...]) -> float:
    """Kept: a brief asks for each climb's several times, and the fits take a tenth of a second."""
    soft, n = fit(users, throughput), len(users)
    if soft is None or n <= PARAMETERS + 1:
        return USUAL_NOISE
    scatter = min(soft.scatter, bend_scatter(users, throughput))
    return max(LEAST_NOISE, scatter * sqrt(n / (n - PARAMETERS)))


def bend_scatter(users: Sequence[float], throughput_per_s: Sequence[float]) -> float:
    """Root mean square of ln X around X = l N / (1 + (N / B)^p)^(1 / p): a rising line, then flat,
    with a bend at B users that is sharper for a larger p.

    >>> bend_scatter([2, 4, 8, 16, 32, 64], [200, 400, 800, 1000, 1000, 1000]) < 0.001
    True
    """
    import numpy as np
    from scipy.optimize import least_squares

    n, logs = np.log(users), np.log(throughput_per_s)

    def residuals(parameters: np.ndarray) -> np.ndarray:
        lone, at, sharpness = parameters
        left: np.ndarray = lone + n - np.logaddexp(0, sharpness * (n - at)) / sharpness - logs
        return left

    ceiling = float(max(logs) - (logs - n)[0])
    starts = [
        least_squares(
            residuals,
            [float((logs - n)[0]), ceiling, p],
            bounds=([-np.inf, -np.inf, 0.3], [np.inf, np.inf, 50.0]),
        )
        for p in (2.0, 8.0)
    ]
    return min(float(np.sqrt(np.mean(one.fun**2))) for one in starts)
