"""Absolute limits in an acceptance: figures that must be at least or at most so much, whatever the
baseline had.

A figure is worse than its limit only where its whole interval is, and within the limit only where
none of it is beyond. In between nothing can be said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kneebench.analysis.comparison import called
from kneebench.analysis.equivalence import Judgement
from kneebench.analysis.fixed_rate import fixed_rate_latency
from kneebench.analysis.judged import (
    AT_KNEE,
    AT_RATE,
    LATENCY_LIMIT,
    LOG_WRITE_LIMIT,
    NOPM_LIMIT,
    P999_LIMIT,
    POWER_LIMIT,
    Judged,
    shown_as,
)
from kneebench.analysis.knee import knee, metered, place, quoted_rungs
from kneebench.analysis.power import power_per_nopm
from kneebench.analysis.wording import capital
from kneebench.records import Climb, Estimate, Phase
from kneebench.units import count

# The figures of a storage that an acceptance judges; None where they were not measured.


def nopm(climb: Climb) -> Estimate | None:
    """At the knee, or at the fixed load."""
    found = knee(climb)
    return found.nopm if found else None


def mean_latency(climb: Climb) -> Estimate | None:
    """At the fixed rate."""
    found = fixed_rate_latency(climb)
    return found.mean_s if found else None


def p999_latency(climb: Climb) -> Estimate | None:
    """At the fixed rate."""
    found = fixed_rate_latency(climb)
    return found.p999_s if found else None


def log_at_rate(climb: Climb) -> Estimate | None:
    """The mean log write at the fixed rate."""
    rungs = [rung for rung in climb.of("fixed_rate") if not rung.invalid]
    return metered(rungs, "log.write_latency")


def log_at_knee(climb: Climb) -> Estimate | None:
    """The mean log write at the knee."""
    return metered(quoted_rungs(climb), "log.write_latency")


class AcceptedLimits(NamedTuple):
    """Limits of a plan, in NOPM, seconds and mW/NOPM; None: none. `power_doubt`: why nothing can be
    said of power.
    """

    nopm: float | None = None
    latency_s: float | None = None
    p999_s: float | None = None
    log_write_s: float | None = None
    mw_per_nopm: float | None = None
    power_doubt: str = ""


class _Limit(NamedTuple):
    """A limit of one figure. `doubt`: why nothing can be said of a figure that was measured."""

    quantity: str
    called: str
    limit: float | None
    of: Callable[[Climb], Estimate | None]
    phase: Phase = AT_KNEE
    at_least: bool = False
    doubt: str = ""


def against_limits(climb: Climb, limits: AcceptedLimits) -> Iterator[Judged]:
    """The figures of a storage that have a limit."""
    yield from (_judged(climb, one) for one in _limits(climb, limits) if one.limit)


def within_limit(found: Estimate, limit: float, *, at_least: bool = False) -> Judgement:
    """Whether a figure is at most so much, or `at_least`, by its interval.

    >>> interval = Estimate(value=0.7, low=0.65, high=0.75, n=6)
    >>> [within_limit(interval, most) for most in (0.8, 0.7, 0.6)]
    ['same or better', 'cannot say', 'worse']
    >>> [within_limit(interval, least, at_least=True) for least in (0.8, 0.7, 0.6)]
    ['worse', 'cannot say', 'same or better']
    """
    if (found.low >= limit) if at_least else (found.high <= limit):
        return "same or better"
    beyond = found.high < limit if at_least else found.low > limit
    return "worse" if beyond else "cannot say"


def _limits(climb: Climb, limits: AcceptedLimits) -> Iterator[_Limit]:
    there = fixed_rate_latency(climb)
    rate, knee = f"{count(there.rate_per_s)}/s" if there else "the fixed rate", place(climb)
    few = f"of {there.n:,} transactions fewer than 100 exceed it" if there else ""
    doubt = "" if there and there.p999_certain else few
    yield _Limit(NOPM_LIMIT, f"NOPM at {knee}", limits.nopm, nopm, at_least=True)
    mean, p999 = f"mean latency at {rate}", f"P99.9 latency at {rate}"
    yield _Limit(LATENCY_LIMIT, mean, limits.latency_s, mean_latency, AT_RATE)
    yield _Limit(P999_LIMIT, p999, limits.p999_s, p999_latency, AT_RATE, doubt=doubt)
    where, of, phase = (rate, log_at_rate, AT_RATE) if there else (knee, log_at_knee, AT_KNEE)
    yield _Limit(LOG_WRITE_LIMIT, f"mean log write at {where}", limits.log_write_s, of, phase)
    power, doubt = f"power per NOPM at {knee}", limits.power_doubt
    yield _Limit(POWER_LIMIT, power, limits.mw_per_nopm, power_per_nopm, doubt=doubt)


def _judged(climb: Climb, one: _Limit) -> Judged:
    found, limit = one.of(climb), one.limit or 0.0
    what = f"{one.called}, at {'least' if one.at_least else 'most'} {shown_as(one.quantity, limit)}"
    name = f"{capital(called(climb))}: {what}: "
    head = Judged(
        storage=called(climb),
        quantity=one.quantity,
        called=what,
        judgement="cannot say",
        margin=0.0,
        phase=one.phase,
        campaign=found,
        sentence=f"{name}cannot say, it was not measured",
    )
    if not found:
        return head
    value, low, high = (shown_as(one.quantity, end) for end in (found.value, found.low, found.high))
    figures = f"{value} (95% CI {low} to {high})"
    if one.doubt:
        sentence = f"{name}cannot say, {figures}; {one.doubt}"
        return head.model_copy(update={"sentence": sentence})
    answer = within_limit(found, limit, at_least=one.at_least)
    sentence = f"{name}{answer}, {figures}"
    return head.model_copy(update={"judgement": answer, "sentence": sentence})
