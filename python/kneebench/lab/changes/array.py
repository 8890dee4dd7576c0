"""An md array that was made: undone by stopping it. What is on its drives is another change."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from kneebench.lab.changes.change import Change
from kneebench.lab.changes.drive import stop_arrays


class MadeArray(Change):
    """An array by its UUID: after a restart it may be assembled under another name than `device`,
    the path of ours.
    """

    VERBS = ("stop", "stopped")
    kind: Literal["array"] = "array"
    device: str
    uuid: str

    @property
    def where(self) -> str:
        return self.device

    def undo(self) -> bool:
        """Stop it, whatever it is called now. Raises OSError while it is in use."""
        device = Path(self.device)
        found = stop_arrays(self.uuid)
        if device.is_symlink():  # udev removes it, but not every machine has udev
            device.unlink()
        return found

    def require_gone(self, forget: str) -> None:
        """The name and the UUID are ours: there is no other."""


KIND = MadeArray
