"""A change to a drive of this machine, which is known again by its WWID."""

from __future__ import annotations

import os

from kneebench.errors import KneebenchError
from kneebench.lab.changes.change import Change
from kneebench.lab.inventory import identities
from kneebench.lab.inventory.signatures import mark_of
from kneebench.lab.processes import boot


class ChangedDrive(Change):
    """A drive by its WWID, or by the kernel's name in one boot; `device`: where it was."""

    device: str
    wwid: str

    @property
    def where(self) -> str:
        """Its device."""
        return self.device

    def require_gone(self, forget: str) -> None:
        """Raises OSError if the drive is not plugged in."""
        if self.is_out_of_reach():
            raise FileNotFoundError(
                f"drive {self.wwid} was {self.device} and is not here now: plug it in and run"
                f" `kneebench clean` again; if it no longer exists: {forget}"
            )

    def is_out_of_reach(self) -> bool:
        """Whether it is not plugged in, or cannot be told from others."""
        return not self.found()

    def found(self) -> str:
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


def digits(uuid: str) -> str:
    """A UUID to compare: md writes it with colons, file systems with hyphens."""
    return uuid.replace("-", "").replace(":", "").lower()
