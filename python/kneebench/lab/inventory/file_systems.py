"""File systems on a drive that are mounted here: how full they are, and whether they trim it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from kneebench.errors import KneebenchError
from kneebench.lab.drives import Mount, kept_name, visible_mounts, whole_devices
from kneebench.lab.inventory.block_devices import BlockDevice, listed_devices
from kneebench.lab.inventory.sources import Sources
from kneebench.records import DriveFill

FSTRIM = Path("/var/lib/systemd/timers/stamp-fstrim.timer")
"""systemd changes it when it runs fstrim(8) on the file systems of /etc/fstab."""


def drive_fills(paths: Iterable[Path], sources: Sources | None = None) -> tuple[DriveFill, ...]:
    """How full the drives under some paths are now; without those that have no file system that is
    mounted here. Empty without lsblk.
    """
    sources = sources or Sources()
    names = whole_devices(paths)
    with contextlib.suppress(KneebenchError):
        devices = listed_devices(sources) if names else ()
        fills = (_fill(sources, device) for device in devices if device.name in names)
        return tuple(filter(None, fills))
    return ()


def trims(sources: Sources, device: BlockDevice, stamp: Path = FSTRIM) -> tuple[str, ...]:
    """What is known to trim a drive, or to have trimmed it; empty for nothing, which does not mean
    that nothing did.
    """
    mounts = _file_systems(sources, device)
    by_option = tuple(
        f"mount option {option} ({mount.point})"
        for mount in mounts
        for option in mount.options
        if option.partition("=")[0] == "discard"
    )
    return (*by_option, *(_by_timer(stamp) if mounts else ()))


def _by_timer(stamp: Path) -> Iterator[str]:
    with contextlib.suppress(OSError):
        at = datetime.fromtimestamp(stamp.stat().st_mtime, UTC)
        yield f"fstrim.timer (last on {at:%Y-%m-%d})"


def _file_systems(sources: Sources, device: BlockDevice) -> Sequence[Mount]:
    """Each once, whatever it is mounted on; btrfs has numbers of its own and is known by its
    source.
    """
    numbers = {one.number for one in device.all()}
    devices = {one.path for one in device.all()}
    with contextlib.suppress(OSError):
        found = visible_mounts(sources.proc / "self")
        of_it = (one for one in found if one.device in numbers or one.source in devices)
        return tuple({mount.device: mount for mount in of_it}.values())
    return ()


def _fill(sources: Sources, device: BlockDevice) -> DriveFill | None:
    size_bytes = used_bytes = 0
    for mount in _file_systems(sources, device):
        with contextlib.suppress(OSError):
            seen = os.statvfs(mount.point)
            size_bytes += seen.f_blocks * seen.f_frsize
            used_bytes += (seen.f_blocks - seen.f_bfree) * seen.f_frsize
    if not size_bytes:
        return None
    name = kept_name(sources.sys / "block" / device.name) or device.text("wwn") or device.name
    return DriveFill(drive=name, size_bytes=size_bytes, used_bytes=used_bytes)
