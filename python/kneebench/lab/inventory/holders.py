"""What uses a drive: mounts in every namespace, swap, arrays and volumes, loop devices, processes
that may write to it, targets on a network, another path to it, the kernel's own word, and whatever
uses the file behind a loop device.

Devices are compared by their numbers: the same one has several paths, and others in a container.
Files are compared by their inodes: a file has several names.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from kneebench.lab.drives import Mount, name_in, unescaped, visible_mounts
from kneebench.lab.inventory.block_devices import BlockDevice
from kneebench.lab.inventory.sources import Sources
from kneebench.lab.open_device import OpenDevice, number_of_device
from kneebench.lab.programs import wait_until
from kneebench.records import Holder, LoopFile

SYSTEM = {Path(path) for path in ("/", "/boot", "/boot/efi", "/usr", "/var")}
KNOWN_BY_NAME = ("ext4", "xfs", "f2fs")
"""File systems that have a directory in /sys/fs named after each mounted device."""
EXPORTS = (
    ("nvmet/subsystems/*/namespaces/*", "device_path", "NVMe target {0.parent.parent.name}"),
    ("target/core/*/*", "udev_path", "SCSI target {0.name}"),
)
"""Targets on a network in configfs: their directories, the file that names the device, and what
they are called."""
LOOK_S = 0.1
"""Longer than another program that looks in the same way holds a device."""
Inode = tuple[int, int]
"""A file by the number of its file system's device, and its own."""
Users = dict[str | Inode, list[str]]
"""What uses a device, by its number, or a file, by its inode."""


