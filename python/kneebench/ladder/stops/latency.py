"""Latency: a percentile of the users' latency exceeds its limit, of all transactions or one type.

The knee is then the most users whose transactions are fast enough: an answer to "how much can it do
within 20 ms?". A limit that the first rung already exceeds is a flag, and the climb goes on to its
plateau.
"""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.analysis.wording import number_of_users
from kneebench.plan.stops import LatencyLimit
from kneebench.records import Rung, StopResult
from kneebench.units import time


def judge(rungs: Sequence[Rung], limits: LatencyLimit) -> StopResult:
    """Fires when the last rung exceeds the limit and the first did not; a flag where the first
    did.
    """
    limit_s, limit, what = limits.limit or 0.0, time(limits.limit or 0.0), limits.called
    seen, first = (_percentile_s(rung, limits) for rung in (rungs[-1], rungs[0]))
    if seen is None:
        sentence = f"{what} was not measured; its limit was not checked"
        return StopResult(
            stop="latency", fired=False, seen="not measured", limit=limit, sentence=sentence
        )
    flagged = first is not None and first > limit_s
    sentence = f"{what} {time(seen)} at {number_of_users(rungs[-1].users)} (limit {limit})"
    if flagged and first is not None:
        before = f"The first rung already exceeded the limit ({time(first)})"
        sentence = f"{before}; this is flagged and does not end the climb. {sentence}"
    return StopResult(
        stop="latency",
        fired=seen > limit_s and not flagged,
        seen=time(seen),
        limit=limit,
        sentence=sentence,
        severity="caveat" if flagged else "note",
        value=seen,
        limit_value=limit_s,
        unit="s",
    )


def _percentile_s(rung: Rung, limits: LatencyLimit) -> float | None:
    tally = rung.tally
    one = tally.transactions.get(limits.transaction) if limits.transaction else tally
    found: float | None = getattr(one.latency, limits.field) if one and one.latency else None
    return found


def beyond(rungs: Sequence[Rung], limits: LatencyLimit) -> int:
    """The last rung broke the limit."""
    return 1
