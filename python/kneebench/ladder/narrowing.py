"""Rungs after the search: below its first rung until throughput falls, and around the knee until
its throughput is certain. The knee is that of all rungs together (analysis/knee_fit.py).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import pairwise
from math import log

from kneebench.analysis.knee_fit import KneeFit, fit_knee
from kneebench.ladder import steps
from kneebench.ladder.steps import ClimbStep
from kneebench.plan.ladder import Ladder
from kneebench.records import Phase, Rung

STOPS = ("plateau", "saturation", "budget")
"""Stop conditions that leave the knee to throughput alone."""
LEAST_RUNGS = 4
"""Of the search: fewer show no noise, and two flat steps may be chance."""
GROWS = 0.1
"""As likely may throughput still grow beyond the last rung when it ends the search."""
RISEN = 0.6
"""The fewest users must have less than that share of the best throughput, or the climb goes
down."""
WRONG = 0.02
"""As likely may the throughput at the knee be wrong (knee_fit.KneeFit)."""
MOST_RUNGS = 4
"""Around the knee; a quiet machine needs none or one."""


def growth_ended(search_rungs: Sequence[Rung], ladder: Ladder) -> bool:
    """Whether four search rungs or more, noise counted in, leave no growth beyond the last; also if
    too few did anything to know.
    """
    fit = _fit(search_rungs, ladder)
    return fit is None or (len(search_rungs) >= LEAST_RUNGS and fit.grows < GROWS)


def narrowing(
    search_rungs: Sequence[Rung], ladder: Ladder
) -> Generator[ClimbStep, Rung, list[Rung]]:
    """Steps to more rungs, and the rungs sent for them; an invalid one ends them."""
    found: list[Rung] = []
    repeat = search_rungs[0].order.repeat
    while following := _following([*search_rungs, *found], ladder):
        phase, users = following
        found.append((yield ClimbStep(phase, users, repeat)))
        if found[-1].invalid:
            break
    return found


def narrowed(rungs: Sequence[Rung], ladder: Ladder) -> tuple[int, tuple[int, int]] | None:
    """(the knee's users, the users between which it is); None if too few rungs did anything."""
    fit = _fit(rungs, ladder)
    return (fit.users, (fit.low, fit.high)) if fit else None


def _following(rungs: Sequence[Rung], ladder: Ladder) -> tuple[Phase, int] | None:
    """The next rung: a step down, or halfway between two search rungs near the knee; None when the
    knee is certain, or rungs or time are used up.
    """
    fit = _fit(rungs, ladder)
    used_s, longest_s = (f(rung.tally.whole_s for rung in rungs) for f in (sum, max))
    if fit is None or used_s + 2 * longest_s > ladder.budget:
        return None
    fewest = min(rung.users for rung in rungs)
    if fewest > 1 and fit.lowest > RISEN:
        return "search", steps.preceding(fewest, ladder.step)
    halfway = [rung for rung in rungs if rung.order.phase == "bisection"]
    users = _halfway(rungs, fit.users)
    if fit.wrong <= WRONG or len(halfway) >= MOST_RUNGS or users is None:
        return None
    return "bisection", users


def _halfway(rungs: Sequence[Rung], knee: int) -> int | None:
    """The number of users halfway between two search rungs, not measured yet, that is nearest to
    the knee.
    """
    measured = {rung.users for rung in rungs}
    search = sorted(rung.users for rung in rungs if rung.order.phase == "search")
    halfway = {steps.between(low, high) for low, high in pairwise(search)} - measured
    free = [users for users in halfway if users]
    return min(free, key=lambda users: (abs(log(users / knee)), users), default=None)


def _fit(rungs: Sequence[Rung], ladder: Ladder) -> KneeFit | None:
    return fit_knee(rungs, ladder.stops.plateau.elasticity)
