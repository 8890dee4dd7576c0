"""How a volume is made: claim the drives, lay them out, make the file system, mount it."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path

from kneebench.errors import PlanError
from kneebench.lab.changes.array import MadeArray
from kneebench.lab.changes.format import FormattedDrive
from kneebench.lab.changes.mount import MountedFileSystem
from kneebench.lab.journal import Journal
from kneebench.lab.kernel_settings import READ_AHEAD, SettingsOfDrives, btrfs_file, queue_file
from kneebench.lab.programs import done
from kneebench.lab.volumes.claiming import claimed
from kneebench.lab.volumes.emulated import emulated_drive
from kneebench.lab.volumes.layouts import (
    by_md,
    md_command,
    mkfs_command,
    mount_command,
    raid_level,
)
from kneebench.lab.volumes.preconditioner import Preconditioner
from kneebench.plan.storage import Storage
from kneebench.plan.volume import Volume
from kneebench.records import Watch

POINTS = Path("/run")
"""Mount points are made here: every account can enter it."""

CALLED = {
    "path": "drives",
    "log_path": "log drives",
    "temporary_path": "drives of temporary files",
}
"""The drives of a storage's volumes, in its settings, by the key of the path."""


class Volumes:
    """Makes the volumes of storages; `emulated_in` has the files of emulated drives.

    An emulated drive is made when it is first needed and kept until `close`, as a real one stays in
    its slot.
    """

    def __init__(self, journal: Journal, emulated_in: Path) -> None:
        self._journal, self._emulated_in = journal, emulated_in
        self._preconditioner = Preconditioner(journal)
        self._emulated: dict[tuple[str, str], list[str]] = {}
        self._kept = contextlib.ExitStack()

    def close(self) -> None:
        """Take the emulated drives apart."""
        self._emulated.clear()
        self._kept.close()

    @contextlib.contextmanager
    def mounted(self, name: str, storage: Storage, watch: Watch) -> Iterator[Storage]:
        """The storage of that name with the paths of its volumes, which are mounted until the end
        of the block. Raises PlanError for a volume that cannot be made, Refused for a drive that
        must not be written to.
        """
        with contextlib.ExitStack() as stack:
            paths = {
                key: self._made((name, key), volume, stack, watch)
                for key, volume in storage.volumes_by_path.items()
            }
            yield Storage(**paths)

    def _made(
        self, key: tuple[str, str], volume: Volume, stack: contextlib.ExitStack, watch: Watch
    ) -> Path:
        id = uuid.uuid4()
        settings = SettingsOfDrives(self._journal, stack, watch, CALLED[key[1]])
        try:
            devices = self._claimed(volume, str(id), stack) + self._emulated_drives(key, volume)
            settings.put(volume.drive_settings, devices)
            self._preconditioner.prepare(devices, volume, watch)
            if by_md(volume):
                array = self._array(volume, str(id), devices, stack)
                settings.put_read_ahead(volume.drive_settings, queue_file(array, READ_AHEAD))
                devices = [array]
            done(*mkfs_command(volume, str(id), devices))
            point = self._mounted(volume, f"kneebench-{id.hex[:8]}", devices, stack)
            if volume.file_system.type == "btrfs":
                settings.put_read_ahead(volume.drive_settings, btrfs_file(str(id), READ_AHEAD))
            return point
        except OSError as error:
            raise PlanError(
                f"making a volume of {volume.words}",
                seen=str(error),
                do="see kneebench check and kneebench drives; correct the storage's table",
            ) from error

    def _claimed(self, volume: Volume, id: str, stack: contextlib.ExitStack) -> list[str]:
        """Devices of the drives of this machine; all are claimed before any is recorded."""
        drives = claimed(volume.named_drives)
        for drive in drives:
            facts = {"device": drive.path, "wwid": drive.key, "volume": id}
            stack.callback(self._preconditioner.leave, drive.path)
            stack.enter_context(self._journal.made(FormattedDrive, "a volume", **facts))
        return [drive.path for drive in drives]

    def _emulated_drives(self, key: tuple[str, str], volume: Volume) -> list[str]:
        """Devices of the emulated drives of a volume, blank but for old data."""
        if volume.emulated_drives and key not in self._emulated:
            self._emulated_in.mkdir(parents=True, exist_ok=True)
            self._emulated[key] = [
                self._kept.enter_context(emulated_drive(self._journal, self._emulated_in, drive))
                for drive in volume.emulated_drives
            ]
        devices = self._emulated.get(key, [])
        for device in devices:
            done("wipefs", "--all", device)
        return devices

    def _array(
        self, volume: Volume, id: str, drives: list[str], stack: contextlib.ExitStack
    ) -> str:
        device = f"/dev/md/kneebench-{id[:8]}"
        stack.enter_context(self._journal.made(MadeArray, "an array", device=device))
        done(*md_command(device, raid_level(volume.layout, len(drives)), id, drives))
        done("wipefs", "--all", device)  # the file system of an earlier array began there, too
        return device

    def _mounted(
        self, volume: Volume, name: str, devices: list[str], stack: contextlib.ExitStack
    ) -> Path:
        place = stack.enter_context(self._journal.directory(POINTS / name, "a mount point"))
        place.chmod(0o711)
        point = place / "volume"
        point.mkdir(mode=0o755)
        stack.enter_context(self._journal.made(MountedFileSystem, "a volume", point=str(point)))
        done(*mount_command(volume, devices, point))
        return point
