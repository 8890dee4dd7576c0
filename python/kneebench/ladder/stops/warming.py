"""Warming: throughput changed during a climb. It ends no climb: the climb is made again.

While a database is still filling its cache, throughput may be flat where it would grow once warm:
the drive is busy with reads that the cache will soon make unnecessary. The plateau stop then ends
the climb too early, and the final runs would quote a knee that is none. Other work on the machine
does the same, in either direction.
"""

from __future__ import annotations

from math import exp, log, sqrt

from kneebench.analysis.knee_fit import fit_knee
from kneebench.analysis.wording import number_of_users, percent, stop_reason
from kneebench.ladder.steps import Climbed
from kneebench.plan.ladder import Ladder
from kneebench.records import StopResult

LEAST, MOST = 0.15, 0.25
"""Share by which two runs of the first rung may differ, whatever the noise: a database grows, and
two short rungs on a noisy machine differ by 25% at most."""
FACTOR = 3.0
"""Standard errors of a difference of two rungs, by the climb's own noise."""


def judge(climbed: Climbed, ladder: Ladder) -> StopResult | None:
    """A flag that the first rung, rerun at the end, differed by more than the climb's own noise;
    None if it did not, was not rerun or did nothing. Its knee is then not to be trusted.
    """
    first, last = climbed.rungs[0], climbed.rungs[-1]
    before, after = first.tally.throughput_per_s, last.tally.throughput_per_s
    if last.order.phase != "drift_check" or last.invalid or not (before and after):
        return None
    fit = fit_knee(climbed.rungs, ladder.stops.plateau.elasticity)
    noise = exp(FACTOR * sqrt(2) * fit.noise) - 1 if fit else MOST
    most = min(MOST, max(LEAST, noise))
    if abs(log(after / before)) <= log(1 + most):
        return None
    change = after / before - 1
    seen = f"{percent(abs(change))} {'more' if change > 0 else 'less'}"
    limit = f"{percent(most)} more, or {percent(most / (1 + most))} less"
    sentence = (
        f"The knee is not to be trusted: rerunning the first rung ({number_of_users(first.users)})"
        f" gave {seen} throughput (limit {limit})"
    )
    return StopResult(
        stop="warming",
        fired=False,
        seen=seen,
        limit=limit,
        sentence=sentence,
        severity="caveat",
        value=change,
        limit_value=most,
        unit="share",
    )


def may_repeat(climbed: Climbed, ladder: Ladder) -> bool:
    """Whether the plan lets the climb be made again: within its budget for both, and if no check
    failed, as that must stay in the results.
    """
    checked = all(check.passed for rung in climbed.rungs for check in rung.checks)
    both_s = 2 * sum(rung.tally.whole_s for rung in climbed.rungs)
    return ladder.climb_again and checked and both_s <= ladder.budget


def repeated(climbed: Climbed, why: StopResult) -> StopResult:
    """The flag of the climb that was made in place of this one."""
    because = (
        "the cache was still warming" if (why.value or 0.0) > 0 else "something slowed it down"
    )
    (users,) = {rung.users for rung in climbed.rungs[-1:]}
    sentence = (
        f"Climb repeated: rerunning the first rung ({number_of_users(users)}) gave {why.seen}"
        f" throughput (limit {why.limit}), so {because}. The {len(climbed.rungs)}"
        f" rungs of the first climb (stop reason: {stop_reason(climbed.stopped_by)}) are in the"
        " campaign folder, not in the results"
    )
    return why.model_copy(update={"sentence": sentence})
