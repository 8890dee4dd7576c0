"""Log latency: the database waits too long for its log.

A flush is write plus sync as the database issues it. Judged is the middle of three means, each over
10 s or a third of a window shorter than 30 s, so the limit is exceeded when two of three exceed it;
below 15 s it is the mean over the whole window. A limit that the first rung already exceeds says
something about the drive and nothing about the number of users: a flag, and the climb goes on to
its plateau.
"""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.analysis.wording import number_of_users
from kneebench.ladder.stops import Exceedable
from kneebench.plan.stops import LogLatency
from kneebench.records import Rung, StopResult
from kneebench.units import time

QUANTITY = "log.write_latency_10s"


def judge(rungs: Sequence[Rung], limits: LogLatency) -> StopResult:
    """Fires when the last rung exceeds the limit and the first did not; a flag where the first
    did.
    """
    words, judged = f"{time(limits.limit)}, {_mean_over(rungs[-1])}", _judged(rungs[-1])
    limit = Exceedable("log_latency", limits.limit, "s", time, words)
    seen, first = rungs[-1].quantity(QUANTITY), rungs[0].quantity(QUANTITY)
    if seen is None:
        return limit.unmeasured("Log write latency was not measured; its limit was not checked")
    users, at = number_of_users(rungs[-1].users), f", {number_of_users(rungs[0].users)}"
    sentence = f"Log write {time(seen)} ({judged}) at {users} (limit {words})"
    return limit.judged(seen, first, sentence, at, alone=len(rungs) == 1)


def _mean_over(rung: Rung) -> str:
    """What was judged in this rung, as measurement/derived_metrics.py took it."""
    if _whole(rung):
        return f"mean over the {rung.tally.window_s:.3g} s window"
    return f"mean over {_part_s(rung):.3g} s in two of three windows"


def _judged(rung: Rung) -> str:
    """Short label. The mean that the brief prints covers the whole window and may differ."""
    return "window mean" if _whole(rung) else f"{_part_s(rung):.3g} s median"


def _whole(rung: Rung) -> bool:
    summary = rung.quantities.get(QUANTITY)
    return summary is not None and len(summary.sources) == 1


def _part_s(rung: Rung) -> float:
    return min(10.0, rung.tally.window_s / 3)


def beyond(rungs: Sequence[Rung], limits: LogLatency) -> int:
    """The last rung broke the limit."""
    return 1
