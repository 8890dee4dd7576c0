"""Rungs after the search: below its first rung until throughput falls, around the knee until its
throughput is certain, and turns of the knee with numbers of users that may be better. The knee is
that of all rungs together (analysis/knee_fit.py), unless another candidate does better in turn.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import pairwise
from math import log
from statistics import fmean

from kneebench.analysis.confirmation import confirmed
from kneebench.analysis.knee_fit import LOWER, KneeFit, fit_knee
from kneebench.ladder import steps
from kneebench.ladder.steps import TURNS, ClimbStep
from kneebench.plan.ladder import Ladder
from kneebench.records import Phase, Rung

KneeUsers = tuple[int, tuple[int, int]]
"""Those of the knee, and between which it is."""

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
RIVALS = 2
"""Candidates beside the fitted knee."""
TURNS_OF_ALL = 3
"""After so many the worst of three candidates is dropped."""


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


def narrowed(rungs: Sequence[Rung], ladder: Ladder) -> KneeUsers | None:
    """(the knee's users, the users between which it is); None if too few rungs did anything."""
    fit = _fit(rungs, ladder)
    return (fit.users, (fit.low, fit.high)) if fit else None


def confirming(
    rungs: Sequence[Rung], knee: KneeUsers, ladder: Ladder
) -> Generator[ClimbStep, Rung, tuple[list[Rung], KneeUsers]]:
    """Steps to turns of the fitted knee and its rivals, and the rungs sent for them with the knee
    that they confirm, which is within its interval.
    """
    users, (low, high) = knee
    candidates = [users, *rivals(rungs, users)]
    found = (yield from _turns(rungs, candidates, ladder)) if candidates[1:] else []
    if not (sure := confirmed(found)):
        return found, knee
    return found, (sure.users, (min(low, sure.users), max(high, sure.users)))


def _turns(
    rungs: Sequence[Rung], candidates: list[int], ladder: Ladder
) -> Generator[ClimbStep, Rung, list[Rung]]:
    """There and back. An invalid rung ends them, and so does the budget."""
    found, climb = list[Rung](), rungs[0].order.repeat
    for turn in range(1, TURNS + 1):
        for users in candidates[:: 1 if turn % 2 else -1]:
            if _too_long([*rungs, *found], ladder) or (found and found[-1].invalid):
                return found
            found.append((yield ClimbStep("confirmation", users, climb * TURNS + turn)))
        if turn == TURNS_OF_ALL and len(candidates) > RIVALS:
            means = _means(found)
            candidates.remove(min(candidates, key=lambda users: means.get(users, 0.0)))
    return found


def rivals(rungs: Sequence[Rung], knee: int) -> list[int]:
    """Numbers of users of search rungs that gave so much more than the knee's that one of the two
    is not what a knee promises; the most promising ones first.

    One rung is one short window, so its throughput counts half, and half the mean of its rungs
    with its two neighbours.
    """
    searched = _means([rung for rung in rungs if rung.order.phase == "search"])
    means = _means(rungs)
    order = sorted(means)
    near = {
        users: fmean(means[one] for one in order[max(0, at - 1) : at + 2])
        for at, users in enumerate(order)
    }
    score = {users: (one + near[users]) / 2 for users, one in searched.items()}
    least = searched[knee] / (1 - LOWER)
    better = [n for n in score if n != knee and max(score[n], searched[n]) > least]
    return sorted(better, key=lambda users: -score[users])[:RIVALS]


def _means(rungs: Sequence[Rung]) -> dict[int, float]:
    """Mean throughput by number of users."""
    found: dict[int, list[float]] = {}
    for rung in rungs:
        if not rung.invalid:
            found.setdefault(rung.users, []).append(rung.tally.throughput_per_s)
    return {users: fmean(values) for users, values in found.items()}


def _following(rungs: Sequence[Rung], ladder: Ladder) -> tuple[Phase, int] | None:
    """The next rung: a step down, or halfway between two search rungs near the knee; None when the
    knee is certain, or rungs or time are used up.
    """
    fit = _fit(rungs, ladder)
    if fit is None or _too_long(rungs, ladder):
        return None
    fewest = min(rung.users for rung in rungs)
    if fewest > 1 and fit.lowest > RISEN:
        return "search", steps.preceding(fewest, ladder.step)
    halfway = [rung for rung in rungs if rung.order.phase == "bisection"]
    users = _halfway(rungs, fit.users)
    if fit.wrong <= WRONG or len(halfway) >= MOST_RUNGS or users is None:
        return None
    return "bisection", users


def _too_long(rungs: Sequence[Rung], ladder: Ladder) -> bool:
    """Whether the budget leaves no time for one more rung and the drift check."""
    used_s, longest_s = (f(rung.tally.whole_s for rung in rungs) for f in (sum, max))
    return used_s + 2 * longest_s > ladder.budget


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
