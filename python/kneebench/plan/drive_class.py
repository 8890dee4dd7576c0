"""Classes of emulated drives: what a drive of a class allows, and a layout of several."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from kneebench.plan.storage import Storage
from kneebench.plan.volume import COPIES, Volume


class DriveClass(NamedTuple):
    """The limits of a class of emulated drives; 0 for none. `total_iops`: reads and writes
    together, with bursts of `burst_iops` for at most `burst_s`. `read_bytes_per_s`: of reads alone.
    `in_memory`: where its file is.
    """

    read_iops: int = 0
    write_iops: int = 0
    read_bytes_per_s: int = 0
    total_iops: int = 0
    burst_iops: int = 0
    burst_s: int = 0
    in_memory: bool = False

    def of_layout(self, drives: int, copies: int) -> DriveClass:
        """The limits of a layout of such drives: each copy of a block can be read, and every copy
        must be written.
        """
        total = drives * self.total_iops
        writes = drives * self.write_iops or (total if copies > 1 else 0)
        return self._replace(
            read_iops=drives * self.read_iops,
            write_iops=writes // copies,
            read_bytes_per_s=drives * self.read_bytes_per_s,
            total_iops=total,
            burst_iops=drives * self.burst_iops,
        )

    @property
    def limits(self) -> tuple[str, ...]:
        """As options of qemu throttle groups, one behind the other: one group cannot have a limit
        of all I/Os beside others (throttle_is_valid).
        """
        apart = {
            "iops-read": self.read_iops,
            "iops-write": self.write_iops,
            "bps-read": self.read_bytes_per_s,
        }
        together = {
            "iops-total": self.total_iops,
            "iops-total-max": self.burst_iops,
            "iops-total-max-length": self.burst_s,
        }
        groups = (
            ",".join(f"x-{key}={value}" for key, value in keys.items() if value)
            for keys in (apart, together)
        )
        return tuple(filter(None, groups))


@cache
def drive_classes() -> dict[str, DriveClass]:
    """The classes by name.

    >>> drive_classes()["sata"].limits
    ('x-iops-read=1500,x-iops-write=400',)
    """
    text = files(__package__).joinpath("emulated_drives.toml").read_text()
    return {name: DriveClass(**limits) for name, limits in tomllib.loads(text).items()}


def class_limits(volume: Volume) -> dict[str, int]:
    """Reads and writes per second of a file on a volume of emulated drives that are all of one
    class; without a limit, or with other drives, none.
    """
    drives = volume.emulated_drives
    if not drives or volume.named_drives or len({drive.emulated for drive in drives}) > 1:
        return {}
    copies = COPIES[volume.layout]
    layout = drive_classes()[drives[0].emulated].of_layout(len(drives), copies)
    every = {
        "read": layout.read_iops or layout.total_iops,
        "write": layout.write_iops or layout.total_iops,
    }
    return {kind: limit for kind, limit in every.items() if limit}


def device_limits(storage: Storage) -> dict[str, int]:
    """The same of a storage's data, as its devices count them: a copy on a device of its own is one
    more write. None where a class allows bursts, or where the log has its share of them.
    """
    drives = storage.emulated_drives
    bursts = any(drive_classes()[one.emulated].burst_iops for one in drives)
    if bursts or storage.shares_emulated_drives:
        return {}
    times = {"read": 1, "write": storage.copies}
    return {kind: times[kind] * limit for kind, limit in class_limits(storage).items()}
