"""The devices under a storage: their volumes, and what each of them did in a rung's window.

A volume is the devices that hold the same directories of the server. Its own figures count every
I/O once: rates, bytes and queues are sums, an await is the mean over all its I/Os, utilization is
the mean of its devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from kneebench.records import CountedDevice, Record, Rung

KINDS = ("read", "write", "flush")
OPS = {"read": "device.reads", "write": "device.writes", "flush": "device.flushes"}
TIMES = {"read": "device.read_time", "write": "device.write_time", "flush": "device.flush_time"}
"""Quantities by kind: I/Os that ended, and the time that they took in all."""
QUEUE, BUSY = "device.queue_depth", "device.busy"

HOLDS: dict[tuple[int, ...], str] = {(0,): "data", (1,): "log"}
"""A managed server has its data in the first directory, its log in the second."""

Volume = tuple[CountedDevice, ...]


class DeviceLoad(Record):
    """Means of a window for one device, or for all of a volume (`device` is empty).

    Await: from the block layer's queue to the end of the I/O; None where none ended, or the kernel
    does not count them. `queue_depth`: I/Os in flight; `busy`: the share of the time with any.
    `devices`: how many these are.
    """

    device: str = ""
    drive: str = ""
    directories: tuple[int, ...] = ()
    devices: int = 1
    reads_per_s: float = 0.0
    writes_per_s: float = 0.0
    flushes_per_s: float | None = None
    read_bytes_per_s: float = 0.0
    write_bytes_per_s: float = 0.0
    read_await_s: float | None = None
    write_await_s: float | None = None
    flush_await_s: float | None = None
    queue_depth: float = 0.0
    busy: float = 0.0

    @property
    def ops_per_s(self) -> float:
        """Reads and writes."""
        return self.reads_per_s + self.writes_per_s


def volumes(rung: Rung) -> tuple[Volume, ...]:
    """The devices that were read during a rung, by volume, the data's first.

    Older files do not say what a device holds: there each is a volume.
    """
    read = rung.quantities[BUSY].sources if BUSY in rung.quantities else {}
    known = {device.name: device for device in rung.devices}
    found: dict[tuple[int, ...] | str, list[CountedDevice]] = {}
    for name in read:
        device = known.get(name) or CountedDevice(name=name)
        found.setdefault(device.directories or name, []).append(device)
    return tuple(
        tuple(one) for one in sorted(found.values(), key=lambda one: one[0].directories or (0,))
    )


def name_of(volume: Volume, among: Sequence[Volume]) -> str:
    """A volume's name within its storage: what it holds, or its only device."""
    first = volume[0]
    if len(among) == 1 and len(volume) > 1:
        return "all drives"
    known = HOLDS.get(first.directories, "") if len(among) > 1 else ""
    return known or first.name


def device_loads(rung: Rung, volume: Volume) -> tuple[DeviceLoad, ...]:
    """What each device of a volume did in the window."""
    return tuple(_load(rung, [device], device.name, device.drive) for device in volume)


def volume_load(rung: Rung, volume: Volume) -> DeviceLoad:
    """What the devices of a volume did together in the window."""
    return _load(rung, volume)


def _load(
    rung: Rung, devices: Sequence[CountedDevice], name: str = "", drive: str = ""
) -> DeviceLoad:
    def values(quantity: str) -> list[float]:
        sources = rung.quantities[quantity].sources if quantity in rung.quantities else {}
        return [sources[device.name] for device in devices if device.name in sources]

    def total(quantity: str) -> float:
        return sum(values(quantity))

    waits = {
        f"{kind}_await_s": total(TIMES[kind]) / ops if (ops := total(OPS[kind])) else None
        for kind in KINDS
    }
    return DeviceLoad(
        device=name,
        drive=drive,
        directories=devices[0].directories,
        devices=len(devices),
        reads_per_s=total("device.reads"),
        writes_per_s=total("device.writes"),
        flushes_per_s=total("device.flushes") if values("device.flushes") else None,
        read_bytes_per_s=total("device.read_bytes"),
        write_bytes_per_s=total("device.write_bytes"),
        queue_depth=total(QUEUE),
        busy=fmean(values(BUSY) or [0.0]),
        **waits,
    )
