"""Invalid: a rung did not measure the database, so the climb ends there.

Always in force: no limit of the plan turns it off.
"""

from __future__ import annotations

from kneebench.analysis.wording import number_of_users
from kneebench.records import Rung, StopResult


def judge(rung: Rung) -> StopResult:
    """The end of a climb at this invalid rung, for any reason but the load generator's."""
    return ended("invalid", "Invalid rung", rung)


def ended(stop: str, why: str, rung: Rung) -> StopResult:
    """The end of a climb at this invalid rung, in words."""
    after = (
        "The fixed load was not measured"
        if rung.order.phase == "fixed_load"
        else "The climb ended there"
    )
    return StopResult(
        stop=stop,
        fired=True,
        seen=rung.invalid,
        limit="a valid rung",
        sentence=f"{why} at {number_of_users(rung.users)}: {rung.invalid}. {after}",
    )
