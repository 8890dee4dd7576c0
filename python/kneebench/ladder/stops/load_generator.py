"""Load generator: it was the bottleneck of an invalid rung, so the climb ends there.

Always in force: no limit of the plan turns it off.
"""

from __future__ import annotations

from kneebench.analysis.bottleneck import LOAD_GENERATOR_BUSY
from kneebench.ladder.stops import invalid
from kneebench.records import Rung, StopResult


def judge(rung: Rung) -> StopResult | None:
    """The end of a climb at this invalid rung; None where the load generator was not too busy."""
    if (rung.quantity("load_generator.busy") or 0.0) <= LOAD_GENERATOR_BUSY:
        return None
    return invalid.ended("load_generator", "Load generator bottleneck", rung)
