"""The findings that `check` prints on a plan."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import typer

from kneebench.commands.output import ReadingProgress, show_json, show_parts
from kneebench.commands.plan_selection import selected_plan
from kneebench.directories import CAMPAIGNS


def print_findings(plan: Path | None, *, as_json: bool) -> NoReturn:
    """All findings on a plan, and the exit code by the worst of them."""
    from kneebench.campaign.machines.opening import machine_of
    from kneebench.campaign.power_meters import power_findings
    from kneebench.errors import PlanError, Refused

    selected = selected_plan(plan, CAMPAIGNS)
    with machine_of(selected) as machine:
        found = machine.findings(selected, machine.engine(selected), (), ReadingProgress())
        if selected.measures_real_hardware:
            found = (*found, *machine.load_now(selected))
        found = (*found, *power_findings(selected, machine.instruments))
    if as_json:
        show_json([finding.model_dump() for finding in found])
    else:
        from kneebench.screen import tables

        show_parts(tables.findings(found), "", tables.readiness(found))
    levels = {finding.level for finding in found}
    raise typer.Exit(
        Refused.exit_code
        if "refused" in levels
        else PlanError.exit_code
        if "error" in levels
        else 0
    )
