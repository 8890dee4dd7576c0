"""How far kneebench itself has written a drive: whatever was written beyond that is not its own.

The kernel's count of a drive is noted when the drive is claimed, after each program of ours that
wrote to it, and when our volume on it was unmounted. It is kept in the state directory, so that a
later run knows, too.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from kneebench.lab.drives import block_folder
from kneebench.lab.inventory.left import drive_file, keep, kept
from kneebench.lab.open_device import OpenDevice, write_count
from kneebench.lab.processes import boot
from kneebench.records import DeviceIdentity, Record, WriteCount


class OwnWrites(Record):
    """How much was written to a device when the last write of ours was on it, in one boot."""

    boot: str
    identity: DeviceIdentity
    writes: WriteCount


def note_own_writes(device: OpenDevice) -> None:
    """All that was written to an open device so far is ours, or was there when it was claimed."""
    keep(_file(device.path), _so_far(device))


def are_all_ours(device: OpenDevice) -> bool:
    """Whether nothing was written to an open device since that was noted last; False where nothing
    was noted, or the kernel does not count.
    """
    noted, now = kept(_file(device.path), OwnWrites), _so_far(device)
    return noted == now and now.writes.device_bytes is not None


def noted_devices(names: Iterable[str]) -> list[str]:
    """Those of these devices, by name, whose writes are noted; as paths."""
    return [f"/dev/{name}" for name in names if drive_file(name, "own").exists()]


def _so_far(device: OpenDevice) -> OwnWrites:
    with contextlib.suppress(OSError):  # a device that fails: it is read as it is
        os.fsync(device.handle)
    return OwnWrites(boot=boot(), identity=device.identity, writes=write_count(device))


def _file(path: str) -> Path:
    return drive_file(block_folder(path).name, "own")
