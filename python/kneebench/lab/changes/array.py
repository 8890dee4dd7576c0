"""An md array that was made: undone by stopping it. What is on its drives is another change."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from kneebench.lab.changes.change import Change
from kneebench.lab.programs import done


class MadeArray(Change):
    """An array by the path of its device, which has a name of ours."""

    kind: Literal["array"] = "array"
    device: str

    @property
    def where(self) -> str:
        """Its device."""
        return self.device

    def undo(self) -> bool:
        """Stop it. Raises OSError while it is in use."""
        if not Path(self.device).exists():
            return False
        done("mdadm", "--stop", self.device)
        return True

    def require_gone(self, forget: str) -> None:
        """The name is ours: there is no other."""


KIND = MadeArray
