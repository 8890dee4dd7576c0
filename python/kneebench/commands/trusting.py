"""Whether a plan is run: it is a program, and others may have written it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kneebench.commands.output import print_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kneebench.plan.study import Study
    from kneebench.records import Finding

OPTION = "--trust-plan"
TrustPlan = Annotated[
    bool,
    typer.Option(
        OPTION,
        help="Start the plan's programs without asking: you have read it. Root must agree to a"
        " plan file that another user owns or could change.",
    ),
]


def trusted(
    file: Path | None,
    read: Callable[[], Study],
    *,
    sure: bool,
    starts: tuple[str, ...] = (),
    anybody: bool = False,
) -> Study:
    """The study that `read` makes of a file, once root has agreed to run one that another user
    could change, or `anybody` any; which asks at a terminal. The file is looked at before it is
    read: afterwards its owner could put one of root's in its place.

    `starts`: how the keys of the programs begin that the command starts; it asks about no plan
    without such programs. None: it runs the whole plan.

    Raises Refused without an agreement.
    """
    from kneebench.directories import changeable_by_others

    why = changeable_by_others(file) if file and not sure and os.geteuid() == 0 else ""
    study = read()
    found = [one for one in program_findings(study) if one.subject.startswith(starts or "")]
    if file is None or sure or (starts and not found):
        return study
    if why:
        print_line(f"{file} is a plan that others could have written: {why}", err=True)
        _require_agreed(found, f"cannot run {file} as root", why)
    elif anybody:
        seen = "it names programs, which were not started"
        _require_agreed(found, f"cannot start the programs of {file}", seen)
    return study


def _require_agreed(programs: Sequence[Finding], what: str, seen: str) -> None:
    """Print what the command executes, and ask at a terminal; nowhere else can anybody agree."""
    from kneebench.errors import Refused

    for finding in programs:
        print_line(f"{finding.subject}: {finding.seen}", err=True)
    asks = sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()
    question = "You have read the plan, and trust it?"
    if not (asks and typer.confirm(question, default=False, err=True)):
        raise Refused(what, seen=seen, do=f"read the plan, then run again with {OPTION}")


def program_findings(study: Study) -> Iterator[Finding]:
    """A note on each program of the plan that `run` executes."""
    from kneebench.directories import user_name
    from kneebench.plan.borrowed import executed
    from kneebench.records import Finding

    for key, words in executed(study.written, user_name(os.geteuid())):
        yield Finding(level="note", subject=key, seen=f"run executes, {words}")
