"""Layouts: several drives as one device, by md, or as one file system, by btrfs."""

from __future__ import annotations

from pathlib import Path

from kneebench.lab.programs import found, run_program
from kneebench.plan.volume import Volume


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
