"""The block devices under the storage, from /proc/diskstats (all 17 fields, flushes included since
Linux 5.5).

Counted is the whole device at the bottom (through loop, partition, md and dm), once, however many
of the storage's paths stand on it; never a partition and its disk together (a peer once reported
6,000 IOPS for a volume of 3,000). Sectors are of 512 bytes whatever the device's own
(Documentation/admin-guide/iostats.rst). The await that follows from these counters does not see
waits above the block layer (throttling by cgroup): read it beside the pressure and the database's
own log times.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kneebench.lab.drives import IN_MEMORY, drive_of, file_system_of, whole_devices
from kneebench.measurement.meters.meter import KernelFile, Meter, MeterContext, UnavailableMeter
from kneebench.records import Remark, noted

QUANTITIES = (
    "device.reads",
    "device.writes",
    "device.flushes",
    "device.read_bytes",
    "device.write_bytes",
    "device.read_time",
    "device.write_time",
    "device.flush_time",
    "device.busy",
    "device.queue_depth",
)
SECTOR_BYTES = 512
FIELDS = {
    # quantity: (field after the name, its unit)
    "device.reads": (0, 1.0),
    "device.read_bytes": (2, float(SECTOR_BYTES)),
    "device.read_time": (3, 1e-3),
    "device.writes": (4, 1.0),
    "device.write_bytes": (6, float(SECTOR_BYTES)),
    "device.write_time": (7, 1e-3),
    "device.busy": (9, 1e-3),
    "device.queue_depth": (10, 1e-3),
    "device.flushes": (15, 1.0),
    "device.flush_time": (16, 1e-3),
}


class Devices:
    """The counters of some devices by their names in /proc/diskstats."""

    name = "devices"
    quantities = QUANTITIES

    def __init__(
        self,
        names: Sequence[str],
        file: Path = Path("/proc/diskstats"),
        notes: tuple[Remark, ...] = (),
    ) -> None:
        self._names = frozenset(name.encode() for name in names)
        self._file = KernelFile(file)
        self.notes = notes

    def read(self) -> dict[str, float]:
        """Cumulative counts, bytes and seconds by device; flushes only where the kernel counts
        them.
        """
        found: dict[str, float] = {}
        for line in self._file.read().splitlines():
            words = line.split()
            if len(words) > 13 and words[2] in self._names:
                fields = words[3:]
                for quantity, (place, unit) in FIELDS.items():
                    if place < len(fields):
                        found[f"{quantity}|{words[2].decode()}"] = int(fields[place]) * unit
        return found


def open_meter(context: MeterContext) -> Meter:
    """The devices under the storage paths; where there is none, a note says what there is
    instead.
    """
    if not context.storage_paths:
        why = (
            "the directories of the server's files are unknown"
            if context.server.cores
            else "the server's storage is not on this machine"
        )
        notes = noted("not_measured", f"devices not measured: {why}")
        return UnavailableMeter("devices", QUANTITIES, notes=notes)
    bare = (path for path in context.storage_paths if drive_of(path) is None)
    notes = tuple(dict.fromkeys(map(_without_device, bare)))
    names = whole_devices(context.storage_paths)
    return (
        Devices(names, notes=notes)
        if names
        else UnavailableMeter("devices", QUANTITIES, notes=notes)
    )


def _without_device(path: Path) -> Remark:
    kind = file_system_of(path)
    if kind in IN_MEMORY:
        words = f"memory-backed storage ({kind}): no device under it"
        return Remark(kind="memory_backed", severity="note", words=words)
    words = f"devices not measured: no block device is known under {kind}"
    return Remark(kind="not_measured", severity="note", words=words)
