"""A setting of the kernel that was written: undone by writing the value from before."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from kneebench.lab.changes.change import Change
from kneebench.lab.processes import boot
from kneebench.lab.sysctl_files import MOUNT, is_hidden

SYSCTLS = "/proc/sys/"
ZEROED = "0"
"""The kernel writes it to the other one of a pair of sysctls."""


class WrittenSetting(Change):
    """A file below /proc/sys or /sys with its value before, and the one that was written.

    `beside`: files that the kernel writes along with it, with their values before: the other one of
    a pair, or what a new scheduler resets.
    """

    VERBS = ("restore", "restored")
    kind: Literal["setting"] = "setting"
    file: str
    before: str
    written: str
    beside: dict[str, str] = Field(default_factory=dict)

    @property
    def where(self) -> str:
        return self.file

    def undo(self) -> bool:
        """Put it back, unless its value is no longer ours; a restart has done so already.

        An undo that was interrupted has put back its own value alone, so those beside it count,
        too. Raises OSError where the kernel refuses that, or its file cannot be reached now.
        """
        now = self._now() if self.boot == boot() else {}
        if not now and self.boot == boot() and is_hidden(Path(self.file)):
            raise OSError(f"debugfs is not mounted: {MOUNT}")
        if not now or now == self._wanted or self._changed_by_another(now):
            return False
        self.put_back()
        return True

    def put_back(self) -> None:
        """Write the values from before. Raises OSError where they are not read back.

        Zeros first: the kernel refuses some that it writes itself when the other one is set.
        """
        wanted = self._wanted
        for file in sorted(wanted, key=lambda file: wanted[file] != "0"):
            with contextlib.suppress(OSError):
                Path(file).write_text(wanted[file])
        for file, value in wanted.items():
            if setting_in(Path(file)) != value:
                raise OSError(f"{file} cannot be set back to {value}")

    def remark(self) -> str:
        """A value that somebody else wrote meanwhile: it stays."""
        now = self._now() if self.boot == boot() else {}
        file = self._changed_by_another(now)
        if not file:
            return ""
        ours = {**dict.fromkeys(self.beside, ZEROED), self.file: self.written}
        return (
            f"{file} is left at {now[file]}: another program changed it (before the campaign:"
            f" {self._wanted[file]}, set by kneebench: {ours[file]})"
        )

    def require_gone(self, forget: str) -> None:
        """A value that is not ours is left as it is."""

    @property
    def _wanted(self) -> dict[str, str]:
        return {self.file: self.before, **self.beside}

    def _changed_by_another(self, now: Mapping[str, str]) -> str:
        """The file that has a value which is neither ours nor the one before; empty for none.

        Of a pair of sysctls the kernel zeroes one. A drive's new queue has any length.
        """
        ours = {self.file: (self.written, self.before)}
        for file, before in self.beside.items():
            if file.startswith(SYSCTLS):
                ours[file] = (ZEROED, before)
        return next((file for file in ours if now and now[file] not in ours[file]), "")

    def _now(self) -> dict[str, str]:
        """The values by file; empty for a drive that is no longer here."""
        try:
            return {file: setting_in(Path(file)) for file in self._wanted}
        except OSError:
            return {}


def setting_in(file: Path) -> str:
    """The value of a setting, of several the chosen one. Raises OSError where it cannot be read.

    A scheduler's file reads "mq-deadline [none] bfq", the numbers of others have tabs between them.
    """
    text = " ".join(file.read_text().split())
    return text.partition("[")[2].partition("]")[0] or text


KIND = WrittenSetting
