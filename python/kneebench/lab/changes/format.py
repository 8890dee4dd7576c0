"""A drive on which a file system or an array was made: undone by removing its signatures.

What the database wrote stays on the drive. A mark at its beginning says that it may be overwritten,
so that the next run can use the drive again.
"""

from __future__ import annotations

from typing import Literal

from kneebench.lab.changes.drive import ChangedDrive, digits, locked, stop_arrays, write_mark
from kneebench.lab.inventory.signatures import wipefs
from kneebench.lab.processes import boot
from kneebench.lab.programs import done


class FormattedDrive(ChangedDrive):
    """A drive that was blank when it was claimed; `volume` is the UUID of what was made on it."""

    VERBS = ("release", "released")
    kind: Literal["format"] = "format"
    volume: str

    @property
    def words(self) -> str:
        """The drive, and what it was written for."""
        return f"{self.device}, written for {self.what}"

    def undo(self) -> bool:
        """Remove our signatures, and only ours; mark the drive unless something else is on it.

        In the same boot the mark is written also where no signature is found: the drive was blank,
        so what an interrupted mkfs or fio left is ours. Raises OSError while the drive is in use.
        """
        device = self.found()
        if not device:
            return False
        stop_arrays(self.volume)
        with locked(device):
            return self._erased(device)

    def _erased(self, device: str) -> bool:
        found = wipefs(device)
        ours = [one for one in found if digits(one["uuid"] or "") == digits(self.volume)]
        if len(ours) == len(found) and (ours or self.boot == boot()):
            write_mark(device, self.wwid)
        for signature in ours:
            if signature in wipefs(device):
                done("wipefs", "--offset", signature["offset"], device)
        return bool(ours)


KIND = FormattedDrive
