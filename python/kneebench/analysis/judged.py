"""One figure of an acceptance, judged."""

from __future__ import annotations

from typing import Literal

from kneebench.analysis.equivalence import Judgement
from kneebench.analysis.wording import capital, percent
from kneebench.records import Estimate, InTimes, Phase, Record
from kneebench.units import NOTHING, count, significant, time

PER_NOPM, POWER_LIMIT = "power.per_nopm", "power.limit"
"""Figures of power, in mW/NOPM."""
NOPM_LIMIT, LATENCY_LIMIT = "limit.nopm", "limit.mean_latency"
P999_LIMIT, LOG_WRITE_LIMIT = "limit.p999_latency", "limit.log_write"
USERS = "users"
"""The users at the knee: shown beside the figures there, and never judged."""
COUNTS = ("nopm", NOPM_LIMIT, USERS, "queries.per_hour", "streams.per_hour")
"""Figures that are plain numbers."""
LIMITS = (NOPM_LIMIT, LATENCY_LIMIT, P999_LIMIT, LOG_WRITE_LIMIT, POWER_LIMIT)
"""Figures against a limit of the plan: they have neither a baseline nor a ratio."""

AT_KNEE: Phase = "final_run"
AT_RATE: Phase = "fixed_rate"


class Judged(Record):
    """One figure of one storage. `ratio` is campaign over baseline with its 95% interval, `low_90`
    and `high_90` that of the equivalence test. `at_users`: users of the baseline's knee, where the
    ratio is at these and not at the campaign's own knee. `phase`: of the runs behind it.

    `more_rounds`: about as many would decide a "cannot say"; `of_both`: the baseline needs them,
    too. None: no number of rounds that a plan may order, or no interval.
    """

    storage: str
    quantity: str
    called: str
    judgement: Judgement | Literal["not judged"]
    margin: float
    phase: Phase = AT_KNEE
    baseline: Estimate | None = None
    campaign: Estimate | None = None
    ratio: InTimes | None = None
    low_90: float | None = None
    high_90: float | None = None
    at_users: int | None = None
    more_rounds: int | None = None
    of_both: bool = False
    sentence: str


def without_judgement(one: Judged, why: str) -> Judged:
    """The figure of both campaigns, not judged for this reason."""
    return Judged(
        storage=one.storage,
        quantity=one.quantity,
        called=one.called,
        judgement="not judged",
        margin=one.margin,
        phase=one.phase,
        baseline=one.baseline,
        campaign=one.campaign,
        sentence=one.sentence and f"{capital(one.storage)}: {one.called} is not judged; {why}",
    )


def shown_power(value: float | None) -> str:
    """mW/NOPM for people.

    >>> shown_power(0.68912), shown_power(None)
    ('0.689 mW/NOPM', '–')
    """
    return NOTHING if value is None else f"{significant(value)} mW/NOPM"


def shown_as(quantity: str, value: float | None) -> str:
    """A value of a figure for people, in the figure's unit.

    >>> shown_as(LATENCY_LIMIT, 0.0052), shown_as(POWER_LIMIT, 0.9), shown_as("nopm", 8000)
    ('5.2 ms', '0.900 mW/NOPM', '8,000')
    """
    if quantity in (PER_NOPM, POWER_LIMIT):
        return shown_power(value)
    return count(value) if quantity in COUNTS else time(value)


def shown(one: Judged, side: Estimate | None) -> str:
    """A figure for people, in its unit; against a limit with its interval, which decides, and users
    with theirs.
    """
    value = shown_as(one.quantity, side.value if side else None)
    ends = (one.quantity in LIMITS and side and side.n > 1) or one.quantity == USERS
    if not ends or not side:
        return value
    return f"{value} ({' to '.join(shown_as(one.quantity, end) for end in (side.low, side.high))})"


def shown_margin(one: Judged) -> str:
    """The margin of a figure for people; none where a limit was judged."""
    return NOTHING if one.quantity in (*LIMITS, USERS) else percent(one.margin)
