"""How a device that kneebench made is told from any other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kneebench.lab.drives import block_folder
from kneebench.lab.open_device import OpenDevice, has_its_number
from kneebench.lab.permission import WritableDevice


def is_over(image: Path) -> Callable[[OpenDevice], bool]:
    """Whether a device is a loop device over that file."""
    seen = image.stat()

    def found(device: OpenDevice) -> bool:
        file = device.identity.file
        return file is not None and (file.device, file.inode) == (seen.st_dev, seen.st_ino)

    return found


def is_array_of(members: Sequence[WritableDevice]) -> Callable[[OpenDevice], bool]:
    """Whether a device is an array of exactly these members."""
    names = {block_folder(one.path).name for one in members}

    def found(device: OpenDevice) -> bool:
        slaves = {one.name for one in (block_folder(device.path) / "slaves").glob("*")}
        return slaves == names and has_its_number(device)

    return found


def is_partition_of(drive: WritableDevice) -> Callable[[OpenDevice], bool]:
    """Whether a device is a partition of that drive, which is still the same."""

    def found(device: OpenDevice) -> bool:
        drive.opened.require_same()
        parent = block_folder(device.path).resolve().parent.name
        return parent == block_folder(drive.path).name and has_its_number(device)

    return found
