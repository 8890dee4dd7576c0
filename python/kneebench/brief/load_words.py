"""What captions say of climbs, and otherwise of a load that the plan fixed."""

from __future__ import annotations

from kneebench.records import Campaign


def searched(campaign: Campaign) -> str:
    """What a rung before the final runs is called; a fixed load has one."""
    return "first rung" if campaign.resolved.fixed_load else "search rung"
