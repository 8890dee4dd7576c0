"""Drift: what the first rung does when it is run again last, on a database that has grown and
bloated meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kneebench.analysis.wording import by_finding, number_of_users, percent
from kneebench.records import Climb, Configuration

FLOOR = 0.02
"""No difference below this is claimed of anything (methods: comparing)."""


class Drift(NamedTuple):
    """`share` is how much more the last run did than the first, in transactions per second, which
    scatter less than New-Orders alone; `matters` where that is beyond the noise floor, `noise`.
    `changed`: it in words.
    """

    users: int
    share: float
    matters: bool
    sentence: str
    noise: float = FLOOR
    changed: str = ""


def drift(climb: Climb, floor: float = FLOOR) -> Drift | None:
    """Compare the climb's first rung with its repetition; None where either is missing or did
    nothing.

    One run against one: `floor` should be what two runs of one thing differ by (estimate.scatter of
    the final runs), at least 2%.
    """
    again = next((r for r in reversed(climb.of("drift_check")) if not r.invalid), None)
    first = next(
        (r for r in climb.of("search") if again and r.users == again.users and not r.invalid), None
    )
    if first is None or again is None or first.tally.throughput_per_s <= 0:
        return None
    share = again.tally.throughput_per_s / first.tally.throughput_per_s - 1
    floor = max(floor, FLOOR)
    matters = abs(share) > floor
    noise = percent(floor)
    changed = (
        f"{percent(abs(share))} {'faster' if share > 0 else 'slower'}"
        if percent(abs(share)) != "0%"
        else "as fast"
    )
    repeat = f"the first rung ({number_of_users(first.users)}), repeated last, was {changed}"
    sentence = (
        f"Drift: {repeat}, beyond its noise of {noise}"
        if matters
        else f"Drift check: {repeat}, within its noise of {noise}"
    )
    return Drift(first.users, share, matters, sentence, floor, changed)


Drifts = Sequence[tuple[Configuration, Drift]]


def drift_caveat(found: Drifts, of: int = 0) -> str:
    """The drifts that matter, of `of` configurations, in one sentence; empty without any."""
    return _in_one([pair for pair in found if pair[1].matters], of, "Drift exceeds")


def drift_checks(found: Drifts, of: int = 0) -> str:
    """The same of the others, whose drift is within the noise."""
    return _in_one([pair for pair in found if not pair[1].matters], of, "Drift is within")


def _in_one(found: Drifts, of: int, how: str) -> str:
    if len(found) < 2:
        return "".join(f"{of_.name}: {one.sentence}." for of_, one in found)
    least, most = (percent(end(one.noise for _, one in found)) for end in (min, max))
    noise = f"the noise ({least})" if least == most else f"each one's noise ({least} to {most})"
    changed = by_finding([(of_, one.changed) for of_, one in found], of)
    return f"{how} {noise}: the first rung, repeated last, was {changed}."
