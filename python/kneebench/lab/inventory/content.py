"""What is on a drive: the signatures that wipefs(8) finds at all their offsets, and data that has
none.

A drive without a signature is not empty: databases write to raw drives, and a volume may begin
anywhere. So samples are read, too: both ends as a whole, and blocks spread over the rest. Samples
prove that there are data, never that there are none: a small drive is read as a whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from kneebench.lab.inventory.block_devices import BlockDevice
from kneebench.lab.inventory.sources import LIMIT_S
from kneebench.lab.programs import run_program
from kneebench.records import Event, Signature, Watch
from kneebench.visible import escaped

DATA, MARK = "data", "mark"
"""Types of what has no known signature, and of the mark that kneebench leaves."""
END_BYTES = 16 * 2**20
BLOCK_BYTES = 4096
BLOCKS = 256
WHOLE_BYTES = 16 * 2**30
"""A drive up to this size is read as a whole: seconds to minutes, once."""
CHUNK_BYTES = 8 * 2**20
REPORT_S = 1.0
_MARK = b"kneebench may overwrite what is left on this drive: "
Sample = tuple[int, int]
"""Where it begins, and its bytes."""


class Content(NamedTuple):
    """What is on a drive. `samples`: their checksum; `read_whole`: all of it was read."""

    signatures: tuple[Signature, ...]
    samples: str
    read_whole: bool = False


def content_of(device: BlockDevice, key: str, watch: Watch, *, whole: bool = True) -> Content:
    """What is on a drive and on its partitions; `key`: the drive's own name. `whole`: read all of a
    small one that seems empty. Raises OSError if it cannot be read.
    """
    handle = os.open(device.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)  # it may have been written behind us
        samples, data_at = _read_samples(handle)
        if known := tuple(_signatures(device)) or _mark(handle, device, key):
            return Content(known, samples)
        whole = whole and os.lseek(handle, 0, os.SEEK_END) <= WHOLE_BYTES
        if whole and data_at is None:
            data_at = _first_data(handle, device.path, watch)
        if data_at is None:
            return Content((), samples, read_whole=whole)
        return Content((Signature(device=device.name, type=DATA, offset=data_at),), samples)
    finally:
        os.close(handle)


def wipefs(path: str) -> list[dict[str, Any]]:
    """What wipefs finds on a device, as it prints it. Raises OSError where it is missing or fails,
    or the drive does not answer.
    """
    printed = run_program("wipefs", "--no-act", "--json", path, limit_s=LIMIT_S)
    found: list[dict[str, Any]] = json.loads(printed)["signatures"] if printed.strip() else []
    return found


def mark_of(key: str) -> bytes:
    """The first block of a drive that has nothing but the remains of a volume that kneebench made
    and removed, or of what it erased. It names the drive, so that a copy of it says nothing.
    """
    return (_MARK + key.encode())[: BLOCK_BYTES - 1].ljust(BLOCK_BYTES, b"\n")


def first_block(handle: int) -> bytes:
    """The first block of an open drive, as it is on the drive. Raises OSError."""
    os.posix_fadvise(handle, 0, BLOCK_BYTES, os.POSIX_FADV_DONTNEED)
    return os.pread(handle, BLOCK_BYTES, 0)


def number_of_samples(size: int) -> int:
    """How many places of a drive of this size are looked at: its two ends, and blocks."""
    return sum(1 for _ in _samples(size))


def _signatures(drive: BlockDevice) -> Iterator[Signature]:
    for device in (drive, *(one for one in drive.on_top if one.type == "part")):
        for one in wipefs(device.path):
            yield Signature(
                device=device.name,
                type=one["type"],
                offset=int(one["offset"], 16),
                label=escaped(one.get("label") or ""),
                uuid=one.get("uuid") or "",
            )


def _mark(handle: int, device: BlockDevice, key: str) -> tuple[Signature, ...]:
    if first_block(handle) != mark_of(key):
        return ()
    return (Signature(device=device.name, type=MARK, offset=0),)


def _read_samples(handle: int) -> tuple[str, int | None]:
    """(checksum of the samples, offset of the first that is not all zeros). Raises OSError if the
    drive cannot be read.
    """
    checksum, data_at = hashlib.sha256(), None
    for offset, length in _samples(os.lseek(handle, 0, os.SEEK_END)):
        block = os.pread(handle, length, offset)
        checksum.update(block)
        if data_at is None:
            data_at = _begin_of_data(block, offset)
    return checksum.hexdigest(), data_at


def _first_data(handle: int, path: str, watch: Watch) -> int | None:
    """Where a drive's first byte is that is not zero; None if there is none. All of it is read,
    which is reported after a second. Raises OSError.
    """
    size, began_s, reported_s = os.lseek(handle, 0, os.SEEK_END), time.monotonic(), REPORT_S
    for offset in range(0, size, CHUNK_BYTES):
        chunk = os.pread(handle, CHUNK_BYTES, offset)
        os.posix_fadvise(handle, offset, CHUNK_BYTES, os.POSIX_FADV_DONTNEED)
        if (data_at := _begin_of_data(chunk, offset)) is not None:
            return data_at
        if (took_s := time.monotonic() - began_s) > reported_s:
            share, reported_s = (offset + len(chunk)) / size, took_s + REPORT_S
            left_s = took_s * (1 - share) / share
            doing = f"reading all of {path}, to see that nothing is on it"
            watch(Event(kind="progress", doing=doing, share=share, left_s=left_s))
    return None


def _begin_of_data(block: bytes, offset: int) -> int | None:
    if block == bytes(len(block)):
        return None
    return offset + len(block) - len(block.lstrip(b"\0"))


def _samples(size: int) -> Iterator[Sample]:
    """Both ends, and blocks at equal distances between them."""
    yield 0, min(size, END_BYTES)
    if size > END_BYTES:
        yield max(END_BYTES, size - END_BYTES), min(END_BYTES, size - END_BYTES)
    between = size - 2 * END_BYTES
    for number in range(BLOCKS if between > 0 else 0):
        yield END_BYTES + number * between // BLOCKS // BLOCK_BYTES * BLOCK_BYTES, BLOCK_BYTES
