"""The knee by all rungs of a climb together, the noise of the rungs counted in.

Two neighbouring rungs differ by their noise as much as by the users between them, so a knee read
off them moves from climb to climb. Here thousands of curves are weighed by how well they follow all
rungs. Each rises as N^rise, bends at B users with some sharpness, and then is flat or falls:
X = N^rise / (1 + (N / B)^p)^((rise + fall) / p). No curve is ever printed as a measurement.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from kneebench.records import Climb, Estimate, Rung

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

RISES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4)
FALLS = (0.0, 0.1, 0.3, 1.0)
SHARPNESS = (0.7, 1.0, 1.5, 2.5, 5.0, 25.0)
BENDS, BEND_STEP = 1.1, 0.025
"""Of ln B: so far may the bend be outside the users measured, and the distance of two bends."""
USUAL_NOISE, AS_RUNGS = 0.015, 2.0
"""Expected relative noise of a rung, and as many rungs' worth of knowing it."""
LOWER = 0.03
"""So much lower than the best may throughput at the knee be."""
WRONG = 0.05
"""A knee whose throughput is farther than that from the true knee's is wrong."""
TAIL = 0.025
"""Probability of a knee beyond either end of the interval."""
UNLIKELY = 1e-4
"""Curves less likely than that, relative to the likeliest, are left out."""


class KneeFit(NamedTuple):
    """The knee, in users, and what is certain about it.

    `low` and `high` are the 95% interval, from the rung below the lowest likely knee, as the 97%
    are reached between two rungs. `wrong` is the probability that throughput at `users` differs by
    more than 5% from that at the true knee. `grows` is the probability that throughput still grows
    beyond the most users measured. `lowest` is throughput at the fewest users as a share of the
    best: near 1, the climb has not shown a rise. `noise` is the relative noise of a rung.
    """

    users: int
    low: int
    high: int
    wrong: float
    grows: float
    lowest: float
    noise: float


def fit_knee(rungs: Sequence[Rung], elasticity: float) -> KneeFit | None:
    """The knee of a climb's rungs, in any order: the search rung with the fewest users that is
    expected to give 97% of the best throughput.

    The best is the throughput at which growth ends (elasticity falls below the plateau's limit),
    or the highest of the search rungs if that is less. "bisection" rungs count for the curves and
    are never the knee, so that climbs of one storage choose among the same numbers. None for fewer
    than two search rungs that did anything.
    """
    points = _points(rungs)
    numbers = tuple(sorted({users for users, _, search in points if search}))
    if len(numbers) < 2:
        return None
    return _fit(tuple(p[0] for p in points), tuple(p[1] for p in points), numbers, elasticity)


def throughput_share(rungs: Sequence[Rung], users: int, of_users: int) -> Estimate | None:
    """Throughput at some users over that at others, by the curves through a climb's rungs, with its
    95% interval. None where the climb did not measure as many and as few.
    """
    import numpy as np

    points = _points(rungs)
    measured = [one for one, _, _ in points]
    if len(points) < 2 or not all(
        min(measured) <= one <= max(measured) for one in (users, of_users)
    ):
        return None
    logs = np.log(np.array([one for _, one, _ in points]))
    curves, weight, _ = _weighed(np.log(np.array(measured, float)), logs)
    at = curves.log_throughput(np.log(np.array([users, of_users], float)))
    moves = at[:, 0] - at[:, 1]
    order = np.argsort(moves)
    ends = np.searchsorted(np.cumsum(weight[order]), (TAIL, 1 - TAIL))
    low, high = np.exp(moves[order][np.minimum(ends, len(order) - 1)])
    value = float(np.exp(weight @ moves))
    how = "curves through all rungs of the climb"
    return Estimate(value=value, low=float(low), high=float(high), n=len(points), method=how)


def _points(rungs: Sequence[Rung]) -> list[tuple[int, float, bool]]:
    """Users, throughput, and whether it was searched with, of the rungs that curves go through."""
    return [
        (rung.users, rung.tally.throughput_per_s, rung.order.phase == "search")
        for rung in rungs
        if rung.order.phase in ("search", "bisection")
        and not rung.invalid
        and rung.tally.throughput_per_s > 0
    ]


