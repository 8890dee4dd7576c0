"""What a plan says of the rungs of its first configuration, which is its only one in most tests."""

from __future__ import annotations

from kneebench.plan import Plan
from kneebench.plan.database_plan import RungPlan
from kneebench.plan.study import Study


def rungs_of(plan: Plan) -> RungPlan:
    """That of the first configuration."""
    study = Study(plan)
    return study.rungs(study.configurations[0])
