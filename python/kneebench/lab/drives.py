"""Which drives a path stands on: through partition, loop, md and dm to the real ones.

Facts come from /proc/self/mountinfo and /sys/dev/block. The kernel's `rotational` is 1 for virtual
disks and loop devices, too: a drive keeps it as it is read, and a counted device only where it
tells of a real disk.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from kneebench.records import CountedDevice, Drive, Role
from kneebench.visible import escaped

DEVICE_NUMBERS, BLOCK_DEVICES = Path("/sys/dev/block"), Path("/sys/class/block")
WHOLE_DEVICES = Path("/sys/block")
CPU = Path("/proc/cpuinfo")
SECTOR_BYTES = 512
"""The kernel's unit of sizes and counters, whatever the blocks of a drive."""
IN_MEMORY = frozenset(["tmpfs", "ramfs"])
"""File systems without a drive: their files are in memory."""


class Mount(NamedTuple):
    """One line of mountinfo that matters here; `root` is the directory of the file system that is
    mounted, `options` are those of the file system, `parent` is the number of the mount it is on.
    """

    device: str
    point: Path
    type: str
    source: str
    root: Path = Path("/")
    options: tuple[str, ...] = ()
    number: int = 0
    parent: int = 0


def mounts(table: str) -> list[Mount]:
    """The mounts of a mountinfo table (proc(5)), in its order: what was mounted later comes
    later.
    """
    lines = [line.split(" ") for line in table.split("\n") if line]
    return [_mount(line, line[line.index("-") + 1 :]) for line in lines]


def visible_mounts(process: Path = Path("/proc/self")) -> list[Mount]:
    """The mounts that a process sees, by its directory in /proc. Raises OSError if it has ended."""
    return mounts(os.fsdecode((process / "mountinfo").read_bytes()))


def _mount(line: list[str], after: list[str]) -> Mount:
    root, point = (Path(unescaped(field)) for field in line[3:5])
    options, (number, parent) = tuple(after[2].split(",")), map(int, line[:2])
    return Mount(line[2], point, after[0], unescaped(after[1]), root, options, number, parent)


def unescaped(text: str) -> str:
    """Blanks, tabs, line ends and backslashes stand there as octal numbers.

    >>> unescaped(r"/mnt/größe\\040neu")
    '/mnt/größe neu'
    """
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def exists(path: Path) -> bool:
    """True if the path exists and can be reached: below a directory that may not be entered,
    nothing does.
    """
    try:
        return path.exists()
    except PermissionError:
        return False


def existing(path: Path) -> Path:
    """The path itself, or its nearest parent that exists."""
    path = path.absolute()
    return next(p for p in (path, *path.parents) if exists(p))


def mount_of(path: Path) -> Mount:
    """The mount that holds the path (or its nearest existing parent)."""
    real = existing(path).resolve()
    return above(real, visible_mounts())


def above(real: Path, there: Sequence[Mount]) -> Mount:
    """The nearest mount above a path; of several on one point the last, which hides the others."""
    return max(
        (m for m in reversed(there) if real.is_relative_to(m.point)),
        key=lambda m: len(m.point.parts),
    )


def file_system_of(path: Path) -> str:
    """The file system's type: "ext4", "xfs", "tmpfs"."""
    return mount_of(path).type


def _block(path: Path) -> Path | None:
    """The sysfs folder of the block device that holds the path; None for tmpfs, overlay and network
    file systems.
    """
    mount = mount_of(path)
    number = mount.device
    if number.startswith("0:") and mount.source.startswith(
        "/dev/"
    ):  # btrfs has an anonymous number
        rdev = Path(mount.source).stat().st_rdev
        number = f"{os.major(rdev)}:{os.minor(rdev)}"
    folder = DEVICE_NUMBERS / number
    return folder.resolve() if folder.exists() else None


def _together(leaf: Path) -> list[Path]:
    """A device, and the others of its file system where that is a btrfs of several."""
    found = Path("/sys/fs/btrfs").glob(f"*/devices/{leaf.name}")
    return next((sorted(d.resolve() for d in one.parent.iterdir()) for one in found), [leaf])


def _below(folder: Path) -> list[Path]:
    """What a device stands on: slaves of md and dm, the disk of a partition, the device under a
    loop's file.
    """
    slaves = sorted((folder / "slaves").glob("*"))
    if slaves:
        return [s.resolve() for s in slaves]
    if (folder / "partition").exists():
        return [folder.parent]
    backing = folder / "loop" / "backing_file"
    under = _block(Path(name_in(backing))) if backing.exists() else None
    return [under] if under else []


