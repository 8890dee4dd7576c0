"""Loop devices for tests, and the programs that change them."""

from __future__ import annotations

import contextlib
import os
import struct
import subprocess
import uuid
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kneebench.lab.own_devices import POINT
from kneebench.lab.programs import found, wait_until

needs_emulation = pytest.mark.skipif(
    not (found("nbdfuse") and found("qemu-storage-daemon")),
    reason="needs libnbd-bin and qemu-system-common",
)
MIB = 2**20
SIZE = 320 * MIB
"""Enough for the smallest XFS (300 MiB)."""
SMALL = 112 * MIB
"""Enough for ext4, and for btrfs on one drive: what is read as a whole is read in less time."""
UNSAMPLED = 48 * MIB + 17 * 4096
"""A place of a small drive that no sample meets."""


def done(*command: object) -> str:
    """What the program prints; raises CalledProcessError where it fails."""
    words = [str(word) for word in command]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


@contextlib.contextmanager
def loop_device(image: Path, size: int = SIZE) -> Iterator[Path]:
    """A blank loop device over a new sparse file; skips the test where there is none. Partitions
    that a test leaves in the kernel go with it: the next user of its number would have them.
    """
    with image.open("wb") as file:
        file.truncate(size)
    made = subprocess.run(["losetup", "-f", "--show", image], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"no loop device to be had: {made.stderr.strip()}")
    device = Path(made.stdout.strip())
    try:
        yield device
    finally:
        dropped = drop_partitions(device)
        done("losetup", "-d", device)
        assert dropped, f"the partitions of {device} cannot be dropped"


def drop_partitions(device: Path) -> bool:
    """Whether the kernel has none of a device any more; tried again while others look at them."""
    folder = Path("/sys/class/block") / device.name

    def has_none() -> bool:
        if any(folder.glob("*/partition")):
            subprocess.run(["partx", "--delete", device], check=False, capture_output=True)
        return not any(folder.glob("*/partition"))

    return wait_until(has_none)


@contextlib.contextmanager
def volume_point() -> Iterator[Path]:
    """A mount point of which the servers of other tests keep no copy, as of a volume's."""
    point = Path(POINT.format(f"tests-{uuid.uuid4().hex[:8]}"))
    point.mkdir(parents=True)
    try:
        yield point
    finally:
        point.rmdir()
        point.parent.rmdir()


@contextlib.contextmanager
def mounted(drive: str | Path, point: Path, *options: str) -> Iterator[None]:
    """A drive on a directory until the end of the block."""
    done("mount", *options, drive, point)
    try:
        yield
    finally:
        done("umount", point)


def put(loop: Path, at: int, data: bytes) -> None:
    """Write there; `at` below 0: before its end."""
    with loop.open("r+b") as device:
        device.seek(at, os.SEEK_END if at < 0 else os.SEEK_SET)
        device.write(data)


def array_member(loop: Path) -> None:
    """The superblock of a Linux array, version 1.2 (md.4): 4 KiB from the begin."""
    start = struct.pack("<IIII", 0xA92B4EFC, 1, 0, 0) + bytes(range(16)) + b"host:array".ljust(32)
    put(loop, 4096, start.ljust(144, b"\0") + struct.pack("<Q", 8) + bytes(104))


def volume_group_member(loop: Path) -> None:
    """The label of an LVM2 physical volume in its second sector, with its checksum."""
    rest = struct.pack("<I8s", 32, b"LVM2 001") + b"a" * 32
    rest = rest.ljust(512 - 20, b"\0")
    checksum = zlib.crc32(rest, 0xF597A6CF ^ 0xFFFFFFFF) ^ 0xFFFFFFFF
    put(loop, 512, struct.pack("<8sQI", b"LABELONE", 1, checksum) + rest)


def partitions(loop: Path) -> None:
    """A partition table (dos) with one partition, as MBR bytes."""
    entry = struct.pack("<B3sB3sII", 0, bytes(3), 0x83, bytes(3), 2048, 4096)
    put(loop, 446, entry + bytes(48) + b"\x55\xaa")


HOLDS: dict[str, tuple[Callable[[Path], None], str]] = {
    "ext4": (lambda loop: done("mkfs.ext4", "-q", "-L", "orders", loop), 'ext4 "orders"'),
    "xfs": (lambda loop: done("mkfs.xfs", "-q", loop), "xfs"),
    "btrfs": (lambda loop: done("mkfs.btrfs", "-q", loop), "btrfs"),
    "swap": (lambda loop: done("mkswap", loop), "swap"),
    "volume group": (volume_group_member, "LVM2_member"),
    "array": (array_member, "linux_raid_member"),
    "partition table": (partitions, "partition table (dos)"),
    "raw data": (lambda loop: put(loop, 5 * MIB + 13, b"SQLite"), "data at byte 5,242,893"),
    "raw data at the end": (lambda loop: put(loop, -3, b"x"), f"data at byte {SIZE - 3:,}"),
}
"""What drives contain: how a test puts it on a loop device, and what the inventory calls it on one
of SIZE."""
HOLDS_ALWAYS = ("ext4", "partition table", "raw data at the end")
"""Tried also without --long where each takes seconds."""
