"""A drive on which a file system or an array was made: undone by removing its signatures.

What the database wrote stays on the drive. A mark at its beginning says that it may be overwritten,
so that the next run can use the drive again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Literal

from kneebench.lab.changes.change import Change
from kneebench.lab.inventory import identities
from kneebench.lab.inventory.signatures import mark_of
from kneebench.lab.programs import done


class FormattedDrive(Change):
    """A drive by its WWID; `volume` is the UUID of what was made on it, `device` where it was.

    `overwritten`: all of it was written before, so whatever has no signature is ours.
    """

    kind: Literal["format"] = "format"
    device: str
    wwid: str
    volume: str
    overwritten: bool = False

    @property
    def where(self) -> str:
        """Its device."""
        return self.device

    def undo(self) -> bool:
        """Remove our signatures, and only ours; then mark the drive.

        Raises OSError while the drive is in use.
        """
        device = self._found()
        ours = [one for one in _signatures(device) if self._is_ours(one)] if device else []
        for signature in ours:
            done("wipefs", "--offset", signature["offset"], device)
        if (ours or (device and self.overwritten)) and not _signatures(device):
            write_mark(device, self.wwid)
        return bool(ours)

    def require_gone(self, forget: str) -> None:
        """Raises OSError if the drive is not plugged in."""
        if not self._found():
            raise FileNotFoundError(
                f"drive {self.wwid} was {self.device} and is not here now: plug it in and run"
                f" `kneebench clean` again; if it no longer exists: {forget}"
            )

    def _is_ours(self, signature: Mapping[str, Any]) -> bool:
        return _digits(signature["uuid"] or "") == _digits(self.volume)

    def _found(self) -> str:
        """Where the drive is now, whatever it was called before a restart; empty if nowhere."""
        return next((one.path for one in identities() if one.key == self.wwid), "")


def write_mark(device: str, wwid: str) -> None:
    """Write the mark of a drive that may be used again; raises OSError while it is in use."""
    handle = os.open(device, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
    try:
        os.pwrite(handle, mark_of(wwid), 0)
        os.fsync(handle)
    finally:
        os.close(handle)


def _signatures(device: str) -> list[dict[str, Any]]:
    """wipefs prints nothing for a drive without any."""
    printed = done("wipefs", "--no-act", "--json", device)
    return json.loads(printed)["signatures"] if printed.strip() else []


def _digits(uuid: str) -> str:
    """md writes a UUID with colons, file systems with hyphens."""
    return uuid.replace("-", "").replace(":", "").lower()


KIND = FormattedDrive
