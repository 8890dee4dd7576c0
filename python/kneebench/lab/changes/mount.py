"""A file system that was mounted: undone by unmounting it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Literal

from kneebench.lab.changes.change import Change
from kneebench.lab.drives import mounts
from kneebench.lab.processes import end, living_in
from kneebench.lab.programs import done, wait_until


class MountedFileSystem(Change):
    """What was mounted on a directory that only we have."""

    VERBS = ("unmount", "unmounted")
    kind: Literal["mount"] = "mount"
    point: str

    @property
    def where(self) -> str:
        """Its mount point."""
        return self.point

    def undo(self) -> bool:
        """End the servers that work in it, and unmount it. Raises OSError while it is in use."""
        if not is_mounted(self.point):
            return False
        end(living_in(Path(self.point)))
        if not wait_until(self._unmounted):
            done("umount", self.point)
        return True

    def _unmounted(self) -> bool:
        """One attempt: the last user may be about to end."""
        with contextlib.suppress(OSError):
            done("umount", self.point)
        return not is_mounted(self.point)

    def require_gone(self, forget: str) -> None:
        """Nothing else is mounted there: the directory is ours."""


def is_mounted(point: str) -> bool:
    """Whether a file system is mounted on exactly this directory, also one that no longer
    answers.
    """
    table = Path("/proc/self/mountinfo").read_bytes()
    return any(str(mount.point) == point for mount in mounts(os.fsdecode(table)))


KIND = MountedFileSystem
