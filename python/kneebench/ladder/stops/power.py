"""Power: the server takes more than its budget.

Judged is the mean power of the rung's window, of the meter or sum that mW/NOPM is of. A budget that
the first rung already exceeds is a flag: fewer users hardly take less.
"""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.analysis.wording import number_of_users
from kneebench.ladder.stops import Exceedable
from kneebench.plan.stops import PowerBudget
from kneebench.records import SYSTEM_POWER, Rung, StopResult
from kneebench.units import power


def judge(rungs: Sequence[Rung], limits: PowerBudget) -> StopResult:
    """Fires when the last rung exceeds the budget and the first did not; a flag where the first
    did.
    """
    budget_w = limits.limit or 0.0
    limit = Exceedable("power", budget_w, "W", power, power(limits.limit), "budget")
    seen, first = rungs[-1].quantity(SYSTEM_POWER), rungs[0].quantity(SYSTEM_POWER)
    if seen is None:
        return limit.unmeasured("Power was not measured; its budget was not checked")
    users = number_of_users(rungs[-1].users)
    sentence = f"{power(seen)} at {users} (budget {limit.words})"
    return limit.judged(seen, first, sentence, alone=len(rungs) == 1)


def beyond(rungs: Sequence[Rung], limits: PowerBudget) -> int:
    """The last rung broke the limit."""
    return 1
