"""Drift: what the first rung does when it is run again last, on a database that has grown and
bloated meanwhile.
"""

from __future__ import annotations

from typing import NamedTuple

from kneebench.analysis.wording import number_of_users, percent
from kneebench.records import Climb

FLOOR = 0.02
"""No difference below this is claimed of anything (methods: comparing)."""


class Drift(NamedTuple):
    """`share` is how much more the last run did than the first; `matters` where that is beyond the
    noise floor.
    """

    users: int
    nopm_first: float
    nopm_again: float
    share: float
    matters: bool
    sentence: str


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
    if first is None or again is None or first.tally.nopm <= 0:
        return None
    share = again.tally.nopm / first.tally.nopm - 1
    matters = abs(share) > max(floor, FLOOR)
    noise = percent(max(floor, FLOOR))
    changed = (
        f"{percent(abs(share))} {'faster' if share > 0 else 'slower'}"
        if percent(abs(share)) != "0%"
        else "as fast"
    )
    repeat = f"the first rung ({number_of_users(first.users)}), repeated last, was {changed}"
    sentence = (
        f"Drift: {repeat}, beyond this machine's {noise} noise"
        if matters
        else f"Drift check: {repeat}, within this machine's {noise} noise"
    )
    return Drift(first.users, first.tally.nopm, again.tally.nopm, share, matters, sentence)
