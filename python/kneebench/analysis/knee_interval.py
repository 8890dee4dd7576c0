"""Between how many users the knee is, the noise of the rungs counted in."""

from __future__ import annotations

from kneebench.analysis.knee_fit import fit_knee
from kneebench.records import Climb, Estimate


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
