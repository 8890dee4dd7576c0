"""Between how many users the knee lies, the noise of the rungs counted in."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import log, sqrt

from kneebench.analysis.elasticity import elasticity
from kneebench.analysis.usl import fit
from kneebench.records import Climb, Estimate, Rung

LEAST_NOISE, USUAL_NOISE = 0.005, 0.02
"""Of one rung's throughput: no less is believed, and so much is assumed where too few rungs show
it."""
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
    holds the bend 96 to 100 times in 100; the bracket alone 34 to 98 times. None without a knee; a
    fixed load is exact.
    """
    fixed = climb.of("fixed_load")
    if (
        fixed and not climb.stopped_by
    ):  # stopped before the campaign could say that this load was the one ordered
        return Estimate(
            value=fixed[0].users,
            low=fixed[0].users,
            high=fixed[0].users,
            n=1,
            method="fixed by the plan",
        )
    if climb.knee_users is None or climb.bracket is None:
        return None
    rungs = sorted(
        (
            r
            for r in climb.of("search", "bisection")
            if not r.invalid and r.tally.throughput_per_s > 0
        ),
        key=lambda r: r.users,
    )
    knee = next((r for r in rungs if r.users == climb.knee_users), None)
    if knee is None:
        return Estimate(
            value=climb.knee_users,
            low=climb.bracket[0],
            high=climb.bracket[1],
            n=1,
            method="fixed by the plan",
        )
    flat = climb.limits.elasticity
    error = ONE_SIDED_90 * sqrt(2) * noise(rungs)
    below = [
        r.users
        for r in rungs
        if r.users < knee.users and elasticity(r, knee) - error / log(knee.users / r.users) < flat
    ]
    above = [
        r.users
        for r in rungs
        if r.users > knee.users and elasticity(knee, r) + error / log(r.users / knee.users) > flat
    ]
    # growth ended somewhere between the lowest rung that stays in and the one below it
    before = max(
        (r.users for r in rungs if r.users < min(below, default=0)), default=climb.knee_users
    )
    low, high = (
        min(climb.bracket[0], before, *below, climb.knee_users),
        max(climb.bracket[1], *above, climb.knee_users),
    )
    return Estimate(
        value=climb.knee_users, low=low, high=high, n=1, method="adjacent rungs, widened for noise"
    )


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
    """Root mean square of ln X around X = l N / (1 + (N / B)^p)^(1 / p): up in a line, then flat,
    the bend at B users as sharp as p.

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
