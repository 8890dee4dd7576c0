"""Layouts: several drives as one device, by md, or as one file system, by btrfs."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from kneebench.lab.changes.table import WrittenTable, show_partitions
from kneebench.lab.device_writes import run_on
from kneebench.lab.drives import size_bytes
from kneebench.lab.inventory import identities, named
from kneebench.lab.journal import Journal
from kneebench.lab.own_devices import is_partition_of
from kneebench.lab.permission import WritableDevice, made
from kneebench.lab.programs import found, run_program
from kneebench.lab.volumes.recording import record_change
from kneebench.plan.storage import Storage
from kneebench.plan.volume import Volume
from kneebench.records import WholeDrive


def raid_level(layout: str, drives: int) -> str:
    """The RAID level of a layout: a mirror of more than two drives is striped.

    >>> raid_level("mirror", 2), raid_level("mirror", 4)
    ('raid1', 'raid10')
    """
    mirror = "raid1" if drives == 2 else "raid10"
    levels = {"single": "single", "mirror": mirror, "stripe": "raid0", "raid10": "raid10"}
    return levels[layout]


def by_md(volume: Volume) -> bool:
    """Whether md makes the layout: that of emulated drives is one device already."""
    own = volume.file_system.type == "btrfs" or volume.is_one_device
    return volume.layout != "single" and not own


def has_md() -> bool:
    """Whether the kernel has md, or can load it."""
    if Path("/proc/mdstat").exists():
        return True
    try:
        run_program("modprobe", "--dry-run", "--quiet", "md_mod")
    except OSError:
        return False
    return bool(found("modprobe"))


def md_command(device: str, level: str, uuid: str, drives: list[str]) -> list[str]:
    """The command that makes an array. Its mirrors are not compared first, as the file system will
    read no block that it has not written: a resync would run into the measurement. mdadm refuses to
    hear of a bitmap where there are no mirrors.
    """
    mirrors = () if level == "raid0" else ("--assume-clean", "--bitmap", "none")
    return [
        *("mdadm", "--create", device, "--run", "--level", level.removeprefix("raid")),
        *("--raid-devices", str(len(drives)), "--metadata", "1.2", "--uuid", uuid),
        *(*mirrors, *drives),
    ]


def mkfs_command(volume: Volume, uuid: str, devices: list[str]) -> list[str]:
    """The command that makes the file system: without discard, and with nothing left to be
    initialised later on. The plan's options are merged into ours, because mkfs.ext4 obeys only the
    last -E, and mkfs.btrfs adds profiles up.
    """
    kind, more = volume.file_system.type, volume.file_system.mkfs_options
    if kind == "xfs":
        own = {"-m": f"uuid={uuid}"}
        return ["mkfs.xfs", "-q", "-K", *_merged(own, more), *devices]
    if kind == "ext4":
        own = {"-E": "nodiscard,lazy_itable_init=0,lazy_journal_init=0", "-U": uuid}
        return ["mkfs.ext4", "-q", *_merged(own, more), *devices]
    level = raid_level(volume.layout, len(devices))
    metadata = more.pop("-m", "dup" if level == "single" and "-M" not in more else level)
    own = {"-U": uuid, "-d": level, "-m": metadata}
    return ["mkfs.btrfs", "-q", "-K", *_merged(own, more), *devices]


def _merged(own: dict[str, str], more: dict[str, str]) -> list[str]:
    """Words of our options and the plan's, each option once: both have lists, if they have it."""
    merged = own | {name: ",".join(filter(None, (own.get(name), more[name]))) for name in more}
    return [word for name, value in merged.items() for word in (name, value) if word]


def mount_command(volume: Volume, devices: list[str], point: Path) -> list[str]:
    """The command that mounts it; for btrfs with all its drives."""
    kind = volume.file_system.type
    others = [f"device={device}" for device in devices[1:]] if kind == "btrfs" else []
    options = ",".join((*volume.file_system.mount_options, *others)) or "defaults"
    return ["mount", "-t", kind, "-o", options, devices[0], str(point)]


# Partitions: several volumes of one storage on the same drives, each of its own size.

MIB = 2**20
AROUND_BYTES = 2 * MIB
"""For the table at both ends of a drive, and to begin the first partition at a whole MiB."""


def by_drive(storage: Storage) -> dict[WholeDrive, dict[str, int]]:
    """The partitions of each drive: bytes by the key of the volume's path, in their order.

    Raises PlanError for a drive that is not here.
    """
    volumes = {key: one for key, one in storage.volumes_by_path.items() if one.size}
    here, found = identities() if volumes else [], dict[WholeDrive, dict[str, int]]()
    for key, volume in volumes.items():
        for name in volume.named_drives:
            found.setdefault(named(here, name), {})[key] = volume.size or 0
    return found


def recorded_table(
    journal: Journal, device: WritableDevice, volumes: Sequence[str]
) -> AbstractContextManager[WrittenTable]:
    """A table that is about to be written to a drive; it is removed at the end. `volumes`: UUIDs of
    what is made in its partitions.
    """
    facts = {"table": str(uuid.uuid4()), "volumes": tuple(volumes)}
    return record_change(journal, WrittenTable, "a partition table", device, **facts)


def write_table(
    table: WrittenTable, device: WritableDevice, sizes: Sequence[int], stack: ExitStack
) -> list[WritableDevice]:
    """Its partitions, of so many bytes each, with nothing in them, open until the stack ends.
    Raises OSError where it cannot be written.
    """
    lines = ["label: gpt", f"label-id: {table.table}", *(f"size={n // MIB}MiB" for n in sizes)]
    always = ("--wipe", "always", "--wipe-partitions", "always")
    script = "\n".join(lines) + "\n"
    run_on([device], "sfdisk", "--quiet", *always, device.path, given=script)
    shown = show_partitions(device)
    if list(map(size_bytes, shown)) != list(sizes):  # sfdisk makes the last one fit
        raise OSError(f"sfdisk made no partitions of these sizes on {device.path}")
    partitions = [stack.enter_context(made(one, is_partition_of(device))) for one in shown]
    for partition in partitions:
        partition.drives = device.drives
        run_on([partition], "wipefs", "--all", partition.path)  # an earlier volume's at that place
    return partitions
