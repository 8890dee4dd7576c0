"""Power: the server takes more than its budget.

Judged is the mean power of the rung's window, of the meter or sum that mW/NOPM is of. A budget that
the first rung already exceeds is a flag: fewer users hardly take less.
"""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.analysis.wording import number_of_users
from kneebench.plan.stops import PowerBudget
from kneebench.records import SYSTEM_POWER, Rung, StopResult
from kneebench.units import power


def judge(rungs: Sequence[Rung], limits: PowerBudget) -> StopResult:
    """Fires when the last rung exceeds the budget and the first did not; a flag where the first
    did.
    """
    budget_w, limit = limits.limit or 0.0, power(limits.limit)
    seen, first = rungs[-1].quantity(SYSTEM_POWER), rungs[0].quantity(SYSTEM_POWER)
    if seen is None:
        sentence = "Power was not measured; its budget was not checked"
        return StopResult(
            stop="power", fired=False, seen="not measured", limit=limit, sentence=sentence
        )
    flagged = first is not None and first > budget_w
    sentence = f"{power(seen)} at {number_of_users(rungs[-1].users)} (budget {limit})"
    if flagged:
        before = f"The first rung already exceeded the budget ({power(first)})"
        sentence = f"{before}; this is flagged and does not end the climb. {sentence}"
    return StopResult(
        stop="power",
        fired=seen > budget_w and not flagged,
        seen=power(seen),
        limit=limit,
        sentence=sentence,
        severity="caveat" if flagged else "note",
        value=seen,
        limit_value=budget_w,
        unit="W",
    )


def beyond(rungs: Sequence[Rung], limits: PowerBudget) -> int:
    """The last rung broke the limit."""
    return 1
