"""A directory that was made: undone by removing it with all in it, if it carries our marker."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from kneebench.lab.changes.change import Change
from kneebench.lab.processes import end, living_in
from kneebench.lab.removal import Ground, is_away, is_ours, remove


class MadeDirectory(Change):
    """A directory, and the ground it lies on; None: unknown.

    `in_volume`: that is a volume of ours, which does not outlive its own entries.
    """

    kind: Literal["directory"] = "directory"
    path: str
    ground: Ground | None = None
    in_volume: bool = False

    @property
    def where(self) -> str:
        return self.path

    def undo(self) -> bool:
        """End the servers that work in it, and remove it. What cannot be removed from a volume of
        ours goes with that: its drive may have failed.
        """
        path = Path(self.path)
        try:
            if not is_ours(path):
                return False
            end(living_in(path))
            return remove(path)
        except OSError:
            if not self.in_volume:
                raise
            return True

    def require_gone(self, forget: str) -> None:
        """Raises OSError for a directory without our marker, or on a drive that is not mounted
        now.
        """
        if Path(self.path).exists():
            raise FileExistsError(
                f"{self.path} carries no kneebench marker: inspect it and remove it yourself, then"
                f" {forget}"
            )
        if self.in_volume:
            return
        if self.ground is None:
            Path(self.path).parent.stat()
        elif is_away(self.ground, self.boot):
            point, kind, source = self.ground
            seen = (
                f"{self.path} was created while {source} ({kind}) was mounted on {point}, which is"
                " not mounted now"
            )
            raise FileNotFoundError(
                f"{seen}: mount it and run `kneebench clean` again; if it no longer exists:"
                f" {forget}"
            )

    def is_out_of_reach(self) -> bool:
        if self.in_volume or self.ground is None:
            return False
        return is_away(self.ground, self.boot)


KIND = MadeDirectory
