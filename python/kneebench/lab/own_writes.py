"""How far kneebench itself has written a drive: whatever was written beyond that is not its own.

The kernel's count of a drive is noted when the drive is claimed, after each program of ours that
wrote to it, and when the run that made a volume on it unmounts that: then what was written through
the volume's partition is added, and no more. It is kept in the state directory, so that a later run
knows, too.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from pydantic import Field

from kneebench.lab.drives import block_folder, written_bytes
from kneebench.lab.inventory.left import drive_file, keep, kept
from kneebench.lab.open_device import OpenDevice, write_count
from kneebench.lab.processes import boot
from kneebench.records import DeviceIdentity, Record, WriteCount


class OwnWrites(Record):
    """How much was written to a device when the last write of ours was on it, in one boot; and
    through each of its partitions, by name.
    """

    boot: str
    identity: DeviceIdentity
    writes: WriteCount
    partitions: dict[str, int] = Field(default_factory=dict)


def note_own_writes(device: OpenDevice) -> None:
    """All that was written to an open device so far is ours, or was there when it was claimed."""
    keep(_file(device.path), _so_far(device))


def note_claimed(device: OpenDevice, before: WriteCount) -> None:
    """What was written to an open device before it was looked at is not ours to judge; what was
    written since is somebody else's.
    """
    keep(_file(device.path), _so_far(device).model_copy(update={"writes": before}))


def note_volume_writes(device: OpenDevice, under: Collection[str]) -> None:
    """What a volume of ours wrote to an open device until now is ours. `under`: the devices under
    the volume, by name; if partitions of this one are among them, what was written through these,
    and no other write.
    """
    noted, now = kept(_file(device.path), OwnWrites), _so_far(device)
    if noted is None or not _same(noted, now):
        return
    ours = {name: count for name, count in now.partitions.items() if name in under}
    if not ours:
        keep(_file(device.path), now)
        return
    expected = (noted.writes.device_bytes or 0) + _risen(noted, ours)
    last = now.writes if expected == now.writes.device_bytes else noted.writes
    writes = last.model_copy(update={"device_bytes": expected})
    partitions = {**noted.partitions, **ours}
    keep(_file(device.path), noted.model_copy(update={"writes": writes, "partitions": partitions}))


def are_all_ours(device: OpenDevice, under: Collection[str] = ()) -> bool:
    """Whether nothing was written to an open device since that was noted last; False where nothing
    was noted, or the kernel does not count. `under`: the devices, by name, that a mounted volume of
    ours writes to at any moment.
    """
    noted, least = kept(_file(device.path), OwnWrites), _written(device, under)
    now = _so_far(device)
    if noted is None or not _same(noted, now) or now.writes.device_bytes is None:
        return False
    if not under:
        return noted.writes == now.writes
    if not least:  # the whole device is under the volume
        return True
    more = now.writes.device_bytes - (noted.writes.device_bytes or 0)
    return _risen(noted, least) <= more <= _risen(noted, _written(device, under))


def noted_devices(names: Iterable[str]) -> list[str]:
    """Those of these devices, by name, whose writes are noted; as paths."""
    return [f"/dev/{name}" for name in names if drive_file(name, "own").exists()]


def _so_far(device: OpenDevice) -> OwnWrites:
    with contextlib.suppress(OSError):  # a device that fails: it is read as it is
        os.fsync(device.handle)
    names = [one.parent.name for one in block_folder(device.path).glob("*/partition")]
    return OwnWrites(
        boot=boot(),
        identity=device.identity,
        writes=write_count(device),
        partitions=_written(device, names),
    )


def _written(device: OpenDevice, names: Collection[str]) -> dict[str, int]:
    """Bytes written so far through those of these devices that are its partitions."""
    folder = block_folder(device.path)
    return {name: written_bytes(f"/dev/{name}") for name in names if (folder / name).exists()}


def _risen(noted: OwnWrites, written: Mapping[str, int]) -> int:
    """How much more was written through partitions than was noted of them; one that was not there
    then began at 0.
    """
    return sum(count - noted.partitions.get(name, 0) for name, count in written.items())


def _same(noted: OwnWrites, now: OwnWrites) -> bool:
    """Whether both are of one device in one boot."""
    return (noted.boot, noted.identity) == (now.boot, now.identity)


def _file(path: str) -> Path:
    return drive_file(block_folder(path).name, "own")
