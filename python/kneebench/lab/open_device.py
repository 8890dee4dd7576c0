"""A block device that stays open: until it is closed, the kernel gives its number to no other.

A name such as /dev/loop3 is whichever device has it now. An administrator may detach it and attach
another file. With the device open, a loop device is detached only when it is closed (loop(4)), and
the number of a drive that is unplugged stays taken.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

from kneebench.errors import Refused
from kneebench.lab.drives import DEVICE_NUMBERS, block_folder, name_in, text_in, written_bytes
from kneebench.records import DeviceIdentity, LoopFile, Obstacle, WriteCount
from kneebench.visible import escaped

_DISK_SEQUENCE = 0x80081280
"""BLKGETDISKSEQ of linux/fs.h, since Linux 5.15."""
_LOOP_STATUS, _LOOP_STATUS_BYTES = 0x4C05, 232
"""LOOP_GET_STATUS64 of linux/loop.h; it fails on any other device."""


LOOKS_S = 2.0
"""Longer than others who only look hold a device."""
Kind = TypeVar("Kind")


class OpenDevice:
    """A block device, with what it was when it was opened."""

    def __init__(self, path: str, *, alone: bool = False) -> None:
        """Open it for reading; `alone`: exclusively (O_EXCL), which the kernel grants for no device
        in use. Raises OSError.
        """
        flags = os.O_RDONLY | os.O_CLOEXEC | (os.O_EXCL if alone else 0)
        self.path, self.handle = path, os.open(path, flags)
        try:
            self.identity = identity_of(self.handle)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close it; a second time does nothing."""
        handle, self.handle = self.handle, -1
        if handle >= 0:
            os.close(handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def require_same(self) -> None:
        """Raises Refused if its path leads to another device by now, or another file is behind it
        than when it was opened.
        """
        try:
            now, there = identity_of(self.handle), number_at(self.path)
        except OSError as error:
            raise self._refused(error.strerror or str(error)) from error
        if there != self.identity.number:
            raise self._refused("its path leads to another device by now")
        if now != self.identity:
            raise self._refused("it is another device, or has another file, by now")

    def _refused(self, seen: str) -> Refused:
        do = "nothing was written to it; run kneebench drives, then start again"
        return Refused(f"cannot write to {self.path}", seen=seen, do=do)


def once_free(opened: Callable[[], Kind]) -> Kind:
    """What `opened` opens exclusively, once others who only look have gone. Raises OSError (EBUSY)
    while it is in use.
    """
    until_s = time.monotonic() + LOOKS_S
    while True:
        try:
            return opened()
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > until_s:
                raise
        time.sleep(0.02)


def identity_of(handle: int) -> DeviceIdentity:
    """What an open block device is. Raises OSError for what is none."""
    seen = os.fstat(handle)
    if not stat.S_ISBLK(seen.st_mode):
        raise OSError("it is not a block device")
    return DeviceIdentity(
        number=number_of_device(seen.st_rdev),
        sequence=_sequence(handle),
        size_bytes=os.lseek(handle, 0, os.SEEK_END),
        file=_loop_file(handle),
    )


def number_of_device(device: int) -> str:
    """A device number as "major:minor"."""
    return f"{os.major(device)}:{os.minor(device)}"


def number_at(path: str) -> str:
    """The number of the block device at a path, as "major:minor"; empty for anything else."""
    try:
        seen = os.stat(path)  # noqa: PTH116 pathlib follows the same link, more slowly
    except OSError:
        return ""
    return number_of_device(seen.st_rdev) if stat.S_ISBLK(seen.st_mode) else ""


def has_its_number(device: OpenDevice) -> bool:
    """Whether the device at a path is the one that the kernel calls so: a node in /dev may be
    stale.
    """
    return text_in(block_folder(device.path), "dev") == device.identity.number


def write_count(device: OpenDevice) -> WriteCount:
    """How much was written to an open device so far; unknown where that is not counted."""
    found = counted_writes(device)
    return found if isinstance(found, WriteCount) else WriteCount()


def counted_writes(device: OpenDevice) -> WriteCount | Obstacle:
    """How much was written to an open device so far, or why that is unknown."""
    folder = block_folder(device.path)
    for queue in (folder / "queue", folder.resolve().parent / "queue"):  # a partition's is above it
        if text_in(queue, "iostats") == "0":
            seen = "the kernel does not count what is written to it"
            return Obstacle(seen=seen, do=f"echo 1 > {queue / 'iostats'}")
    try:
        written = written_bytes(device.path)
    except OSError:
        seen = "the kernel has no count of what is written to it"
        return Obstacle(seen=seen, do="use another drive (kneebench drives)")
    return _with_what_is_behind(device, WriteCount(device_bytes=written))


def _with_what_is_behind(device: OpenDevice, count: WriteCount) -> WriteCount | Obstacle:
    """The count with what can be written to directly, behind a loop device."""
    file = device.identity.file
    if file is None:
        return count
    if file.block:
        below = _counted_below(device, file.block)
        return below if isinstance(below, Obstacle) else count.model_copy(update={"below": below})
    name = name_in(block_folder(device.path) / "loop" / "backing_file")
    with contextlib.suppress(OSError):
        seen = Path(name).stat()
        if (seen.st_dev, seen.st_ino) == (file.device, file.inode):
            return count.model_copy(update={"file_changed_ns": seen.st_ctime_ns})
    return Obstacle(
        seen=f"its file {escaped(name.removesuffix(' (deleted)'))} is not there under that name"
        " any more, so what is written to that file cannot be seen",
        do="use another drive, or a loop device over a file that can be seen here",
    )


def _counted_below(device: OpenDevice, number: str) -> WriteCount | Obstacle:
    """How much was written to the device of that number, which a loop device is over."""
    path = f"/dev/{(DEVICE_NUMBERS / number).resolve().name}"
    with contextlib.suppress(OSError), OpenDevice(path) as below:
        if below.identity.number == number:
            found = counted_writes(below)
            if isinstance(found, WriteCount):
                return found
            return Obstacle(seen=f"of {path}, below it: {found.seen}", do=found.do)
    seen = f"the device below it ({number}) cannot be looked at"
    return Obstacle(seen=seen, do=f"use another drive, or make {path} readable")


def _sequence(handle: int) -> int | None:
    found = bytearray(8)
    try:
        fcntl.ioctl(handle, _DISK_SEQUENCE, found)
    except OSError:
        return None
    return int(struct.unpack("=Q", found)[0])


def _loop_file(handle: int) -> LoopFile | None:
    status = bytearray(_LOOP_STATUS_BYTES)
    try:
        fcntl.ioctl(handle, _LOOP_STATUS, status)
    except OSError:
        return None
    device, inode, block, offset = struct.unpack_from("=QQQQ", status)
    number = number_of_device(block) if block else ""
    return LoopFile(device=device, inode=inode, offset_bytes=offset, block=number)
