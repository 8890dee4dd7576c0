"""Emulated drives: files with the limits of a class of drives, as block devices.

qemu-storage-daemon limits the IOPS of a file and exports it as an NBD server on a Unix socket;
nbdfuse presents that as a file, and a loop device makes a block device of it. qemu's own FUSE
export is not used: before QEMU 10.2 concurrent writes could overwrite one another's buffers. A
drive in memory has no limits, so its file is on a loop device at once.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import tomllib
import uuid
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import IO, NamedTuple

from kneebench import units
from kneebench.errors import KneebenchError
from kneebench.lab.changes.loop import AttachedLoop
from kneebench.lab.changes.mount import MountedFileSystem, mounted_on
from kneebench.lab.journal import Journal
from kneebench.lab.own_devices import is_over
from kneebench.lab.permission import Daemon, WritableDevice, made
from kneebench.lab.processes import started
from kneebench.lab.programs import done, wait_until
from kneebench.plan.default import MEMORY
from kneebench.plan.volume import EmulatedDrive

PROGRAMS = {
    "qemu-storage-daemon": "qemu-system-common",
    "nbdfuse": "libnbd-bin",
    "losetup": "mount",
}
"""The programs that emulated drives need, with their packages in Debian."""
BLOCK_BYTES = 4096
SOCKET, IMAGE = "socket", "image"


class Served(NamedTuple):
    """The file of an emulated drive, and the programs that serve it."""

    file: Path
    daemons: tuple[Daemon, ...] = ()


class DriveClass(NamedTuple):
    """The limits of a class of emulated drives; 0 for none. `total_iops`: reads and writes
    together, with bursts of `burst_iops` for at most `burst_s`. `in_memory`: where its file is.
    """

    read_iops: int = 0
    write_iops: int = 0
    total_iops: int = 0
    burst_iops: int = 0
    burst_s: int = 0
    in_memory: bool = False

    @property
    def limits(self) -> str:
        """As options of a qemu throttle group."""
        keys = {
            "read": self.read_iops,
            "write": self.write_iops,
            "total": self.total_iops,
            "total-max": self.burst_iops,
            "total-max-length": self.burst_s,
        }
        return ",".join(f"x-iops-{key}={value}" for key, value in keys.items() if value)


@cache
def drive_classes() -> dict[str, DriveClass]:
    """The classes by name.

    >>> drive_classes()["sata"].limits
    'x-iops-read=3000,x-iops-write=800'
    """
    text = files(__package__).joinpath("emulated_drives.toml").read_text()
    return {name: DriveClass(**limits) for name, limits in tomllib.loads(text).items()}


def is_in_memory(drive: EmulatedDrive) -> bool:
    """Whether its file is in memory, which needs no program to limit it."""
    return drive_classes()[drive.emulated].in_memory


@contextlib.contextmanager
def emulated_drive(
    journal: Journal, folder: Path, drive: EmulatedDrive
) -> Iterator[WritableDevice]:
    """A new block device with the limits of the drive's class; its file is in the folder, or in
    memory.

    All blocks of the file are allocated, none is written: memory is taken here, from no server's
    limit. Raises KneebenchError where a program is missing or fails.
    """
    in_memory = is_in_memory(drive)
    folder = MEMORY if in_memory else folder.resolve()
    with contextlib.ExitStack() as stack:
        try:
            place = _place(journal, folder, drive, stack)
            served = Served(place / IMAGE) if in_memory else _limited(journal, place, drive, stack)
            device = stack.enter_context(_attached(journal, served))
        except OSError as error:
            raise KneebenchError(
                f"emulating a drive of class {drive.emulated!r} in {folder}",
                seen=str(error),
                do=f"install {', '.join(PROGRAMS.values())}, run as root, and free "
                f"{units.size(drive.size)} there",
            ) from error
        yield device


def _place(
    journal: Journal, folder: Path, drive: EmulatedDrive, stack: contextlib.ExitStack
) -> Path:
    """The directory of a drive, with its image; the stack removes it."""
    place = folder / f".kneebench-{uuid.uuid4().hex[:12]}-drive"
    stack.enter_context(journal.directory(place, "an emulated drive"))
    with _new_file(place / IMAGE) as image:
        os.posix_fallocate(image.fileno(), 0, drive.size)
    return place


def _new_file(path: Path) -> IO[bytes]:
    """A new file that nobody else may read, whatever directory it is moved to."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _limited(
    journal: Journal, place: Path, drive: EmulatedDrive, stack: contextlib.ExitStack
) -> Served:
    """A file that is the drive's image with its limits; the stack takes it apart again."""
    limits = _start(journal, stack, place, _export(drive), lambda: _listens(place))
    point = place / "drive"
    point.mkdir()
    stack.enter_context(journal.made(MountedFileSystem, "an emulated drive", point=str(point)))
    present = ["nbdfuse", "drive/disk", f"nbd+unix:///drive?socket={SOCKET}"]
    file = _start(journal, stack, place, present, lambda: bool(mounted_on(str(point))))
    return Served(point / "disk", (limits, file))


def _start(
    journal: Journal,
    stack: contextlib.ExitStack,
    place: Path,
    command: list[str],
    is_up: Callable[[], bool],
) -> Daemon:
    """Start a program that serves the drive, until the stack ends it. Raises OSError with its last
    words if it does not come up.
    """
    with _new_file(place / f"{command[0]}.log") as log:
        process = subprocess.Popen(
            command, cwd=place, stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0
        )
    stack.callback(process.wait)
    stack.enter_context(journal.process(process.pid, f"an emulated drive's {command[0]}"))
    if not wait_until(lambda: is_up() or process.poll() is not None) or not is_up():
        raise OSError(f"{command[0]}: {(place / f'{command[0]}.log').read_text().strip()}")
    return Daemon(command[0], process.pid, started(process.pid))


def _listens(place: Path) -> bool:
    """Whether the drive's socket takes connections: its file is there a moment before. It is found
    by way of its directory, as the path of a socket must be short (unix(7)).
    """
    directory = os.open(place, os.O_PATH)
    try:
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(f"/proc/self/fd/{directory}/{SOCKET}") == 0
    finally:
        os.close(directory)


@contextlib.contextmanager
def _attached(journal: Journal, served: Served) -> Iterator[WritableDevice]:
    """A loop device over a file, without the page cache, in blocks of 4 KiB."""
    file = str(served.file)
    with journal.made(AttachedLoop, "a loop device", file=file):
        options = ("--direct-io=on", f"--sector-size={BLOCK_BYTES}")
        path = done("losetup", "--find", "--show", *options, file).strip()
        with made(path, is_over(served.file), served.daemons) as device:
            yield device


def _export(drive: EmulatedDrive) -> list[str]:
    """The command that exports the drive's file with its limits."""
    limits = drive_classes()[drive.emulated].limits
    return [
        "qemu-storage-daemon",
        *("--object", ",".join(filter(None, ("throttle-group,id=limits", limits)))),
        *("--blockdev", "driver=file,node-name=image,filename=image,aio=threads,cache.direct=on"),
        *("--blockdev", "driver=throttle,node-name=drive,throttle-group=limits,file=image"),
        *("--nbd-server", f"addr.type=unix,addr.path={SOCKET},max-connections=0"),
        *("--export", "type=nbd,id=drive,node-name=drive,name=drive,writable=on"),
    ]
