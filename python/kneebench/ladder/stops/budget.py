"""The budget: the users or the time that the plan allows are used up."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from kneebench.analysis.elasticity import elasticity
from kneebench.analysis.wording import number_of_users
from kneebench.plan.ladder import Ladder
from kneebench.records import Rung, StopResult
from kneebench.units import time

STILL_TO_COME = 3
"""Rungs that the time must still allow before the climb takes another step: the step itself, one
that narrows down the knee, the first rung again."""


def judge(rungs: Sequence[Rung], limits: Ladder) -> StopResult:
    """Fires when the last rung had the plan's last number of users, or when three more rungs like
    it would exceed the time.
    """
    used_s = sum(r.tally.whole_s for r in rungs)
    needed_s = used_s + STILL_TO_COME * rungs[-1].tally.whole_s
    seen = f"{number_of_users(rungs[-1].users)}, {time(used_s)}"
    limit = f"{number_of_users(limits.last)}, {time(limits.budget)}"
    fired = True
    if rungs[-1].users >= limits.last:
        sentence = f"User limit reached: {number_of_users(rungs[-1].users)}"
    elif needed_s > limits.budget:
        sentence = (
            f"Time limit reached: {seen} of {time(limits.budget)} leave too little for another step"
        )
    else:
        fired, sentence = False, f"Within the budget: {seen} (limit {limit})"
    return StopResult(
        stop="budget",
        fired=fired,
        seen=seen,
        limit=limit,
        sentence=sentence,
        value=rungs[-1].users,
        limit_value=limits.last,
        unit="users",
    )


def beyond(rungs: Sequence[Rung], limits: Ladder) -> int:
    """The flat steps at the end, if any: the climb ended before it was sure of the plateau that
    they began.
    """
    flat = 0
    for a, b in reversed(list(pairwise(rungs))):
        if elasticity(a, b) >= limits.stops.plateau.elasticity:
            break
        flat += 1
    return flat
