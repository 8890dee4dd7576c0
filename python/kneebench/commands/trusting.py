"""Whether a plan is run: it is a program, and others may have written it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kneebench.commands.output import print_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kneebench.plan import Plan
    from kneebench.records import Finding

OPTION = "--trust-plan"
TrustPlan = Annotated[
    bool,
    typer.Option(
        OPTION,
        help="As root: run this plan file, which another user owns or could change. You have read"
        " it.",
    ),
]


def require_trusted(plan: Plan, file: Path | None, *, sure: bool) -> None:
    """Once root has agreed to run a plan file that another user could change, which asks at a
    terminal. The plan is as it was read before: no later change of its file counts.

    Raises Refused without an agreement.
    """
    from kneebench.directories import changeable_by_others

    if file is None or sure or os.geteuid() != 0:
        return
    if why := changeable_by_others(file):
        print_line(f"{file} is a plan that others could have written: {why}", err=True)
        _require_agreed(plan, f"cannot run {file} as root", why, OPTION)


def require_agreed(plan: Plan, file: Path, *, sure: bool) -> None:
    """Once the user has agreed that the programs of the plan's meters are started, if it has any.

    Raises Refused without an agreement.
    """
    if not sure and any(getattr(one, "command", ()) for one in plan.power.meters):
        seen = "its meters are programs, which were not started"
        _require_agreed(plan, f"cannot read the meters of {file}", seen, "--yes")


def _require_agreed(plan: Plan, what: str, seen: str, option: str) -> None:
    """Print what the plan executes, and ask at a terminal; nowhere else can anybody agree."""
    from kneebench.errors import Refused

    for finding in program_findings(plan):
        print_line(f"{finding.subject}: {finding.seen}", err=True)
    asks = sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()
    question = "You have read the plan, and trust it?"
    if not (asks and typer.confirm(question, default=False, err=True)):
        raise Refused(what, seen=seen, do=f"read the plan, then run again with {option}")


def program_findings(plan: Plan) -> Iterator[Finding]:
    """A note on each program of the plan that `run` executes."""
    from kneebench.directories import user_name
    from kneebench.plan.borrowed import executed
    from kneebench.records import Finding

    for key, words in executed(plan, user_name(os.geteuid())):
        yield Finding(level="note", subject=key, seen=f"run executes, {words}")
