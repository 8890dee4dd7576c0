"""A drive on which a file system or an array was made: undone by removing its signatures.

What the database wrote stays on the drive. A mark at its beginning says that it may be overwritten,
so that the next run can use the drive again.
"""

from __future__ import annotations

import os
from typing import Literal

from kneebench.errors import KneebenchError
from kneebench.lab.changes.change import Change
from kneebench.lab.inventory import identities
from kneebench.lab.inventory.signatures import mark_of, wipefs
from kneebench.lab.processes import boot
from kneebench.lab.programs import done


class FormattedDrive(Change):
    """A drive by its WWID, or by the kernel's name in one boot; it was blank when it was claimed.

    `volume` is the UUID of what was made on it, `device` where it was.
    """

    kind: Literal["format"] = "format"
    device: str
    wwid: str
    volume: str

    @property
    def where(self) -> str:
        """Its device."""
        return self.device

    def undo(self) -> bool:
        """Remove our signatures, and only ours; mark the drive unless something else is on it.

        In the same boot the mark is written also where no signature is found: the drive was blank,
        so what an interrupted mkfs or fio left is ours. Raises OSError while the drive is in use.
        """
        device = self._found()
        found = wipefs(device) if device else []
        ours = [one for one in found if _digits(one["uuid"] or "") == _digits(self.volume)]
        if device and len(ours) == len(found) and (ours or self.boot == boot()):
            write_mark(device, self.wwid)
        for signature in ours:
            if signature in wipefs(device):
                done("wipefs", "--offset", signature["offset"], device)
        return bool(ours)

    def require_gone(self, forget: str) -> None:
        """Raises OSError if the drive is not plugged in."""
        if self.is_out_of_reach():
            raise FileNotFoundError(
                f"drive {self.wwid} was {self.device} and is not here now: plug it in and run"
                f" `kneebench clean` again; if it no longer exists: {forget}"
            )

    def is_out_of_reach(self) -> bool:
        """Whether it is not plugged in, or cannot be told from others."""
        return not self._found()

    def _found(self) -> str:
        """Where the drive is now, whatever it was called before a restart; empty if nowhere.

        Raises OSError where the drives cannot be listed.
        """
        try:
            here = [one for one in identities() if one.key == self.wwid]
        except KneebenchError as error:
            raise OSError(str(error)) from error
        known = len(here) == 1 and (here[0].wwid or self.boot == boot())
        return here[0].path if known else ""


def write_mark(device: str, wwid: str) -> None:
    """Write the mark of a drive that may be used again; raises OSError while it is in use."""
    handle = os.open(device, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
    try:
        os.pwrite(handle, mark_of(wwid), 0)
        os.fsync(handle)
    finally:
        os.close(handle)


def _digits(uuid: str) -> str:
    """md writes a UUID with colons, file systems with hyphens."""
    return uuid.replace("-", "").replace(":", "").lower()


KIND = FormattedDrive