class _Curves(NamedTuple):
    """Shapes of curves: ln B, sharpness, rise, fall. The last axis is that of numbers of users."""

    bend: Numbers
    sharpness: Numbers
    rise: Numbers
    fall: Numbers

    def log_throughput(self, log_users: Numbers) -> Numbers:
        """ln X, but for a constant, at numbers of users, or at one for each curve."""
        import numpy as np

        beyond = np.logaddexp(0, self.sharpness * (log_users - self.bend)) / self.sharpness
        found: Numbers = self.rise * log_users - (self.rise + self.fall) * beyond
        return found

    def growth_end(self, elasticity: float) -> Numbers:
        """ln N where elasticity, rise - (rise + fall) u / (1 + u) with u = (N / B)^p, falls below
        the limit; minus infinity for a curve that never exceeds it.
        """
        import numpy as np

        odds = np.maximum(self.rise - elasticity, 0) / (self.fall + elasticity)
        with np.errstate(divide="ignore"):
            found: Numbers = self.bend + np.log(odds) / self.sharpness
        return found


@lru_cache(maxsize=1024)
def _fit(
    users: tuple[int, ...],
    throughput: tuple[float, ...],
    numbers: tuple[int, ...],
    elasticity: float,
) -> KneeFit:
    """Kept: a climb and its brief ask for the same rungs' several times."""
    import numpy as np

    curves, weight, noise = _weighed(np.log(np.array(users, float)), np.log(np.array(throughput)))
    at = np.log(np.array(numbers, float))
    end = curves.growth_end(elasticity)
    logs = curves.log_throughput(at)
    best = np.minimum(
        curves.log_throughput(np.clip(end, at[0], at[-1])), logs.max(axis=1, keepdims=True)
    )
    shares = np.exp(logs - best)
    knees = np.argmax(shares >= 1 - LOWER, axis=1)
    expected = weight @ shares
    knee = int(np.argmax(expected >= min(1 - LOWER, expected.max())))
    upto = np.cumsum(np.bincount(knees, weight, len(numbers)))
    low, high = np.searchsorted(upto, (TAIL, 1 - TAIL))
    off = np.abs(shares[:, knee] / shares[np.arange(len(knees)), knees] - 1)
    return KneeFit(
        users=numbers[knee],
        low=numbers[max(0, min(knee, int(low)) - 1)],
        high=numbers[max(knee, int(high))],
        wrong=float(weight[off > WRONG].sum()),
        grows=float(weight[end[:, 0] > at[-1]].sum()),
        lowest=float(expected[0]),
        noise=noise,
    )


def _weighed(log_users: Numbers, logs: Numbers) -> tuple[_Curves, Numbers, float]:
    """The likely curves, their probabilities, which were all equal before the rungs, and the noise
    of a rung. The height of a curve and the noise, which nobody knows, are integrated out.
    """
    import numpy as np

    bends = np.arange(log_users.min() - BENDS, log_users.max() + BENDS, BEND_STEP)
    axes = (bends, *map(np.array, (SHARPNESS, RISES, FALLS)), np.zeros(1))
    shapes = np.ix_(*axes)[:4]
    off = logs - _Curves(*shapes).log_throughput(log_users)
    off -= off.mean(axis=-1, keepdims=True)
    square = (off**2).sum(axis=-1) + AS_RUNGS * USUAL_NOISE**2
    weight = (square / square.min()) ** (-(len(logs) - 1 + AS_RUNGS) / 2)
    likely = weight > UNLIKELY
    curves = _Curves(*(one[likely] for one in np.broadcast_arrays(*shapes, weight[..., None])[:4]))
    shares = weight[likely] / weight[likely].sum()
    noise = float(shares @ square[likely] / (len(logs) - 1 + AS_RUNGS)) ** 0.5
    return curves, shares, noise


# Between how many users the knee is, the noise of the rungs counted in.


def users_interval(climb: Climb) -> Estimate | None:
    """The knee's users; the interval contains the climb's bracket and every rung that may be the
    knee by all rungs together (`fit_knee`).

    In simulations with 0.5 to 10% noise, on soft and on sharp bends, it contains the true knee 19
    times in 20. None without a knee; a fixed load is exact. Where the final runs stepped down, the
    limit on log writes decides, not throughput: the interval is the bracket.
    """
    by_plan = "fixed by the plan"
    fixed = climb.of("fixed_load")
    if fixed and not climb.stopped_by:  # interrupted before the campaign recorded it as the load
        users = fixed[0].users
        return Estimate(value=users, low=users, high=users, n=1, method=by_plan)
    if climb.knee_users is None or climb.bracket is None:
        return None
    (low, high), method = climb.bracket, by_plan if fixed else "adjacent rungs"
    fit = fit_knee(climb.rungs, climb.limits.elasticity)
    if fit and not climb.stepped_down:
        low, high = min(low, fit.low), max(high, fit.high)
        method = "curves through all rungs of the climb"
    return Estimate(value=climb.knee_users, low=low, high=high, n=1, method=method)
