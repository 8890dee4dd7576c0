"""Drives of this machine that a plan names: looked at twice before they are written to, and erased
only where the plan and its user both say so.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Collection, Iterable, Iterator, Sequence

from kneebench.errors import Refused
from kneebench.lab.inventory import content_of, inventory, named
from kneebench.lab.inventory.erasable import DriveState, drive_state
from kneebench.lab.inventory.signatures import mark_of
from kneebench.lab.programs import wait_until
from kneebench.plan import Plan
from kneebench.records import WholeDrive

ENDS_BYTES = 16 * 2**20
"""Erased at both ends of a drive: partition tables, superblocks of file systems, arrays and
volumes. Signatures elsewhere are erased one by one."""
IN_A_PLAN = "name it under erase in the plan ({}) and run with --erase"
MOMENTARY, LOOKS_S = {"process", "kernel"}, 2.0
_REREAD_PARTITIONS = 0x125F
"""BLKRRPART of linux/fs.h."""


def named_drives(plan: Plan, here: Sequence[WholeDrive]) -> tuple[WholeDrive, ...]:
    """The drives, of those that are here, that the plan makes volumes of; each once.

    Raises PlanError for one that is not here.
    """
    return tuple(dict.fromkeys(named(here, name) for name in plan.drives))


def to_be_erased(drives: Iterable[WholeDrive], allowed: Collection[str]) -> tuple[WholeDrive, ...]:
    """Those that contain data, and that have one of the allowed WWIDs."""
    return tuple(
        one for one in drives if one.wwid and one.wwid in allowed and drive_state(one).contains_data
    )


def claimed(names: Sequence[str]) -> list[WholeDrive]:
    """Drives of these names that may be written to: nothing uses them, and they are blank.

    All are looked at again while they are held for us alone (O_EXCL), right before the first write.
    Raises Refused or PlanError.
    """
    drives = left_alone(names) if names else []
    for drive in drives:
        require_blank(drive, drive_state(drive))
    with contextlib.ExitStack() as stack:
        for drive in drives:
            stack.enter_context(held(drive))
        for drive in drives:
            _require_as_seen(drive)
    return drives


def left_alone(names: Sequence[str]) -> list[WholeDrive]:
    """The drives of these names. What is only opened is looked at again for a moment: udev, losetup
    and another kneebench's inventory open drives for an instant.
    """
    drives: list[WholeDrive] = []

    def settled() -> bool:
        here = inventory()
        drives[:] = (named(here, name) for name in names)
        uses = {holder.kind for drive in drives for holder in drive.holders}
        return not uses or not uses <= MOMENTARY

    wait_until(settled, LOOKS_S)
    return drives


def require_blank(drive: WholeDrive, state: DriveState, allow: str = IN_A_PLAN) -> None:
    """Raises Refused for a drive that is in use, contains data, or cannot be read. `allow`: how to
    allow that its data are lost.
    """
    if state.state != "blank":
        allow = allow.format(drive.key)
        instead = f", or {allow}" if state.contains_data else " (kneebench drives)"
        raise Refused(
            f"writing to {drive.path}",
            seen=f"{state.state}: {state.why}",
            do=f"use another drive{instead}",
        )


@contextlib.contextmanager
def held(drive: WholeDrive) -> Iterator[int]:
    """The drive, open for writing by nobody else who asks. Raises Refused while it is in use."""
    try:
        handle = os.open(drive.path, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
    except OSError as error:
        raise Refused(
            f"opening {drive.path}",
            seen=error.strerror or str(error),
            do="use a drive that nothing uses (kneebench drives)",
        ) from error
    try:
        yield handle
    finally:
        os.close(handle)


def erase_drives(drives: Sequence[WholeDrive]) -> None:
    """Erase what is on drives: both ends, and every signature. What lies between stays on them; a
    mark says that it may be overwritten.

    Raises Refused, before anything is written, if one of them is in use or is another drive by now.
    """
    with contextlib.ExitStack() as stack:
        handles = [stack.enter_context(held(drive)) for drive in drives]
        for drive in drives:
            _require_as_seen(drive)
        for drive, handle in zip(drives, handles, strict=True):
            _erase(drive, handle)


def _require_as_seen(drive: WholeDrive) -> None:
    """Raises Refused if it is another drive, or something else is on it, than when it was looked
    at.
    """
    try:
        seen = "" if content_of(drive) == drive.signatures else "its content has changed"
    except OSError as error:
        seen = str(error)
    if seen:
        do = "run kneebench drives, then start again"
        raise Refused(f"writing to {drive.path}", seen=f"{seen} since it was looked at", do=do)


def _erase(drive: WholeDrive, handle: int) -> None:
    size = os.lseek(handle, 0, os.SEEK_END)
    places = [(0, ENDS_BYTES), (max(0, size - ENDS_BYTES), ENDS_BYTES)]
    places += [(one.offset, 4096) for one in drive.signatures or () if one.device == drive.name]
    for offset, length in places:
        os.pwrite(handle, bytes(min(length, size - offset)), offset)
    os.pwrite(handle, mark_of(drive.key), 0)
    os.fsync(handle)
    with contextlib.suppress(OSError):  # loop devices without partitions know no such request
        fcntl.ioctl(handle, _REREAD_PARTITIONS)
