"""Power per NOPM in an acceptance, and whether two campaigns' meters are alike."""

from __future__ import annotations

from kneebench.analysis.final_estimates import estimate_of
from kneebench.analysis.knee import quoted_rungs
from kneebench.analysis.power import mw_per_nopm
from kneebench.records import CampaignPower, Climb, Estimate


def power_per_nopm(climb: Climb) -> Estimate | None:
    """mW/NOPM over the quoted final runs; None where power was not measured."""
    rungs = [rung for rung in quoted_rungs(climb) if mw_per_nopm(rung) > 0]
    return estimate_of(rungs, mw_per_nopm).in_unit("mW/NOPM") if rungs else None


def meters_differ(of: CampaignPower | None, to: CampaignPower | None) -> str:
    """Why the power of two campaigns is not compared; empty where their meters are alike, or one
    has none.
    """
    if not of or not to or _measured(of) == _measured(to):
        return ""
    return f"the meters differ ({_called(to)} in the baseline, {_called(of)} now)"


def _measured(power: CampaignPower) -> set[tuple[str, str, tuple[str, ...]]]:
    return {(one.type, one.scope, one.covers) for one in power.parts(power.leading)}


def _called(power: CampaignPower) -> str:
    parts = power.parts(power.leading)
    return ", ".join(f"{one.name}: {one.type}, {one.caption}" for one in parts) or "none"
