"""The trial of an external server: check --try."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from kneebench.commands.output import print_line, show_json, show_parts
from kneebench.commands.plan_selection import selected_study
from kneebench.commands.trusting import trusted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kneebench.plan.overrides import Override
    from kneebench.records import Event, Finding


def try_out(
    file: Path | None, overrides: Sequence[Override], *, as_json: bool, sure: bool
) -> NoReturn:
    """Try the server out, print what works and what does not, and leave with the exit code."""
    from kneebench.campaign.preflight import require_alone
    from kneebench.campaign.trial import try_databases
    from kneebench.lab.journal import Journal
    from kneebench.screen import tables

    selected = trusted(file, lambda: selected_study(file, overrides=overrides), sure=sure)
    journal = Journal()
    require_alone()
    journal.clean(_warn)
    found: list[Finding] = []
    for finding in try_databases(selected, journal, _warn):
        found.append(finding)
        if not as_json:
            print_line(f"{finding.subject}: {finding.level}", err=True)
    if as_json:
        show_json([finding.model_dump() for finding in found])
    else:
        show_parts(*tables.findings(found), "", tables.trial_outcome(found))
    raise typer.Exit(_exit_code(found))


def _warn(event: Event) -> None:
    if event.kind == "warning":
        print_line(event.doing, err=True)


def _exit_code(found: list[Finding]) -> int:
    """5: refused; 2: nothing could be tried; 4: something that was tried does not work."""
    from kneebench.errors import CheckFailed, PlanError, Refused

    levels = {finding.level for finding in found}
    if "refused" in levels:
        return Refused.exit_code
    if "error" not in levels:
        return 0
    began = any(finding.about == "trial_load" for finding in found)
    return CheckFailed.exit_code if began else PlanError.exit_code
