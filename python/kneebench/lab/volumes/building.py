"""How a volume is made: claim the drives, lay them out, make the file system, mount it."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kneebench.directories import make_directory
from kneebench.errors import FileSystemLost, PlanError
from kneebench.lab.changes.array import MadeArray
from kneebench.lab.changes.format import FormattedDrive
from kneebench.lab.changes.mount import MountedFileSystem
from kneebench.lab.device_writes import run_on
from kneebench.lab.drives import block_folder
from kneebench.lab.journal import Journal
from kneebench.lab.kernel_settings import READ_AHEAD, SettingsOfDrives, btrfs_file, queue_file
from kneebench.lab.own_devices import POINT, is_array_of
from kneebench.lab.permission import WritableDevice, claim, made
from kneebench.lab.programs import run_program, wait_until
from kneebench.lab.removal import ours
from kneebench.lab.volumes.emulated import emulated_parts
from kneebench.lab.volumes.layouts import (
    by_drive,
    by_md,
    md_command,
    mkfs_command,
    mount_command,
    raid_level,
    recorded_table,
    write_table,
)
from kneebench.lab.volumes.power_cut import Moment, Moments, WriteRecording
from kneebench.lab.volumes.preconditioner import Preconditioner
from kneebench.lab.volumes.recording import record_change
from kneebench.plan.storage import ROLES, Storage
from kneebench.plan.volume import EmulatedDevice, Volume
from kneebench.records import Watch

ENDING_S = 1.0
"""A program that was killed refuses I/O a moment before it has ended."""


class MountedVolume(NamedTuple):
    """A volume on its devices, and the entry in the journal that unmounts it."""

    volume: Volume
    devices: list[WritableDevice]
    point: Path
    change: MountedFileSystem

    def mount(self) -> None:
        """Mount it there. Raises OSError."""
        run_on(
            self.devices,
            *mount_command(self.volume, [one.path for one in self.devices], self.point),
        )


class Volumes:
    """Makes the volumes of storages; `emulated_in` has the files of emulated drives. `recorded`:
    their writes are recorded, for power cuts, and they are not preconditioned.

    An emulated drive is made when it is first needed and kept until `close`, as a real one stays in
    its slot.
    """

    def __init__(self, journal: Journal, emulated_in: Path, *, recorded: bool = False) -> None:
        self._journal, self._emulated_in, self._recorded = journal, emulated_in, recorded
        self._recordings: dict[str, list[WriteRecording]] = {}
        """By the storage's name."""
        self._mounts: list[MountedVolume] = []
        self._preconditioner = Preconditioner(journal)
        self._emulated: dict[tuple[str, str], list[WritableDevice]] = {}
        self._kept = contextlib.ExitStack()

    def close(self) -> None:
        """Take the emulated drives apart."""
        for devices in self._emulated.values():
            self._preconditioner.forget(device.path for device in devices)
        self._emulated.clear()
        self._recordings.clear()
        self._kept.close()

    def note_moments(self, name: str) -> Moments:
        """Note how far the recordings of a storage's drives are, from now on."""
        return Moments(self._recordings.get(name, []))

    def cut_power(self, moments: Moments, moment: Moment) -> None:
        """Have the drives lose what a power cut at that moment loses, and mount the volumes again.
        No server runs on them. Raises FileSystemLost where one does not mount.
        """
        for mounted in reversed(self._mounts):
            mounted.change.undo()
        moments.lose(moment)
        for mounted in self._mounts:
            for device in mounted.devices:
                run_program("blockdev", "--flushbufs", device.path)
            try:
                mounted.mount()
            except OSError as error:
                for device in mounted.devices:
                    device.require_daemons(error)
                what = f"cannot mount {mounted.volume.words} after a power cut"
                raise FileSystemLost(what, seen=str(error)) from error

    @contextlib.contextmanager
    def mounted(self, name: str, storage: Storage, watch: Watch) -> Iterator[Storage]:
        """The storage of that name as directories: those of its volumes, which are mounted until
        the end of the block, and its own. Raises PlanError for a volume that cannot be made,
        Refused for a drive that must not be written to.
        """
        with contextlib.ExitStack() as stack:
            stack.callback(self._mounts.clear)
            volumes, paths, settled = storage.volumes_by_path, {}, set[str]()
            ids = {key: uuid.uuid4() for key in volumes}
            settings = {
                key: SettingsOfDrives(self._journal, stack, watch, ROLES[key].drives, settled)
                for key in volumes
            }

            def prepare(key: str, drives: list[WritableDevice]) -> None:
                """Settings first: drives are preconditioned under those they are measured with."""
                with _as_plan_error("cannot prepare the drives", volumes[key]):
                    settings[key].put(volumes[key].drive_settings, drives)
                    if not self._recorded:
                        self._preconditioner.prepare(drives, volumes[key], watch)

            with _as_plan_error("cannot make partitions", storage):
                partitions = self._partitions(storage, ids, stack, prepare, watch)
            for key, volume in volumes.items():
                with _as_plan_error("cannot make a volume", volume):
                    devices = partitions.get(key)
                    if not devices:
                        devices = self._whole(name, key, storage, ids, stack, watch)
                        prepare(key, devices)
                    paths[key] = self._made(ids[key], volume, devices, settings[key], stack)
            own = {key: path for key in ROLES if (path := getattr(storage, key))}
            with self._naming_lost_daemons(name):
                yield Storage(**own, **paths)

    @contextlib.contextmanager
    def _naming_lost_daemons(self, name: str) -> Iterator[None]:
        """What fails in the block because a program of an emulated drive has ended says so."""
        try:
            yield
        except Exception as error:
            devices = [
                one for key, some in self._emulated.items() if key[0] == name for one in some
            ]
            if devices and wait_until(lambda: any(one.lost_daemon() for one in devices), ENDING_S):
                for device in devices:
                    device.require_daemons(error)
            raise

    def _made(
        self,
        id: uuid.UUID,
        volume: Volume,
        devices: list[WritableDevice],
        settings: SettingsOfDrives,
        stack: contextlib.ExitStack,
    ) -> Path:
        if by_md(volume):
            array = self._array(volume, str(id), devices, stack)
            settings.put_read_ahead(volume.drive_settings, queue_file(array.path, READ_AHEAD))
            devices = [array]
        command = mkfs_command(volume, str(id), [one.path for one in devices])
        run_on(devices, *command)
        point = self._mount(volume, str(id), devices, stack)
        if volume.file_system.type == "btrfs":
            settings.put_read_ahead(volume.drive_settings, btrfs_file(str(id), READ_AHEAD))
        return point

    def _partitions(
        self,
        storage: Storage,
        ids: Mapping[str, uuid.UUID],
        stack: contextlib.ExitStack,
        prepare: Callable[[str, list[WritableDevice]], None],
        watch: Watch,
    ) -> dict[str, list[WritableDevice]]:
        """The partitions of volumes that share drives, by the key of the path; all drives are
        claimed before any is recorded. Each drive is prepared once, with its first volume.
        """
        drives, found = by_drive(storage), dict[str, list[WritableDevice]]()
        devices = self._claim([drive.path for drive in drives], stack, watch)
        tables = []
        for device, sizes in zip(devices, drives.values(), strict=True):
            volumes = [str(ids[key]) for key in sizes]
            made_table = recorded_table(self._journal, device, volumes)
            tables.append(stack.enter_context(made_table))
        every = list(zip(devices, tables, drives.values(), strict=True))
        for key in storage.volumes_by_path:
            if first := [device for device, _, sizes in every if next(iter(sizes)) == key]:
                prepare(key, first)
        for device, table, sizes in every:
            partitions = write_table(table, device, [*sizes.values()], stack)
            for key, partition in zip(sizes, partitions, strict=True):
                found.setdefault(key, []).append(partition)
        return found

    def _claim(
        self, names: Sequence[str], stack: contextlib.ExitStack, watch: Watch
    ) -> list[WritableDevice]:
        """Drives of these names, open until the stack ends; what was preconditioned is remembered
        when they are left.
        """
        devices = claim(names, watch)
        for device in devices:
            stack.callback(self._preconditioner.leave, device.path)
        return [stack.enter_context(device) for device in devices]

    def _whole(
        self,
        name: str,
        key: str,
        storage: Storage,
        ids: Mapping[str, uuid.UUID],
        stack: contextlib.ExitStack,
        watch: Watch,
    ) -> list[WritableDevice]:
        """A volume's own drives; all are claimed before any is recorded."""
        drives = self._claim(storage.volumes_by_path[key].named_drives, stack, watch)
        for drive in drives:
            one = record_change(
                self._journal, FormattedDrive, "a volume", drive, volume=str(ids[key])
            )
            stack.enter_context(one)
        return drives + self._emulated_drives(name, key, storage)

    def _emulated_drives(self, name: str, key: str, storage: Storage) -> list[WritableDevice]:
        """Devices of the emulated drives of a volume, blank but for old data; made with those of
        the volumes that share their drives.
        """
        for keys in storage.on_emulated_drives:
            if key in keys and (name, key) not in self._emulated:
                volumes = [storage.volumes_by_path[one] for one in keys]
                devices_of_each = self._kept.enter_context(self._emulate(name, volumes))
                own_keys = [(name, one) for one in keys]
                self._emulated |= dict(zip(own_keys, devices_of_each, strict=True))
        devices = self._emulated.get((name, key), [])
        for device in devices:
            run_on([device], "wipefs", "--all", device.path)
        return devices

    @contextlib.contextmanager
    def _emulate(
        self, name: str, volumes: Sequence[Volume]
    ) -> Iterator[list[list[WritableDevice]]]:
        """The devices of each volume: parts of the same drives, or drives of its own."""
        make_directory(self._emulated_in)
        with contextlib.ExitStack() as stack:

            def emulated(parts: Sequence[EmulatedDevice]) -> list[WritableDevice]:
                made = stack.enter_context(
                    emulated_parts(self._journal, self._emulated_in, parts, recorded=self._recorded)
                )
                if made.recording:
                    self._recordings.setdefault(name, []).append(made.recording)
                return made.devices

            if len(volumes) > 1:
                shared = emulated([part for one in volumes for part in one.emulated_devices])
                yield [[device] for device in shared]
            else:
                own = volumes[0].emulated_devices
                yield [[device for one in own for device in emulated([one])]]

    def _array(
        self, volume: Volume, id: str, drives: list[WritableDevice], stack: contextlib.ExitStack
    ) -> WritableDevice:
        path = f"/dev/md/kneebench-{id[:8]}"
        stack.enter_context(self._journal.made(MadeArray, "an array", device=path, uuid=id))
        level, members = raid_level(volume.layout, len(drives)), [one.path for one in drives]
        run_on(drives, *md_command(path, level, id, members))
        array = stack.enter_context(made(path, is_array_of(drives)))
        array.drives = (array,)  # it writes to its drives by itself: its own count tells
        array.note_writes()
        run_on([array], "wipefs", "--all", path)  # the file system of an earlier array began there
        return array

    def _mount(
        self, volume: Volume, id: str, devices: list[WritableDevice], stack: contextlib.ExitStack
    ) -> Path:
        point = Path(POINT.format(id[:8]))
        place = stack.enter_context(self._journal.directory(point.parent, "a mount point"))
        with ours(place) as outer:
            os.fchmod(outer.handle, 0o711)
        make_directory(point, 0o755, new=True)
        facts = {"point": str(point), "volume": id}
        made_mount = self._journal.made(MountedFileSystem, "a volume", **facts)
        mounted = MountedVolume(volume, devices, point, stack.enter_context(made_mount))
        mounted.mount()
        self._mounts.append(mounted)
        for device in devices:
            for whole in device.drives:
                whole.mounted.add(block_folder(device.path).name)
        return point


@contextlib.contextmanager
def _as_plan_error(what: str, volume: Volume) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise PlanError(
            f"{what} of {volume.words}",
            seen=str(error),
            do="see kneebench check and kneebench drives; correct the storage's table",
        ) from error
