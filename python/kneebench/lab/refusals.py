"""Refusals to write to a drive: it is in use, not blank, or its writes are not counted."""

from __future__ import annotations

from kneebench.errors import Refused
from kneebench.lab.inventory.erasable import DriveState, obstacle
from kneebench.records import WholeDrive


def require_blank(drive: WholeDrive, state: DriveState, allow: str = "") -> None:
    """Raises Refused for a drive that is in use, is not blank, or cannot be read. `allow`: how to
    allow that its data are lost, if not in a plan.
    """
    require_no_obstacle(drive)
    if state.state != "blank":
        allow = allow or f"name it under erase in the plan ({drive.key}) and run with --erase"
        instead = f", or {allow}" if state.needs_consent else " (kneebench drives)"
        raise Refused(
            f"cannot write to {drive.path}",
            seen=f"{state.state}: {state.why}",
            do=f"use another drive{instead}",
        )


def require_no_obstacle(drive: WholeDrive) -> None:
    """Raises Refused for a drive that may not be written to, whatever is on it."""
    if found := obstacle(drive):
        raise Refused(f"cannot write to {drive.path}", seen=found.seen, do=found.do)
