"""Errors: transactions fail, or their answer is lost.

What is not answered cannot be counted as fast.
"""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.analysis.wording import number_of_users
from kneebench.plan.stops import Errors
from kneebench.records import Rung, StopResult
from kneebench.units import rounded


def judge(rungs: Sequence[Rung], limits: Errors) -> StopResult:
    """Fires when failed and unknown transactions are more than `share` of all started; successful
    retries do not count.

    A rung that started nothing has failed altogether.
    """
    whole = rungs[-1].tally.whole
    share = (whole.failed + whole.unknown) / whole.started if whole.started else 1.0
    limit = f"{100 * limits.share:g}% of all transactions"
    seen = f"{rounded(100 * share, 2)}%"
    lost = whole.failed + whole.unknown
    sentence = (
        f"{lost:,} of {whole.started:,} transactions failed at {number_of_users(rungs[-1].users)}"
        f" ({seen}; limit {limit})"
    )
    if rungs[-1].tally.errors:
        sentence += f". First error: {rungs[-1].tally.errors[0].first}"
    return StopResult(
        stop="errors",
        fired=share > limits.share,
        seen=seen,
        limit=limit,
        sentence=sentence,
        value=share,
        limit_value=limits.share,
        unit="share",
    )


def beyond(rungs: Sequence[Rung], limits: Errors) -> int:
    """The last rung broke the limit."""
    return 1
