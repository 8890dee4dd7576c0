"""What kneebench remembers of drives: how each was preconditioned, how much had been written to it
when kneebench left it, and how long it was burnt in.
"""

from __future__ import annotations

from pathlib import Path

from kneebench.lab.inventory.left import drive_file, keep, kept
from kneebench.lab.processes import boot
from kneebench.records import Record, WholeDrive


class RememberedDrive(Record):
    """One drive. `boot_written_bytes`: the kernel's count in that boot; `written_bytes`: the
    drive's own, in coarse units, None if it does not report one.
    """

    drive: str
    how: str
    boot: str
    boot_written_bytes: int | None
    written_bytes: int | None


class BurnIn(Record):
    """The longest burn-in of a drive. One without a WWID is known in that boot only."""

    drive: str
    seconds: float
    boot: str


def remember(drive: WholeDrive, how: str) -> None:
    """The drive is preconditioned, and kneebench is about to leave it."""
    keep(_file(drive), _memory(drive, how))


def is_preconditioned(drive: WholeDrive, how: str) -> bool:
    """Whether an earlier run preconditioned the drive in the same way, and nothing was written to
    it since, as far as is known. After a restart only the drive's own count shows that.
    """
    if (then := kept(_file(drive), RememberedDrive)) is None:
        return False
    now = _memory(drive, how)
    if then.boot != now.boot:
        without = {"boot": "", "boot_written_bytes": None}
        then, now = (one.model_copy(update=without) for one in (then, now))
    return then == now and (now.boot_written_bytes, now.written_bytes) != (None, None)


def remember_burn_in(drive: WholeDrive, seconds: float) -> None:
    """The drive was burnt in for so long. Later writes do not undo that."""
    longest_s = max(seconds, _burnt_in_s(drive))
    keep(_burn_in_file(drive), BurnIn(drive=drive.key, seconds=longest_s, boot=boot()))


def was_burnt_in(drive: WholeDrive, seconds: float) -> bool:
    """Whether an earlier run burnt the drive in for at least as long."""
    return _burnt_in_s(drive) >= seconds


def _burnt_in_s(drive: WholeDrive) -> float:
    found = kept(_burn_in_file(drive), BurnIn)
    return found.seconds if found and (drive.wwid or found.boot == boot()) else 0.0


def _memory(drive: WholeDrive, how: str) -> RememberedDrive:
    return RememberedDrive(
        drive=drive.key,
        how=how,
        boot=boot(),
        boot_written_bytes=drive.boot_written_bytes,
        written_bytes=drive.health.written_bytes,
    )


def _burn_in_file(drive: WholeDrive) -> Path:
    return drive_file(drive.key, "burn-in")


def _file(drive: WholeDrive) -> Path:
    return drive_file(drive.key, "preconditioned")
