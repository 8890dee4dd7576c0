"""One figure of an acceptance, judged."""

from __future__ import annotations

from typing import Literal

from kneebench.analysis.equivalence import Judgement
from kneebench.records import Estimate, Record
from kneebench.units import NOTHING, count, significant, time

PER_NOPM, LIMIT = "power.per_nopm", "power.limit"
"""Figures of power, in mW/NOPM."""


class Judged(Record):
    """One figure of one storage. `ratio` is campaign over baseline with its 95% interval, `low_90`
    and `high_90` that of the equivalence test.

    `more_rounds`: about as many would decide a "cannot say"; `of_both`: the baseline needs them,
    too. None: no number of rounds that a plan may order, or no interval.
    """

    storage: str
    quantity: str
    called: str
    judgement: Judgement | Literal["not judged"]
    margin: float
    baseline: Estimate | None = None
    campaign: Estimate | None = None
    ratio: Estimate | None = None
    low_90: float | None = None
    high_90: float | None = None
    more_rounds: int | None = None
    of_both: bool = False
    sentence: str


def shown_power(value: float | None) -> str:
    """mW/NOPM for people.

    >>> shown_power(0.68912), shown_power(None)
    ('0.689 mW/NOPM', '–')
    """
    return NOTHING if value is None else f"{significant(value)} mW/NOPM"


def shown(one: Judged, side: Estimate | None) -> str:
    """A figure for people, in its unit."""
    value = side.value if side else None
    if one.quantity in (PER_NOPM, LIMIT):
        return shown_power(value)
    return count(value) if one.quantity == "nopm" else time(value)
