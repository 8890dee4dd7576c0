"""What is on a drive: the signatures that wipefs(8) finds at all their offsets, and data that has
none.

A drive without a signature is not empty: databases write to raw drives, and a volume may begin
anywhere. So samples are read, too: both ends as a whole, and blocks spread over the rest. Samples
prove that there are data, never that there are none.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from kneebench.lab.inventory.block_devices import BlockDevice
from kneebench.lab.inventory.sources import LIMIT_S
from kneebench.lab.programs import done
from kneebench.records import Signature

DATA, REMAINS = "data", "remains"
"""Types of what has no known signature, and of what is left of a volume that kneebench removed."""
END_BYTES = 16 * 2**20
BLOCK_BYTES = 4096
BLOCKS = 256
_MARK = b"kneebench may overwrite what is left on this drive: "


def signatures(device: BlockDevice, key: str) -> tuple[Signature, ...]:
    """What is on a drive and on its partitions; `key`: the drive's own name. Raises OSError if it
    cannot be read.
    """
    handle = os.open(device.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        known = [
            signature
            for part in (device, *(one for one in device.on_top if one.type == "part"))
            for signature in _of(part)
        ]
        if not known and os.pread(handle, BLOCK_BYTES, 0) == mark_of(key):
            known = [Signature(device=device.name, type=REMAINS, offset=0)]
        elif not known and (at := _first_data(handle)) is not None:
            known = [Signature(device=device.name, type=DATA, offset=at)]
    finally:
        os.close(handle)
    return tuple(known)


def wipefs(path: str) -> list[dict[str, Any]]:
    """What wipefs finds on a device, as it prints it. Raises OSError where it is missing or fails,
    or the drive does not answer.
    """
    printed = done("wipefs", "--no-act", "--json", path, limit_s=LIMIT_S)
    found: list[dict[str, Any]] = json.loads(printed)["signatures"] if printed.strip() else []
    return found


def mark_of(key: str) -> bytes:
    """The first block of a drive that has nothing but the remains of a volume that kneebench made
    and removed, or of what it erased. It names the drive, so that a copy of it says nothing.
    """
    return (_MARK + key.encode())[: BLOCK_BYTES - 1].ljust(BLOCK_BYTES, b"\n")


def _of(device: BlockDevice) -> Iterator[Signature]:
    for one in wipefs(device.path):
        yield Signature(
            device=device.name,
            type=one["type"],
            offset=int(one["offset"], 16),
            label=one.get("label") or "",
        )


def _first_data(handle: int) -> int | None:
    """Offset of the first sample that is not all zeros; None if all are. Raises OSError if the
    drive cannot be read.
    """
    size = os.lseek(handle, 0, os.SEEK_END)
    for offset, length in _samples(size):
        block = os.pread(handle, length, offset)
        if block.strip(b"\0"):
            return offset + len(block) - len(block.lstrip(b"\0"))
    return None


def _samples(size: int) -> Iterator[tuple[int, int]]:
    """(offset, bytes) of both ends, and of blocks at equal distances between them."""
    yield 0, min(size, END_BYTES)
    if size > END_BYTES:
        yield max(END_BYTES, size - END_BYTES), min(END_BYTES, size - END_BYTES)
    between = size - 2 * END_BYTES
    for number in range(BLOCKS if between > 0 else 0):
        yield END_BYTES + number * between // BLOCKS // BLOCK_BYTES * BLOCK_BYTES, BLOCK_BYTES
