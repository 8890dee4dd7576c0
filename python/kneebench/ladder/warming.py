"""Whether a climb warmed the database as it went: then its first rungs measured a colder database than its last.

Rungs of a database that is still filling its cache may be flat where those of a warm one grow: its drive is busy with reads that soon nobody
needs. The plateau stop then ends the climb too early, and the final runs would quote a knee that is none.
"""

from __future__ import annotations

from kneebench.analysis.wording import number_of_users, percent, stop_reason
from kneebench.records import Climb, StopResult

LIMIT = 0.25
"""More throughput at the first rung, repeated last: well beyond what two short rungs differ by on a noisy machine."""


def warmed(climbed: Climb, budget_s: float) -> StopResult | None:
    """Why a climb is to be made once more; None where its first rung did much the same last, or was not repeated.

    Nor is it made again where both would take longer than the plan's budget, or a check failed: that must stay in the results.
    """
    first, last = climbed.of("search")[0], climbed.rungs[-1]
    if 2 * sum(rung.tally.whole_s for rung in climbed.rungs) > budget_s or not all(check.passed for rung in climbed.rungs for check in rung.checks):
        return None
    if last.order.phase != "drift_check" or last.invalid or not first.tally.throughput_per_s:
        return None
    more = last.tally.throughput_per_s / first.tally.throughput_per_s - 1
    if more <= LIMIT:
        return None
    seen, limit = f"{percent(more)} more", f"{percent(LIMIT)} more"
    sentence = (
        f"Climb repeated: rerunning the first rung ({number_of_users(first.users)}) gave {seen} throughput (limit {limit}), so the cache was still warming. "
        f"The {len(climbed.rungs)} rungs of the first climb (stop reason: {stop_reason(climbed.stopped_by)}) are in the campaign folder, not in the results"
    )
    return StopResult(stop="warming", fired=False, seen=seen, limit=limit, sentence=sentence, flag=True)
