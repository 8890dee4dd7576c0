"""What a plan says of the rungs of its first configuration, which is its only one in most tests."""

from __future__ import annotations

from kneebench.plan import Plan
from kneebench.plan.configurations import configurations
from kneebench.plan.resolve import campaign_plan
from kneebench.plan.rung_plan import RungPlan


def rungs_of(plan: Plan) -> RungPlan:
    """That of the first configuration."""
    return campaign_plan(plan).rungs(configurations(plan)[0])
