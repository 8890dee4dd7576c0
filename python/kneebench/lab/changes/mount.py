"""A file system that was mounted: undone by unmounting it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from kneebench.lab.changes.change import Change
from kneebench.lab.changes.drive import digits
from kneebench.lab.drives import Mount, devices_under, visible_mounts
from kneebench.lab.inventory.holders import is_held
from kneebench.lab.open_device import OpenDevice
from kneebench.lab.own_writes import note_volume_writes, noted_devices
from kneebench.lab.processes import boot, end, living_in
from kneebench.lab.programs import run_program, wait_until

COPIED_S = 30.0
"""Within this time, a server of another run that is starting drops its copy of the mount, also on a
busy machine. The file system lives, and may write, until the last copy is gone."""


class MountedFileSystem(Change):
    """What was mounted on a directory that only we have."""

    VERBS = ("unmount", "unmounted")
    kind: Literal["mount"] = "mount"
    point: str
    volume: str = ""
    """The file system's UUID."""

    @property
    def where(self) -> str:
        return self.point

    def undo(self) -> bool:
        """End the servers that work in it, and unmount it. A restart has done so already: what is
        mounted there since is not ours. Raises OSError while it is in use, or where somebody else's
        file system is mounted in its place.
        """
        found = mounted_on(self.point) if self.boot == boot() else []
        if not found:
            return False
        drives = [one.source for one in found if self.volume or one.source.startswith("/dev/")]
        ids = [digits(volume_of(one)) for one in drives]
        self._require_ours(drives, ids)
        end(living_in(Path(self.point)))
        known = self.owner == os.getpid() and set(ids) == {digits(self.volume)}
        under = self._devices() if known else frozenset()
        if not wait_until(self._unmount):
            run_program("umount", self.point)
        if wait_until(lambda: not any(map(is_held, drives)), COPIED_S):
            for path in noted_devices(under):
                with contextlib.suppress(OSError), OpenDevice(path) as device:
                    note_volume_writes(device, under)
        return True

    def _require_ours(self, drives: Sequence[str], ids: Sequence[str]) -> None:
        """Raises OSError where a file system is mounted that has another UUID; one that has failed
        has none.
        """
        for drive, found in zip(drives, ids, strict=True):
            if self.volume and (
                found not in ("", digits(self.volume)) or not drive.startswith("/dev/")
            ):
                raise OSError(
                    f"{drive}, which is mounted on {self.point}, has a file system that is not"
                    " kneebench's: unmount it, then run `kneebench clean`"
                )

    def _devices(self) -> frozenset[str]:
        """The devices below it, by name; none of a drive that has failed."""
        try:
            return devices_under(Path(self.point))
        except OSError:
            return frozenset()

    def _unmount(self) -> bool:
        """One attempt: the last user may be about to end."""
        with contextlib.suppress(OSError):
            run_program("umount", self.point)
        return not mounted_on(self.point)

    def require_gone(self, forget: str) -> None:
        """Nothing else is mounted there: the directory is ours."""


def volume_of(device: str) -> str:
    """The UUID of the file system on a device; empty for none, or where it cannot be read."""
    try:
        return run_program(
            "blkid", "--probe", "--output", "value", "--match-tag", "UUID", device
        ).strip()
    except OSError:
        return ""


def mounted_on(point: str) -> list[Mount]:
    """What is mounted on exactly this directory, also if it no longer answers."""
    return [mount for mount in visible_mounts() if str(mount.point) == point]


KIND = MountedFileSystem
