"""What uses a drive: mounts in any mount namespace, swap, arrays and volumes, loop devices,
processes that may write to it, exports over the network, and the kernel's own word.

Devices are compared by their numbers: the same one has several paths, and others in a container.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from kneebench.lab.drives import Mount, visible_mounts
from kneebench.lab.inventory.block_devices import BlockDevice
from kneebench.lab.inventory.sources import Sources
from kneebench.lab.programs import wait_until
from kneebench.records import Holder

SYSTEM = {Path(path) for path in ("/", "/boot", "/boot/efi", "/usr", "/var")}
KNOWN_BY_NAME = ("ext4", "xfs", "f2fs")
"""File systems that have a directory in /sys/fs named after each mounted device."""
WRITABLE = os.O_WRONLY | os.O_RDWR
LOOK_S = 0.1
"""Longer than another program that looks in the same way holds a device."""
Users = dict[str, list[str]]
"""What uses a device, by its number."""


class Holders:
    """What uses the drives of this machine; each source is read once.

    Only root sees all processes, and a process in a container none outside of it.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def of(self, device: BlockDevice) -> tuple[Holder, ...]:
        """What uses a drive, or a partition, array or volume on it.

        The kernel's own word (an exclusive open fails) is added if nothing else was found: what
        uses it is then in a place that this process cannot see, such as another namespace.
        """
        found = dict.fromkeys(
            holder for one in device.all() for holder in (*self._mounted(one), *self._held(one))
        )
        if not found and is_held(device.path):
            found = {Holder(kind="kernel", device=device.name, by="the kernel"): None}
        return tuple(found)

    def runs_the_system(self, device: BlockDevice) -> bool:
        """True if this machine's own directories are mounted from the drive, or its swap is."""
        return any(
            one.number in self._swaps
            or any(mount.point in SYSTEM for mount in self._mounts_of(one, self._own_mounts))
            for one in device.all()
        )

    def _mounted(self, device: BlockDevice) -> Iterator[Holder]:
        points = {str(mount.point) for mount in self._mounts_of(device, self._mounts)}
        for point in sorted(points):
            yield Holder(kind="mount", device=device.name, by=point)
        if not points:
            for kind in self._file_systems(device):
                yield Holder(kind="file system", device=device.name, by=kind)

    def _held(self, device: BlockDevice) -> Iterator[Holder]:
        folder = self._sources.sys / "class" / "block" / device.name / "holders"
        for holder in sorted(folder.glob("*")):
            yield Holder(kind="array", device=device.name, by=self._called(holder.name))
        for name in self._swaps.get(device.number, ()):
            yield Holder(kind="swap", device=device.name, by=name)
        for name in self._loops.get(device.number, ()):
            yield Holder(kind="loop", device=device.name, by=name)
        for name in self._writers.get(device.number, ()):
            yield Holder(kind="process", device=device.name, by=name)
        for name in self._exports.get(device.number, ()):
            yield Holder(kind="export", device=device.name, by=name)

    def _called(self, name: str) -> str:
        """An array by its kernel name, a volume of the device mapper also by its own."""
        own = self._sources.line(self._sources.sys / "class" / "block" / name, "dm/name")
        return f"{name} ({own})" if own else name

    def _mounts_of(self, device: BlockDevice, there: list[Mount]) -> Iterator[Mount]:
        """btrfs has numbers of its own: it is known by its source."""
        for mount in there:
            if mount.device == device.number or mount.source == device.path:
                yield mount

    def _file_systems(self, device: BlockDevice) -> Iterator[str]:
        """The types of file systems that are mounted from a device, wherever that is."""
        folder = self._sources.sys / "fs"
        yield from (kind for kind in KNOWN_BY_NAME if (folder / kind / device.name).is_dir())
        if any(folder.glob(f"btrfs/*/devices/{device.name}")):
            yield "btrfs"

    @cached_property
    def _own_mounts(self) -> list[Mount]:
        return self._table(self._sources.proc / "self")

    @cached_property
    def _mounts(self) -> list[Mount]:
        """Those of every mount namespace that a visible process runs in."""
        namespaces: dict[str, Path] = {}
        for process in self._processes:
            with contextlib.suppress(OSError):
                namespaces.setdefault(str((process / "ns" / "mnt").readlink()), process)
        tables = [self._own_mounts, *map(self._table, namespaces.values())]
        return [mount for table in tables for mount in table]

    def _table(self, process: Path) -> list[Mount]:
        try:
            return visible_mounts(process)
        except OSError:
            return []

    @cached_property
    def _processes(self) -> list[Path]:
        return [folder for folder in self._sources.proc.iterdir() if folder.name.isdigit()]

    @cached_property
    def _swaps(self) -> Users:
        _, *lines = self._sources.line(self._sources.proc, "swaps").splitlines() or [""]
        return _by_number((Path(line.split()[0]), "swap") for line in lines)

    @cached_property
    def _loops(self) -> Users:
        """Loop devices that stand on a device."""
        loops = sorted((self._sources.sys / "block").glob("loop*"))
        backing = ((self._sources.line(loop, "loop/backing_file"), loop.name) for loop in loops)
        return _by_number((Path(path), name) for path, name in backing if path)

    @cached_property
    def _exports(self) -> Users:
        """Namespaces of NVMe targets: the kernel opens those devices for nobody."""
        folder = self._sources.sys / "kernel" / "config" / "nvmet" / "subsystems"
        there = folder.glob("*/namespaces/*")
        return _by_number(
            (Path(self._sources.line(one, "device_path")), one.parent.parent.name) for one in there
        )

    @cached_property
    def _writers(self) -> Users:
        """Processes that may write to a device that they have open."""
        opened = (
            (link, f"{self._sources.line(process, 'comm') or 'process'} (PID {process.name})")
            for process in self._processes
            for link in _open_for_writing(process)
        )
        return _by_number(opened)


def _by_number(paths: Iterator[tuple[Path, str]]) -> Users:
    """What uses block devices, from paths that lead to them; others are left out."""
    found: Users = {}
    for path, name in paths:
        if (number := number_of(path)) and name not in found.setdefault(number, []):
            found[number].append(name)
    return found


def number_of(path: Path) -> str:
    """A block device's number as "major:minor"; empty for anything else."""
    try:
        seen = path.stat()
    except OSError:
        return ""
    device = seen.st_rdev
    return f"{os.major(device)}:{os.minor(device)}" if stat.S_ISBLK(seen.st_mode) else ""


def _open_for_writing(process: Path) -> Iterator[Path]:
    """The files that a process has open so, as links that lead to them; none of a process that we
    may not look into.
    """
    try:
        links = list((process / "fd").iterdir())
    except OSError:
        return
    for link in links:
        if _flags(process, link.name) & WRITABLE:
            yield link


def _flags(process: Path, number: str) -> int:
    """How a file was opened (proc(5), fdinfo), in octal there; 0 if it was closed meanwhile."""
    try:
        lines = (process / "fdinfo" / number).read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1], 8) for line in lines if line.startswith("flags:")), 0)


def is_held(path: str, limit_s: float = LOOK_S) -> bool:
    """True if the kernel refuses an exclusive open for so long, which it grants for no mounted or
    otherwise used device (open(2), O_EXCL).
    """
    return not wait_until(lambda: not _refuses(path), limit_s)


def _refuses(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
    except OSError as error:
        return error.errno == errno.EBUSY
    return False
