"""A setting of the kernel that was written: undone by writing the value from before."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Literal

from pydantic import Field

from kneebench.lab.changes.change import Change
from kneebench.lab.processes import boot


class WrittenSetting(Change):
    """A file below /proc/sys or /sys with its value before, and the one that was written.

    `beside`: files that the kernel writes along with it, with their values before: the other one of
    a pair, or what a new scheduler resets.
    """

    kind: Literal["setting"] = "setting"
    file: str
    before: str
    written: str
    beside: dict[str, str] = Field(default_factory=dict)

    @property
    def where(self) -> str:
        """Its file."""
        return self.file

    def undo(self) -> bool:
        """Put it back, unless its value is no longer ours; a restart has done so already.

        Raises OSError where the kernel refuses that.
        """
        if self.boot != boot() or self._now() != self.written or self.written == self.before:
            return False
        self.put_back()
        return True

    def put_back(self) -> None:
        """Write the values from before. Raises OSError where they are not read back.

        Zeros first: the kernel refuses some that it writes itself when the other one is set.
        """
        wanted = {self.file: self.before, **self.beside}
        for file in sorted(wanted, key=lambda file: wanted[file] != "0"):
            with contextlib.suppress(OSError):
                Path(file).write_text(wanted[file])
        for file, value in wanted.items():
            if setting_in(Path(file)) != value:
                raise OSError(f"{file} cannot be set back to {value}")

    def remark(self) -> str:
        """A value that somebody else wrote meanwhile: it stays."""
        now = self._now() if self.boot == boot() else ""
        if now in ("", self.written, self.before):
            return ""
        return (
            f"{self.file} is left at {now}: another program changed it (before the campaign:"
            f" {self.before}, set by kneebench: {self.written})"
        )

    def require_gone(self, forget: str) -> None:
        """A value that is not ours is left as it is."""

    def _now(self) -> str:
        """Empty for a drive that is no longer here."""
        try:
            return setting_in(Path(self.file))
        except OSError:
            return ""


def setting_in(file: Path) -> str:
    """The value of a setting, of several the chosen one. Raises OSError where it cannot be read.

    A scheduler's file reads "mq-deadline [none] bfq", the numbers of others have tabs between them.
    """
    text = " ".join(file.read_text().split())
    return text.partition("[")[2].partition("]")[0] or text


KIND = WrittenSetting
