"""How much a volume holds, before it is made."""

from __future__ import annotations

from kneebench.lab.inventory import identities, named
from kneebench.plan.volume import Volume

FILE_SYSTEM_SHARE = 0.08
"""Of a volume, for the file system's own structures and what it keeps free: ext4 reserves 5% for
root, and has tables of inodes."""


def capacity_bytes(volume: Volume) -> int:
    """What files can take of a volume, about. Raises PlanError for a drive that is not here."""
    sizes = drive_sizes(volume)
    if volume.size and not volume.is_one_device:
        sizes = [min(size, volume.size) for size in sizes]
    return int(usable_bytes(volume, sizes) * (1 - FILE_SYSTEM_SHARE))


def drive_sizes(volume: Volume) -> list[int]:
    """The bytes of each of its drives; several emulated ones that are one device count as one.
    Raises PlanError for one that is not here.
    """
    here = identities() if volume.named_drives else []
    sizes = [named(here, name).size_bytes for name in volume.named_drives]
    return sizes + [device.size for device in volume.emulated_devices]


def usable_bytes(volume: Volume, sizes: list[int]) -> int:
    """The capacity of a volume of drives of these sizes, before its file system: the smallest
    counts for each.

    >>> usable_bytes(Volume(drives=tuple("abcd"), layout="raid10"), [100, 100, 90, 100])
    180
    """
    return min(sizes) * len(sizes) // volume.copies