class Holders:
    """What uses the drives of this machine; each source is read once.

    Only root sees all processes, and a process in a container none outside of it.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def of(self, device: BlockDevice, *, ours: bool = False) -> tuple[Holder, ...]:
        """What uses a drive, or a partition, array or volume on it.

        The kernel's own word (an exclusive open fails) is added if nothing else was found: what
        uses it is then in a place that this process cannot see, such as another namespace. `ours`:
        this process has it open exclusively itself.
        """
        found = dict.fromkeys(
            holder for one in device.all() for holder in (*self._mounted(one), *self._held(one))
        )
        if not found and not ours and is_held(device.path):
            found = {Holder(kind="kernel", device=device.name, by="the kernel"): None}
        return tuple(found)

    def may_be_used_by(self, device: BlockDevice) -> tuple[str, ...]:
        """Loop devices whose file is unknown, by name: it may be the drive, or its file."""
        return tuple(name for name in self._loops.unknown if name != device.name)

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
        for name in self._over_devices.get(device.number, ()):
            yield Holder(kind="loop", device=device.name, by=name)
        for name in self._writers.get(device.number, ()):
            yield Holder(kind="process", device=device.name, by=name)
        for name in self._exports.get(device.number, ()):
            yield Holder(kind="export", device=device.name, by=name)
        for name in self._other_uses_of_its_file(device):
            yield Holder(kind="file", device=device.name, by=name)
        for name in self._paths.get(self._wwid(folder.parent), ()):
            if name != device.name:
                yield Holder(kind="path", device=device.name, by=name)

    def _other_uses_of_its_file(self, device: BlockDevice) -> Iterator[str]:
        """What else uses the file behind a loop device."""
        file = self._loops.files.get(device.name)
        if file is None:
            return
        for name, other in self._loops.files.items():
            if name != device.name and _behind(other) == _behind(file):
                yield f"also behind {name}"
        for name in self._writers.get(_behind(file), ()):
            yield f"open for writing in {name}"
        for name in self._mounted_files.get(_inode(file), ()):
            yield f"mounted on {name}"
        for name in self._swaps.get(_inode(file), ()):
            yield f"used as {name}"

    def _wwid(self, folder: Path) -> str:
        """The name that a drive keeps on every path to it; empty for partitions and loop devices.
        Native multipath hides the paths below a drive's one device.
        """
        hidden = self._sources.line(folder, "hidden") == "1"
        names = (self._sources.line(folder, file) for file in ("wwid", "device/wwid"))
        return "" if hidden else next(filter(None, names), "")

    @cached_property
    def _paths(self) -> dict[str, list[str]]:
        """Devices by the WWID of the drive that they lead to: what uses one of them uses all."""
        found: dict[str, list[str]] = {}
        for folder in sorted((self._sources.sys / "class" / "block").glob("*")):
            if wwid := self._wwid(folder):
                found.setdefault(wwid, []).append(folder.name)
        return found

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
        return _by_what_it_is((Path(unescaped(line.split()[0])), "swap") for line in lines)

    @cached_property
    def _loops(self) -> Loops:
        return loops_of(self._sources)

    @cached_property
    def _over_devices(self) -> Users:
        """Loop devices over a device."""
        found: Users = {}
        for name, file in self._loops.files.items():
            if file.block:
                found.setdefault(file.block, []).append(name)
        return found

    @cached_property
    def _mounted_files(self) -> Users:
        """Files that are mounted on others (mount --bind): a second name."""
        bound = (one.point for one in self._own_mounts if one.root != Path("/"))
        return _by_what_it_is((point, str(point)) for point in bound)

    @cached_property
    def _exports(self) -> Users:
        """Targets on a network: the kernel opens their devices for nobody."""
        config = self._sources.sys / "kernel" / "config"
        return _by_what_it_is(
            (Path(self._sources.line(one, file)), called.format(one))
            for pattern, file, called in EXPORTS
            for one in config.glob(pattern)
        )

    @cached_property
    def _writers(self) -> Users:
        """Processes that may write to a device or a file."""
        found: Users = {}
        for process in self._processes:
            opened = map(_what_it_is, writable_files(process, self._is_a_drive))
            if keys := {one: None for one in opened if one}:
                name = f"{self._sources.line(process, 'comm') or 'process'} (PID {process.name})"
                for key in keys:
                    found.setdefault(key, []).append(name)
        return found

    def _is_a_drive(self, path: Path) -> bool:
        """Whether a path leads to a block device, or to the file behind a loop device."""
        found = _what_it_is(path)
        return isinstance(found, str) or found in self._files_behind

    @cached_property
    def _files_behind(self) -> frozenset[Inode]:
        return frozenset(map(_inode, self._loops.files.values()))


def _behind(file: LoopFile) -> str | Inode:
    """What is behind a loop device: a block device has several nodes, and one number."""
    return file.block or _inode(file)


def _inode(file: LoopFile) -> Inode:
    return file.device, file.inode


def _by_what_it_is(paths: Iterator[tuple[Path, str]]) -> Users:
    """What uses block devices and regular files, from paths that lead to them; others are left
    out.
    """
    found: Users = {}
    for path, name in paths:
        if (key := _what_it_is(path)) and name not in found.setdefault(key, []):
            found[key].append(name)
    return found


def _what_it_is(path: Path) -> str | Inode | None:
    try:
        seen = path.stat()
    except OSError:
        return None
    if stat.S_ISBLK(seen.st_mode):
        return number_of_device(seen.st_rdev)
    return (seen.st_dev, seen.st_ino) if stat.S_ISREG(seen.st_mode) else None


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


# The loop devices of this machine, and the file behind each.
#
# The kernel says which file that is where the loop device can be opened: the path of the file may
# lead elsewhere. In a container, its node in /dev may be missing; then its path has to do.


class Loops(NamedTuple):
    """The file behind each loop device, by its name, and the names of those whose file is unknown:
    each may use any drive.
    """

    files: dict[str, LoopFile]
    unknown: tuple[str, ...]


def loops_of(sources: Sources) -> Loops:
    """Those that have a file or a device behind them."""
    files: dict[str, LoopFile] = {}
    unknown = []
    for folder in _bound(sources):
        try:
            file = _file_behind(sources, folder)
        except OSError:
            unknown.append(folder.name)
        else:
            files |= {folder.name: file} if file else {}
    return Loops(files, tuple(unknown))


def _bound(sources: Sources) -> Iterator[Path]:
    yield from sorted(one.parent for one in (sources.sys / "block").glob("loop*/loop"))


def _file_behind(sources: Sources, folder: Path) -> LoopFile | None:
    """The file behind a loop device, by its folder in sysfs; None if it was detached meanwhile.
    Raises OSError if it is unknown.
    """
    try:
        with OpenDevice(str(sources.dev / folder.name)) as device:
            if device.identity.number == sources.line(folder, "dev"):
                return device.identity.file
    except OSError:
        pass
    name = name_in(folder / "loop" / "backing_file")
    return _file_at(Path(name)) if name else None


def _file_at(path: Path) -> LoopFile:
    """A file as the kernel would say it of a loop device over it. Raises OSError."""
    seen = path.stat()
    block = number_of_device(seen.st_rdev) if stat.S_ISBLK(seen.st_mode) else ""
    if not (block or stat.S_ISREG(seen.st_mode)):
        raise OSError(f"{os.fspath(path)} is neither a file nor a block device")
    return LoopFile(device=seen.st_dev, inode=seen.st_ino, block=block)


# The files and devices that processes may write to: open, or mapped into memory.
#
# Only root sees all processes, and a process in a container none outside of it. A descriptor that
# is on its way to another process is seen nowhere (unix(7), SCM_RIGHTS), nor is a file that an
# io_uring keeps registered.

WRITABLE = os.O_WRONLY | os.O_RDWR
PATHLESS = ("socket:", "pipe:", "anon_inode:")


def writable_files(process: Path, matters: Callable[[Path], bool]) -> Iterator[Path]:
    """What a process, by its directory in /proc, may write to, as links that lead there; none of
    one that we may not look into. What is mapped read-only and may be made writable is looked for
    among links that matter: most processes have such maps of their locale.
    """
    threads = f"{process}/task"
    for thread in _names(threads):  # one may have descriptors of its own (clone(2))
        for number in _names(f"{threads}/{thread}/fd"):
            file = f"{threads}/{thread}/fd/{number}"
            if not _is_pathless(file) and _flags(f"{threads}/{thread}/fdinfo/{number}") & WRITABLE:
                yield Path(file)
    read_only = {}
    for place, writable in _shared(process):
        link = process / "map_files" / place
        if writable:
            yield link
        elif matters(link):
            read_only[place] = link
    for place in _that_may_be_made_writable(process) if read_only else ():
        if place in read_only:
            yield read_only[place]


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 (of thousands, making paths takes longest)
    except OSError:
        return []


def _is_pathless(link: str) -> bool:
    """Whether a descriptor is none of a file or a device, by its name alone (proc(5), fd): most
    are not, and the flags of each take three calls.
    """
    try:
        return os.readlink(link).startswith(PATHLESS)  # noqa: PTH115
    except OSError:
        return True  # it was closed meanwhile


def _flags(file: str) -> int:
    """How a file was opened (proc(5), fdinfo), in octal there; 0 if it was closed meanwhile."""
    try:
        lines = Path(file).read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1], 8) for line in lines if line.startswith("flags:")), 0)


def _shared(process: Path) -> Iterator[tuple[str, bool]]:
    """(address range, whether it is writable) of each shared map of a file (proc(5), maps); memory
    without a file has inode 0.
    """
    for line in _lines(process / "maps"):
        place, rights, _, _, inode, *_ = line.split(None, 5)
        if rights[3:4] == b"s" and inode != b"0":
            yield _in_map_files(place), rights[1:2] == b"w"


def _that_may_be_made_writable(process: Path) -> Iterator[str]:
    """The address ranges with the flag mw, as of a file that was open for writing when it was
    mapped (proc(5), smaps); all of them where the kernel prints no flags.
    """
    place, flags = b"", None
    for line in (*_lines(process / "smaps"), b"0-0 end"):
        first, *others = line.split()
        if first == b"VmFlags:":
            flags = others
        elif not first.endswith(b":"):
            if place and (flags is None or b"mw" in flags):
                yield _in_map_files(place)
            place, flags = first, None


def _lines(file: Path) -> list[bytes]:
    try:
        return file.read_bytes().splitlines()
    except OSError:
        return []


def _in_map_files(place: bytes) -> str:
    """An address range as it is called there: without leading zeros."""
    return "-".join(f"{int(address, 16):x}" for address in place.split(b"-"))
