"""Latency: a percentile of the users' latency exceeds its limit, of all transactions or one type.

The knee is then the most users whose transactions are fast enough: an answer to "how much can it do
within 20 ms?". A limit that the first rung already exceeds is a flag, and the climb goes on to its
plateau.
"""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.analysis.wording import number_of_users
from kneebench.ladder.stops import Exceedable
from kneebench.plan.stops import LatencyLimit
from kneebench.records import Rung, StopResult
from kneebench.units import time


def judge(rungs: Sequence[Rung], limits: LatencyLimit) -> StopResult:
    """Fires when the last rung exceeds the limit and the first did not; a flag where the first
    did.
    """
    limit_s, what = limits.limit or 0.0, limits.called
    limit = Exceedable("latency", limit_s, "s", time, time(limit_s))
    seen, first = (_percentile_s(rung, limits) for rung in (rungs[-1], rungs[0]))
    if seen is None:
        return limit.unmeasured(f"{what} was not measured; its limit was not checked")
    users = number_of_users(rungs[-1].users)
    sentence = f"{what} {time(seen)} at {users} (limit {limit.words})"
    return limit.judged(seen, first, sentence, alone=len(rungs) == 1)


def _percentile_s(rung: Rung, limits: LatencyLimit) -> float | None:
    tally = rung.tally
    one = tally.transactions.get(limits.transaction) if limits.transaction else tally
    found: float | None = getattr(one.latency, limits.field) if one and one.latency else None
    return found


def beyond(rungs: Sequence[Rung], limits: LatencyLimit) -> int:
    """The last rung broke the limit."""
    return 1
