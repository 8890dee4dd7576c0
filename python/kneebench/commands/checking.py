"""The findings that `check` prints on a plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from kneebench.commands.output import ReadingProgress, show_json, show_parts
from kneebench.commands.plan_selection import selected_study
from kneebench.commands.trusting import program_findings
from kneebench.directories import CAMPAIGNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kneebench.plan.overrides import Override
    from kneebench.plan.study import Study
    from kneebench.records import Finding


def print_findings(
    plan: Path | None, overrides: Sequence[Override] = (), *, as_json: bool
) -> NoReturn:
    """All findings on a plan, and the exit code by the worst of them."""
    from kneebench.errors import PlanError, Refused

    found = findings_on(selected_study(plan, CAMPAIGNS, overrides=overrides))
    if as_json:
        show_json([finding.model_dump() for finding in found])
    else:
        from kneebench.screen import tables

        show_parts(*tables.findings(found), "", tables.readiness(found))
    levels = {finding.level for finding in found}
    raise typer.Exit(
        Refused.exit_code
        if "refused" in levels
        else PlanError.exit_code
        if "error" in levels
        else 0
    )


def findings_on(study: Study) -> tuple[Finding, ...]:
    """All findings on a plan; the machine's present load is measured for one second."""
    from kneebench.campaign.machines.opening import machine_of, planned_load_hosts
    from kneebench.campaign.power_meters import power_findings
    from kneebench.plan.borrowed import is_own_python

    programs = tuple(program_findings(study))
    if (host := study.hosts.database).ssh and is_own_python(host.python):
        return (*programs, _not_looked_at("database host"))
    with machine_of(study) as machine:
        engine = machine.engine(study.databases)
        found = (*programs, *machine.findings(study, engine, (), ReadingProgress()))
        if study.measures_real_hardware:
            found = (*found, *machine.load_now(study.databases.values()))
        load = study.hosts.load if isinstance(study.hosts.load, tuple) else ()
        if any(one.ssh and is_own_python(one.python) for one in load):
            found = (*found, _not_looked_at("load hosts"))
        elif study.hosts.load:
            found = (*found, *planned_load_hosts(study))
        return (*found, *power_findings(study, machine.instruments))


def _not_looked_at(hosts: str) -> Finding:
    from kneebench.records import Finding

    seen = "not looked at: the plan names a program as Python, and check starts none of those"
    do = "use a Python that the system has, such as python3.12, or `kneebench hosts check`"
    return Finding(level="warning", subject=hosts, seen=seen, do=do)
