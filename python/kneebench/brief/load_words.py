"""What captions say of climbs, and otherwise of a load that the plan fixed."""

from __future__ import annotations

from kneebench.records import Campaign


def searched(campaign: Campaign) -> str:
    """What a rung before the final runs is called; a fixed load has one."""
    return "first rung" if campaign.resolved.fixed_load else "search rung"


def and_the_knees(campaign: Campaign, whose: str = "") -> str:
    """What else an interval of latencies covers: nothing where the plan fixed the load. `whose`:
    which of the intervals named before, where they are several.
    """
    return "" if campaign.resolved.fixed_load else f", {whose}with the uncertainty of the knee"
