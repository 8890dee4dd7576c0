"""Emulated drives: files with the limits of a class of drives, as block devices.

qemu-storage-daemon limits the IOPS of a file and exports it as an NBD server on a Unix socket;
nbdfuse presents that as a file, and a loop device makes a block device of it. qemu's own FUSE
export is not used: before QEMU 10.2 concurrent writes could overwrite one another's buffers. A
drive in memory has no limits, so its file is on a loop device at once. A layout of several drives
is one such file, with the limits that the layout has by its definition.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import uuid
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import IO, NamedTuple

from kneebench import units
from kneebench.directories import make_directory
from kneebench.errors import KneebenchError
from kneebench.lab.changes.loop import AttachedLoop
from kneebench.lab.changes.mount import MountedFileSystem, mounted_on
from kneebench.lab.journal import Journal
from kneebench.lab.own_devices import is_over
from kneebench.lab.permission import Daemon, WritableDevice, made
from kneebench.lab.processes import started
from kneebench.lab.programs import run_program, wait_until
from kneebench.lab.volumes.power_cut import SECTOR_BYTES, WriteRecording
from kneebench.plan.default import MEMORY
from kneebench.plan.drive_class import DriveClass, drive_classes
from kneebench.plan.volume import EmulatedDevice

PROGRAMS = {
    "qemu-storage-daemon": "qemu-system-common",
    "nbdfuse": "libnbd-bin",
    "losetup": "mount",
}
"""The programs that emulated drives need, with their packages in Debian."""
BLOCK_BYTES = 4096
SOCKET, IMAGE, RECORDING = "socket", "image", "recording"


class Served(NamedTuple):
    """The file of an emulated drive, and the programs that serve it."""

    file: Path
    daemons: tuple[Daemon, ...] = ()


class EmulatedParts(NamedTuple):
    """The devices of an emulated drive, and the recording of its writes if there is one."""

    devices: list[WritableDevice]
    recording: WriteRecording | None


def limits_of(device: EmulatedDevice) -> DriveClass:
    """The limits of one drive, or of a layout."""
    return drive_classes()[device.emulated].of_layout(device.drives, device.copies)


def is_in_memory(device: EmulatedDevice) -> bool:
    """Whether its file is in memory, which needs no program to limit it."""
    return drive_classes()[device.emulated].in_memory


@contextlib.contextmanager
def emulated_parts(
    journal: Journal, folder: Path, parts: Sequence[EmulatedDevice], *, recorded: bool = False
) -> Iterator[EmulatedParts]:
    """New block devices, each a part of the same emulated drives: together they have the limits of
    one. Their file is in the folder, or in memory; `recorded`: so are their writes.

    All blocks of the file are allocated, none is written: memory is taken here, from no server's
    limit. Raises KneebenchError where a program is missing or fails.
    """
    whole = parts[0]._replace(size=sum(part.size for part in parts))
    in_memory = is_in_memory(whole)
    folder = MEMORY if in_memory else folder.resolve()
    with contextlib.ExitStack() as stack:
        try:
            place = _place(journal, folder, whole, stack)
            if recorded:
                _new_file(place / RECORDING).close()
            served = (
                Served(place / IMAGE)
                if in_memory
                else _limit(journal, place, whole, stack, recorded=recorded)
            )
            devices = _attach(journal, served, [part.size for part in parts], stack)
        except OSError as error:
            raise KneebenchError(
                f"cannot emulate a drive of class {whole.emulated!r} in {folder}",
                seen=str(error),
                do=f"install {', '.join(PROGRAMS.values())}, run as root, and free "
                f"{units.size(whole.size)} there",
            ) from error
        image, recording = place / IMAGE, place / RECORDING
        yield EmulatedParts(
            devices,
            WriteRecording(recording, image, obeys=not whole.deaf) if recorded else None,
        )


def _place(
    journal: Journal, folder: Path, drive: EmulatedDevice, stack: contextlib.ExitStack
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


def _limit(
    journal: Journal,
    place: Path,
    drive: EmulatedDevice,
    stack: contextlib.ExitStack,
    *,
    recorded: bool,
) -> Served:
    """A file that is the drive's image with its limits; the stack takes it apart again."""
    export = _export(drive, recorded=recorded)
    limits = _start(journal, stack, place, export, lambda: _listens(place))
    point = place / "drive"
    make_directory(point, new=True)
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


def _attach(
    journal: Journal, served: Served, sizes: Sequence[int], stack: contextlib.ExitStack
) -> list[WritableDevice]:
    """Loop devices over the parts of a file, without the page cache, in blocks of 4 KiB; the stack
    detaches them.
    """
    file = str(served.file)
    stack.enter_context(journal.made(AttachedLoop, "a loop device", file=file))
    options, devices = ("--direct-io=on", f"--sector-size={BLOCK_BYTES}"), []
    for place, size in zip(accumulate((0, *sizes)), sizes, strict=False):
        part = (f"--offset={place}", f"--sizelimit={size}") if len(sizes) > 1 else ()
        path = run_program("losetup", "--find", "--show", *options, *part, file).strip()
        devices.append(stack.enter_context(made(path, is_over(served.file), served.daemons)))
    return devices


def _export(drive: EmulatedDevice, *, recorded: bool = False) -> list[str]:
    """The command that exports the drive's file with its limits; `recorded`: as it is written."""
    command, node = ["qemu-storage-daemon"], "image"
    image = "driver=file,node-name=image,filename=image,aio=threads,cache.direct=on"
    command += ["--blockdev", f"{image},cache.no-flush=on" if drive.deaf else image]
    if recorded:
        node = "recorded"
        command += ["--blockdev", f"driver=file,node-name=recording,filename={RECORDING}"]
        sectors = f"log-sector-size={SECTOR_BYTES}"
        recording = f"driver=blklogwrites,node-name={node},file=image,log=recording,{sectors}"
        command += ["--blockdev", recording]
    for number, limits in enumerate(limits_of(drive).limits):
        group, below, node = f"limits{number}", node, f"limited{number}"
        command += ["--object", f"throttle-group,id={group},{limits}"]
        throttle = f"driver=throttle,node-name={node},throttle-group={group},file={below}"
        command += ["--blockdev", throttle]
    return [
        *command,
        *("--nbd-server", f"addr.type=unix,addr.path={SOCKET},max-connections=0"),
        *("--export", f"type=nbd,id=drive,node-name={node},name=drive,writable=on"),
    ]
