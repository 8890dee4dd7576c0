"""A cgroup that was made: undone by removing it, once its processes have ended."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Literal

from kneebench.lab.changes.change import Change
from kneebench.lab.programs import wait_until


class MadeGroup(Change):
    """A cgroup by its directory, which has a name of ours."""

    kind: Literal["group"] = "group"
    path: str

    @property
    def where(self) -> str:
        return self.path

    def undo(self) -> bool:
        """Remove it. Raises OSError while processes are in it."""
        there = Path(self.path).exists()
        if there and not wait_until(self._remove):
            Path(self.path).rmdir()
        return there

    def require_gone(self, forget: str) -> None:
        """The name is ours: there is no other."""

    def _remove(self) -> bool:
        with contextlib.suppress(OSError):
            Path(self.path).rmdir()
        return not Path(self.path).exists()


KIND = MadeGroup
