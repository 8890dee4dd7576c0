"""What a drive is: its names, sizes, link and queue, from lsblk and sysfs.

`rotational` is left out: virtual disks and loop devices read 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from kneebench.lab.drives import SECTOR_BYTES, kept_name
from kneebench.lab.inventory.block_devices import BlockDevice
from kneebench.lab.inventory.sources import Sources
from kneebench.records import WholeDrive


def identified(sources: Sources, device: BlockDevice) -> WholeDrive:
    """The drive with what it is; its state, holders and content are not looked at."""
    folder = sources.sys / "block" / device.name
    transport = device.text("tran") or _bus(folder)
    return WholeDrive(
        name=device.name,
        path=device.path,
        kind=device.type,
        wwid=kept_name(folder) or device.text("wwn"),
        by_id=tuple(_by_id(sources, device)),
        model=device.text("model") or sources.line(folder, "device/model"),
        serial=device.text("serial") or sources.line(folder, "serial"),
        firmware=device.text("rev") or sources.line(folder, "device/firmware_rev"),
        size_bytes=int(device.facts["size"]),
        logical_block_bytes=device.facts.get("log-sec"),
        physical_block_bytes=device.facts.get("phy-sec"),
        transport=transport,
        **_link(sources, folder, transport),
        numa_node=_numa_node(sources, folder),
        scheduler=device.text("sched"),
        read_ahead_bytes=_times(sources.number(folder, "queue/read_ahead_kb"), 1024),
        write_cache=sources.line(folder, "queue/write_cache"),
        volatile_write_cache=_volatile_cache(sources, device),
        read_only=bool(device.facts.get("ro")),
        accepts_trim=_accepts_trim(sources.number(folder, "queue/discard_max_bytes")),
        boot=sources.line(sources.proc, "sys/kernel/random/boot_id"),
        boot_written_bytes=_written_bytes(sources.line(folder, "stat")),
    )


def _volatile_cache(sources: Sources, device: BlockDevice) -> bool | None:
    """Of an NVMe drive, by its controller (Identify Controller, VWC bit 0): without one a write
    that was acknowledged survives a power loss. Not from sysfs, which an administrator may change.
    """
    if not device.name.startswith("nvme"):
        return None
    found = sources.document(["nvme", "id-ctrl", "--output-format=json", device.path]) or {}
    return bool(found["vwc"] & 1) if isinstance(found.get("vwc"), int) else None


def _accepts_trim(most_bytes: int | None) -> bool | None:
    """By the most bytes that the kernel trims at once (kernel documentation, block/queue-sysfs)."""
    return None if most_bytes is None else most_bytes > 0


def _written_bytes(counters: str) -> int | None:
    """From a device's counters: the seventh is sectors of 512 bytes written (kernel
    documentation, block/stat).
    """
    fields = counters.split()
    return SECTOR_BYTES * int(fields[6]) if len(fields) > 6 else None


def _times(number: int | None, factor: int) -> int | None:
    return None if number is None else number * factor


def _bus(folder: Path) -> str:
    """The bus of a device that lsblk names no transport of; loop devices have none."""
    subsystem = folder / "device" / "subsystem"
    return subsystem.resolve().name if subsystem.exists() else ""


def _by_id(sources: Sources, device: BlockDevice) -> Iterator[str]:
    folder = sources.dev / "disk" / "by-id"
    if folder.is_dir():
        for link in sorted(folder.iterdir()):
            if link.resolve().name == device.name:
                yield str(link)


def _link(sources: Sources, folder: Path, transport: str) -> dict[str, str]:
    """How a drive is reached: over a network by which address, else by which PCIe link."""
    over_a_network = _fabrics(sources, folder) or _iscsi(sources, folder)
    return {"link": over_a_network} if over_a_network else _pcie(sources, folder, transport)


def _fabrics(sources: Sources, folder: Path) -> str:
    """NVMe over fabrics: the controller names its transport and its target's address."""
    controller = next(_upwards(folder))
    transport = sources.line(controller, "transport")
    if transport in ("", "pcie"):
        return ""
    return f"NVMe over {transport}, {sources.line(controller, 'address')}"


def _iscsi(sources: Sources, folder: Path) -> str:
    """iSCSI: the session above the drive has a connection with the target's address."""
    session = next((one for one in _upwards(folder) if re.fullmatch(r"session\d+", one.name)), None)
    for found in sorted(session.glob("connection*/iscsi_connection/*")) if session else ():
        address, port = (sources.line(found, f"persistent_{what}") for what in ("address", "port"))
        return f"iSCSI, {address}:{port}"
    return ""


def _pcie(sources: Sources, folder: Path, transport: str) -> dict[str, str]:
    """The link of an NVMe drive. That of any other is its controller's, which it shares."""
    if transport != "nvme":
        return {}
    at = next(
        (place for place in _upwards(folder) if (place / "current_link_speed").exists()), None
    )
    if at is None:
        return {}

    def link(which: str) -> str:
        speed, width = (sources.line(at, f"{which}_link_{what}") for what in ("speed", "width"))
        return f"{speed.removesuffix(' PCIe')} x{width}" if speed and width else ""

    return {"link": link("current"), "link_most": link("max")}


def _numa_node(sources: Sources, folder: Path) -> int | None:
    """Of the drive's controller; None where the machine has one node and says -1."""
    found = (sources.number(place, "numa_node") for place in _upwards(folder))
    return next((node for node in found if node is not None and node >= 0), None)


def _upwards(folder: Path) -> Iterator[Path]:
    """The device of a block device in sysfs, then those that it is plugged into. Of a drive that
    native NVMe multipath reaches by several controllers, the first controller.
    """
    here = (folder / "device").resolve()
    if here.name.startswith("nvme-subsys"):
        controllers = (one for one in here.iterdir() if re.fullmatch(r"nvme\d+", one.name))
        here = min(controllers, key=lambda one: one.name, default=here).resolve()
    yield from (here, *here.parents)
