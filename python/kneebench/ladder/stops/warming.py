"""Warming: the cache was still filling during a climb. It ends no climb: the climb is made again.

While a database is still filling its cache, throughput may be flat where it would grow once warm:
the drive is busy with reads that the cache will soon make unnecessary. The plateau stop then ends
the climb too early, and the final runs would quote a knee that is none.
"""

from __future__ import annotations

from kneebench.analysis.wording import number_of_users, percent, stop_reason
from kneebench.records import Climb, StopResult

WARMED = 0.25
"""More throughput at the first rung, repeated last, than two short rungs differ by on a noisy
machine: the cache was still warming."""


def judge(climbed: Climb, budget_s: float) -> StopResult | None:
    """Reason to repeat the climb, as a flag; None if the first rung, rerun at the end, gave similar
    throughput or was not rerun.

    Nor is the climb made again where both would take longer than the plan's budget, or a check
    failed: that must stay in the results.
    """
    first, last = climbed.of("search")[0], climbed.rungs[-1]
    if 2 * sum(rung.tally.whole_s for rung in climbed.rungs) > budget_s or not all(
        check.passed for rung in climbed.rungs for check in rung.checks
    ):
        return None
    if last.order.phase != "drift_check" or last.invalid or not first.tally.throughput_per_s:
        return None
    more = last.tally.throughput_per_s / first.tally.throughput_per_s - 1
    if more <= WARMED:
        return None
    seen, limit = f"{percent(more)} more", f"{percent(WARMED)} more"
    sentence = (
        f"Climb repeated: rerunning the first rung ({number_of_users(first.users)}) gave {seen}"
        f" throughput (limit {limit}), so the cache was still warming. The {len(climbed.rungs)}"
        f" rungs of the first climb (stop reason: {stop_reason(climbed.stopped_by)}) are in the"
        " campaign folder, not in the results"
    )
    return StopResult(
        stop="warming", fired=False, seen=seen, limit=limit, sentence=sentence, flag=True
    )
