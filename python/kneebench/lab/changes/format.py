"""A drive on which a file system or an array was made, or which fio wrote: undone by removing its
signatures.

What the database wrote stays on the drive. A mark at its beginning says that it may be overwritten,
so that the next run can use the drive again.
"""

from __future__ import annotations

from typing import Literal

from kneebench.lab.changes.drive import ChangedDrive


class FormattedDrive(ChangedDrive):
    """A drive that was blank when it was claimed; `volume` is the UUID of what was made on it."""

    VERBS = ("release", "released")
    kind: Literal["format"] = "format"
    volume: str

    @property
    def words(self) -> str:
        """The drive, and what it was written for."""
        return f"{self.device}, written for {self.what}"

    @property
    def made_on_it(self) -> tuple[str, ...]:
        """Its volume."""
        return (self.volume,)


KIND = FormattedDrive
