"""The plan that a command was given, or the default one of this directory: that of a campaign to go on with, else a new one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kneebench.plan import Plan


def asked_plan(file: Path | None, campaigns: Path | None = None) -> Plan:
    """Raises PlanError with everything that is wrong with it. An unfinished campaign of this directory's default plan, among
    `campaigns`, is gone on with as it was sized when it began: what is free has changed since."""
    from kneebench.findings import read_plan
    from kneebench.lab.host import host
    from kneebench.plan.default import default_plan

    if file:
        return read_plan(file)
    begun = _begun(campaigns) if campaigns else None
    return begun or default_plan(host(), Path())


def _begun(campaigns: Path) -> Plan | None:
    """The plan of the unfinished campaign that the default plan of this directory began, however many warehouses it has."""
    from kneebench.lab.host import host
    from kneebench.plan import Plan
    from kneebench.plan.default import sized_plan
    from kneebench.results import load
    from kneebench.results.store import find_unfinished

    asked = sized_plan(Path(), warehouses=1)
    found = find_unfinished(campaigns, asked, host(asked.paths), but=("workload.warehouses",))
    return Plan.model_validate(load(found).campaign.plan) if found else None
