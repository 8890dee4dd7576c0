"""What a run would erase, shown, and confirmed by typing it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from kneebench.commands.output import ReadingProgress, print_line

if TYPE_CHECKING:
    from kneebench.campaign.machines.machine import DatabaseMachine
    from kneebench.plan import Plan
    from kneebench.records import WholeDrive


def confirm_erasing(
    machine: DatabaseMachine, plan: Plan, *, wanted: bool
) -> tuple[WholeDrive, ...]:
    """Print what is on the drives that this run will erase, if that is wanted; at a terminal the
    user types how many. Those drives, as they were shown.

    Raises Refused for any other answer, and where a terminal cannot show the question.
    """
    from kneebench.lab.volumes import to_be_erased

    drives = machine.named_drives(plan, ReadingProgress()) if wanted else ()
    return confirm_drives(to_be_erased(drives, plan.erase))


def confirm_drives(drives: tuple[WholeDrive, ...]) -> tuple[WholeDrive, ...]:
    """Drives that contain data, once the user has seen what and has agreed to erase it.

    Raises Refused as `confirm_erasing` does.
    """
    from kneebench.analysis.wording import plural
    from kneebench.errors import Refused

    if not drives:
        return ()
    print_line("These drives will be erased:", err=True)
    for drive in drives:
        print_line(f"  {_line(drive)}", err=True)
    words = f"erase {plural(len(drives), 'drive')}"
    if sys.stdin.isatty():
        seen = sys.stderr.isatty()
        question = f'Type "{words}" to go on'
        if not seen or typer.prompt(question, "", show_default=False, err=True) != words:
            do = "nothing was written; run again at a terminal to confirm it"
            raise Refused("cannot erase", seen="it was not confirmed", do=do)
    return drives


def _line(drive: WholeDrive) -> str:
    """Path, model, serial, size, and what is on it."""
    from kneebench import units
    from kneebench.lab.inventory.erasable import drive_state

    facts = (drive.path, drive.model, drive.serial, units.size(drive.size_bytes))
    return f"{', '.join(filter(None, facts))}: {drive_state(drive).why}"
