"""What a command would erase, shown, and the consent to that."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from kneebench.commands.output import ReadingProgress, print_line

if TYPE_CHECKING:
    from kneebench.campaign.machines.machine import DatabaseMachine
    from kneebench.plan.study import Study
    from kneebench.records import WholeDrive

WITHOUT_ASKING = "--erase-without-asking"
WithoutAsking = Annotated[
    list[str] | None,
    typer.Option(
        WITHOUT_ASKING,
        metavar="WWID",
        help="Erase this drive of the plan's `erase`, and do not ask: for unattended jobs."
        " Repeat it for each such drive; there is no word for all.",
        show_default=False,
    ),
]
_LONGEST_ANSWER = 200


def confirm_erasing(
    machine: DatabaseMachine, study: Study, unasked: Collection[str], *, wanted: bool
) -> tuple[WholeDrive, ...]:
    """Print what is on the drives that this run will erase, if that is wanted, or they are among
    those `unasked`, by WWID; for others the words of consent are read from standard input. Those
    drives, as they were shown.

    Raises PlanError for a WWID that the plan does not list, or that not exactly one drive has;
    Refused as `confirm_drives` does.
    """
    from kneebench.errors import PlanError
    from kneebench.lab.volumes import to_be_erased

    if others := sorted({*unasked} - {*study.erase}):
        do = f"use WWIDs of that list: {', '.join(sorted(study.erase)) or 'it is empty'}"
        seen = "it is not in the plan's `erase`"
        raise PlanError(f"{WITHOUT_ASKING} {others[0]}", seen=seen, do=do)
    if unasked:
        machine.drives((), tuple(unasked))  # some enclosures give all their drives one WWID
    drives = machine.named_drives(study.drives, ReadingProgress()) if wanted or unasked else ()
    return confirm_drives(to_be_erased(drives, study.erase if wanted else unasked), unasked)


def confirm_drives(
    drives: Sequence[WholeDrive], unasked: Collection[str] = ()
) -> tuple[WholeDrive, ...]:
    """Drives that contain data, once what is on them was printed and their owner has agreed to
    erase it: by words on standard input, be that a terminal or not, or before, by WWID (`unasked`).

    Raises Refused for any other words, for none, and where a terminal cannot show the question.
    """
    from kneebench.analysis.wording import plural
    from kneebench.errors import Refused

    if not drives:
        return ()
    print_line("These drives will be erased:", err=True)
    for drive in drives:
        print_line(f"  {_line(drive)}", err=True)
    words = f"erase {plural(len(drives), 'drive')}"
    if not all(one.wwid in unasked for one in drives) and _answer(words) != words:
        options = " ".join(f"{WITHOUT_ASKING} {one.wwid}" for one in drives)
        raise Refused(
            "cannot erase",
            seen="it was not confirmed; nothing was written",
            do=f'run again and type "{words}"; for an unattended job: {options}',
        )
    return tuple(drives)


def _answer(words: str) -> str:
    """The next line of standard input; empty at its end, and where a terminal cannot show the
    question.
    """
    if sys.stdin is None or (sys.stdin.isatty() and not sys.stderr.isatty()):
        return ""
    typer.echo(f'Type "{words}" to go on: ', nl=False, err=True)
    with contextlib.suppress(OSError, ValueError):  # closed, or not UTF-8
        return sys.stdin.readline(_LONGEST_ANSWER).strip("\r\n")
    return ""


def _line(drive: WholeDrive) -> str:
    """Path, model, serial, size, and what is on it."""
    from kneebench import units
    from kneebench.lab.inventory.erasable import drive_state

    facts = (drive.path, drive.model, drive.serial, units.size(drive.size_bytes))
    return f"{', '.join(filter(None, facts))}: {drive_state(drive).why}"
