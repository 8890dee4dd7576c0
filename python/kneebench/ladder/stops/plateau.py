"""The plateau: throughput no longer grows with users.

It fires when the elasticity stays below the limit on consecutive steps: one flat step is often
noise. It ends the search only when no growth beyond is likely, and where the knee is, all rungs
together say (narrowing.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from kneebench.analysis.elasticity import elasticity
from kneebench.analysis.wording import number_of_users
from kneebench.plan.stops import Plateau
from kneebench.records import Rung, StopResult


def judge(rungs: Sequence[Rung], limits: Plateau) -> StopResult:
    """Fires when the last `steps` elasticities are all below `elasticity`; the knee is the last
    rung before them. Fires, too, when more than `steps` consecutive rungs did not exceed an earlier
    one, which is the knee then: a rung that noise made low hides a plateau from the steps beside
    it.
    """
    if len(rungs) <= limits.steps:
        return _result(
            False,
            "too few rungs",
            limits,
            f"No plateau yet: {len(rungs)} rungs are too few to judge {limits.steps} steps",
        )
    best = _best(rungs)
    if len(rungs) - 1 - best > limits.steps:
        return _not_exceeded(rungs, best, limits)
    last = rungs[-1 - limits.steps :]
    found = [elasticity(a, b) for a, b in pairwise(last)]
    fired = max(found) < limits.elasticity
    seen = ", ".join(_shown(one, limits.elasticity) for one in found)
    gain = (
        100 * (last[-1].tally.throughput_per_s / last[0].tally.throughput_per_s - 1)
        if last[0].tally.throughput_per_s
        else 0.0
    )
    where = "Plateau" if fired else f"No plateau up to {number_of_users(last[-1].users)}"
    sentence = (
        f"{where}: {gain:+.1f}% throughput from {last[0].users} to"
        f" {number_of_users(last[-1].users)}"
        f" (elasticity {seen}; rule: {limits.flat})"
    )
    users = last[0].users if fired else None
    return _result(fired, f"elasticity {seen}", limits, sentence, max(found), users)


def _shown(one: float, limit: float) -> str:
    """With as many digits as show on which side of the limit it is.

    >>> _shown(0.0412, 0.07), _shown(0.0675, 0.07)
    ('0.04', '0.068')
    """
    return f"{one:.3f}" if one < limit <= round(one, 2) else f"{one:.2f}"


def beyond(rungs: Sequence[Rung], limits: Plateau) -> int:
    """As many rungs as there were flat steps, or since the one that none exceeded."""
    return max(limits.steps, len(rungs) - 1 - _best(rungs))


def _best(rungs: Sequence[Rung]) -> int:
    """The first rung of the highest throughput."""
    return max(range(len(rungs)), key=lambda at: rungs[at].tally.throughput_per_s)


def _not_exceeded(rungs: Sequence[Rung], best: int, limits: Plateau) -> StopResult:
    """What is said where no rung after the best one did as much."""
    top, after = rungs[best], rungs[best + 1 :]
    most = max(rung.tally.throughput_per_s for rung in after)
    gain = 100 * (most / top.tally.throughput_per_s - 1) if most else 0.0
    last = number_of_users(max(rung.users for rung in after))
    sentence = (
        f"Plateau: after {number_of_users(top.users)} none of the next {len(after)} rungs, up to"
        f" {last}, had more throughput (the best {gain:+.1f}%; rule: {limits.not_exceeded})"
    )
    return StopResult(
        stop="plateau",
        fired=True,
        seen=f"{len(after)} rungs",
        limit=limits.not_exceeded,
        sentence=sentence,
        users=top.users,
    )


def _result(
    fired: bool,
    seen: str,
    limits: Plateau,
    sentence: str,
    value: float | None = None,
    users: int | None = None,
) -> StopResult:
    return StopResult(
        stop="plateau",
        fired=fired,
        seen=seen,
        limit=f"elasticity {limits.flat}",
        sentence=sentence,
        value=value,
        limit_value=limits.elasticity,
        unit="elasticity",
        users=users,
    )
