"""Saturation: the database's cores are saturated and throughput has stopped growing.

Both are needed. Busy cores alone are no knee: group commit and batching still find work for more
users. Where the load generator shares the cores, its own time counts as busy too: pin them apart,
or judge its result so. What other processes and a hypervisor use does not count: the kernel does
not tell whose a core's time was, so above a limit of it saturation is not judged.
"""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.analysis.cpu_utilization import QUANTITY
from kneebench.analysis.disturbance import OTHERS_BUSY, taken
from kneebench.analysis.elasticity import elasticity
from kneebench.analysis.wording import number_of_users
from kneebench.plan.stops import Saturation
from kneebench.records import Rung, StopResult

WORTH_SAYING = 0.05


def judge(rungs: Sequence[Rung], limits: Saturation) -> StopResult:
    """Fires when the least busy core of the last rung reaches `busy` and the last step's elasticity
    is below `elasticity`, unless other processes used more than `OTHERS_BUSY` of these cores."""
    limit = _rule(limits)
    busy, (others, who) = rungs[-1].quantity(QUANTITY), taken(rungs[-1:])
    if busy is None:
        return _result(
            False, "not measured", limits, f"Saturation was not judged: {seen(rungs[-1])}"
        )
    at = f"at {number_of_users(rungs[-1].users)}: {seen(rungs[-1])}"
    if busy >= limits.busy and others > OTHERS_BUSY:
        short = f"{100 * busy:.3g}% busy, {100 * others:.0f}% used by {who}"
        return _result(
            False,
            short,
            limits,
            f"Saturation could not be judged {at}. The database's share is unknown (rule: {limit})",
            busy,
        )
    growth = elasticity(rungs[-2], rungs[-1]) if len(rungs) > 1 else None
    fired = busy >= limits.busy and growth is not None and growth < limits.elasticity
    grew = f"elasticity {'unknown at the first rung' if growth is None else f'{growth:.2f}'}"
    return _result(
        fired,
        f"{100 * busy:.3g}% busy, {grew}",
        limits,
        f"{'Saturation' if fired else 'Not saturated'} {at}, {grew} (rule: {limit})",
        busy,
    )


def seen(rung: Rung) -> str:
    """How busy the database's cores were, in words; and what others had of them, where those used a
    part worth telling.
    """
    busy, (others, who) = rung.quantity(QUANTITY), taken([rung])
    if busy is None:
        return "the load of the database's cores was not measured"
    besides = (
        f" ({who} used {100 * others:.0f}% of the database's cores)"
        if others >= WORTH_SAYING
        else ""
    )
    return f"the least busy database core was {100 * busy:.3g}% busy{besides}"


def _rule(limits: Saturation) -> str:
    return (
        f"every database core at least {100 * limits.busy:g}% busy and elasticity below"
        f" {limits.elasticity:g}"
    )


def _result(
    fired: bool, seen: str, limits: Saturation, sentence: str, busy: float | None = None
) -> StopResult:
    return StopResult(
        stop="saturation",
        fired=fired,
        seen=seen,
        limit=_rule(limits),
        sentence=sentence,
        value=busy,
        limit_value=limits.busy,
        unit="share",
    )


def beyond(rungs: Sequence[Rung], limits: Saturation) -> int:
    """The last rung added users and no throughput."""
    return 1
