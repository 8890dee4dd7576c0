"""A file system that was mounted: undone by unmounting it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Literal

from kneebench.lab.changes.change import Change
from kneebench.lab.drives import Mount, devices_under, visible_mounts
from kneebench.lab.inventory.holders import is_held
from kneebench.lab.open_device import OpenDevice
from kneebench.lab.own_writes import note_own_writes, noted_devices
from kneebench.lab.processes import end, living_in
from kneebench.lab.programs import done, wait_until

COPIED_S = 30.0
"""Within this time, a server of another run that is starting drops its copy of the mount, also on a
busy machine. The file system lives, and may write, until the last copy is gone."""


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
        found = mounted_on(self.point)
        if not found:
            return False
        end(living_in(Path(self.point)))
        below = self._noted_devices()
        if not wait_until(self._unmounted):
            done("umount", self.point)
        drives = [one.source for one in found if one.source.startswith("/dev/")]
        if wait_until(lambda: not any(map(is_held, drives)), COPIED_S):
            for path in below:
                with contextlib.suppress(OSError), OpenDevice(path) as device:
                    note_own_writes(device)
        return True

    def _noted_devices(self) -> list[str]:
        """The devices below it whose writes are noted, if all that is on them is ours."""
        try:
            return noted_devices(devices_under(Path(self.point))) if self._is_all_ours() else []
        except OSError:  # a drive that has failed
            return []

    def _is_all_ours(self) -> bool:
        """Whether a killed run's volume has nothing that its owner can have put into it."""
        if self.owner == os.getpid():
            return True
        names = os.listdir(self.point)  # noqa: PTH208 only names
        return all(one == "lost+found" or one.startswith(".kneebench-") for one in names)

    def _unmounted(self) -> bool:
        """One attempt: the last user may be about to end."""
        with contextlib.suppress(OSError):
            done("umount", self.point)
        return not mounted_on(self.point)

    def require_gone(self, forget: str) -> None:
        """Nothing else is mounted there: the directory is ours."""


def mounted_on(point: str) -> list[Mount]:
    """What is mounted on exactly this directory, also if it no longer answers."""
    return [mount for mount in visible_mounts() if str(mount.point) == point]


KIND = MountedFileSystem
