"""Fixed load: the plan has one number of users, so the climb ends after one rung."""

from __future__ import annotations

from kneebench.analysis.wording import number_of_users
from kneebench.records import Rung, StopResult


def judge(rung: Rung) -> StopResult:
    """Fires always. How busy the database's cores were is in the final runs."""
    load = number_of_users(rung.users)
    sentence = f"Fixed load of {load}, not a knee"
    return StopResult(stop="fixed_load", fired=True, seen=load, limit=load, sentence=sentence)