def _stack(folder: Path) -> list[Path]:
    below = _below(folder)
    return below + [deeper for device in below for deeper in _stack(device)]


def text_in(folder: Path, name: str) -> str:
    """The text of a small file; empty if it is missing or cannot be read."""
    try:
        return (folder / name).read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def block_folder(device: str | Path) -> Path:
    """The sysfs folder of a block device: of a whole drive, a partition or an array."""
    return BLOCK_DEVICES / Path(device).resolve().name


def size_bytes(device: str) -> int:
    """The size of a block device. Raises OSError if it is not here."""
    return SECTOR_BYTES * int((block_folder(device) / "size").read_text())


def written_bytes(device: str) -> int:
    """Bytes written to a device since it is there: the seventh counter is sectors of 512 bytes.
    Raises OSError if it is not here.
    """
    return SECTOR_BYTES * int((block_folder(device) / "stat").read_text().split()[6])


def devices_under(path: Path) -> frozenset[str]:
    """The names of all devices under a path: of its file system, and those that these stand on."""
    leaf = _block(path)
    leaves = _together(leaf) if leaf else []
    return frozenset(one.name for leaf in leaves for one in (leaf, *_stack(leaf)))


def drive_of(path: Path) -> Drive | None:
    """The drive that holds a path; None where there is none (tmpfs, overlay, network)."""
    leaf = _block(path)
    if leaf is None:
        return None
    leaves = _together(leaf)
    stack = [below for one in leaves for below in _stack(one)]
    real = [d for d in (*leaves, *stack) if not _below(d)]
    bottom = real[0]
    scheduler = text_in(bottom, "queue/scheduler")
    return Drive(
        name=leaf.name,
        stack=tuple(dict.fromkeys(d.name for d in stack)),
        real=tuple(dict.fromkeys(d.name for d in real)),
        model=text_in(bottom, "device/model") or text_in(bottom, "device/vendor"),
        size_bytes=sum(int(text_in(one, "size") or 0) for one in leaves) * SECTOR_BYTES,
        scheduler=scheduler.partition("[")[2].partition("]")[0] or scheduler,
        rotational={"0": False, "1": True}.get(text_in(bottom, "queue/rotational")),
    )


def whole_devices(paths: Iterable[Path]) -> tuple[str, ...]:
    """The whole devices under these paths, each once; none for memory and network file systems."""
    return tuple(device.name for device in counted_devices(paths))


def counted_devices(paths: Iterable[Path], roles: Sequence[Role] = ()) -> tuple[CountedDevice, ...]:
    """The whole devices under a server's directories, each once, with the numbers of those that are
    on it. `roles`: what each directory holds, if known.
    """
    held: dict[str, list[int]] = {}
    for number, path in enumerate(paths):
        drive = drive_of(path)
        for name in (drive.real or (drive.name,)) if drive else ():
            held.setdefault(name, []).append(number)
    return tuple(
        CountedDevice(
            name=name,
            drive=kept_name(BLOCK_DEVICES / name),
            directories=tuple(numbers),
            roles=tuple(dict.fromkeys(roles[number] for number in numbers if roles)),
            rotational=is_rotational(BLOCK_DEVICES / name),
        )
        for name, numbers in held.items()
    )


def is_rotational(folder: Path, cpu: Path = CPU) -> bool | None:
    """Whether a device, by its sysfs folder, serves one request at a time: a SCSI or ATA disk of a
    machine that is not virtual, and rotates. None where the kernel's flag is a default.
    """
    flag = name_in(folder / "queue/rotational")
    if flag != "1":
        return False if flag == "0" else None
    virtual = re.search(r"^flags\b.*\bhypervisor\b", name_in(cpu), re.MULTILINE)
    return True if folder.name.startswith("sd") and not virtual else None


def kept_name(folder: Path) -> str:
    """The name that a device keeps wherever it is plugged in, from its sysfs folder; empty if the
    kernel has none. Control characters, which the name of a file may have, are escaped. A loop
    device over a part of a file is named by where it begins, too.
    """
    files = ("loop/backing_file", "wwid", "device/wwid")
    found = escaped(next(filter(None, (name_in(folder / file) for file in files)), ""))
    begins = name_in(folder / "loop/offset")
    return f"{found}@{begins}" if begins not in ("", "0") else found


def name_in(file: Path) -> str:
    """The one line of a file, with the blanks that it may have; empty if it cannot be read."""
    try:
        return os.fsdecode(file.read_bytes().removesuffix(b"\n"))
    except OSError:
        return ""
