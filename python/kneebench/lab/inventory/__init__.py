"""The inventory: drives of this machine as a whole, with what each is, how it is, what uses it and
what is on it.

Facts come from lsblk(8), /sys, /proc, wipefs(8), smartctl(8) and nvme(1). Nothing is written, and
what cannot be read stays unknown. Only drives that somebody asks for are opened.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from kneebench.errors import KneebenchError, PlanError
from kneebench.lab.drives import whole_devices
from kneebench.lab.inventory.block_devices import BlockDevice, listed_devices
from kneebench.lab.inventory.content import content_of
from kneebench.lab.inventory.file_systems import drive_fills, trims
from kneebench.lab.inventory.health import health
from kneebench.lab.inventory.holders import Holders
from kneebench.lab.inventory.identity import identified
from kneebench.lab.inventory.left import is_as_left
from kneebench.lab.inventory.sources import Sources
from kneebench.lab.open_device import LOOKS_S, OpenDevice, counted_writes, number_at
from kneebench.lab.programs import wait_until
from kneebench.records import Watch, WholeDrive, WriteCount, unwatched

__all__ = [
    "Sources",
    "drive_fills",
    "drives_called",
    "drives_under",
    "identities",
    "inventory",
    "look_at",
    "named",
]
MOMENTARY = {"process", "kernel"}
"""What is only opened is looked at again for a while: udev, losetup and another kneebench open
drives for an instant."""


def inventory(
    names: Iterable[str] | None = None, sources: Sources | None = None, watch: Watch = unwatched
) -> list[WholeDrive]:
    """The drives of these names, in their order, each once; all drives of this machine without any,
    except those of no size (empty slots, unused loops).

    Raises PlanError for a name that no drive has, KneebenchError where lsblk is missing or fails.
    """
    sources, devices = sources or Sources(), {}
    for device in listed_devices(sources):
        devices[device.path] = device
    if names is not None:
        here = [identified(sources, device) for device in devices.values()]
        devices = {path: devices[path] for path in (named(here, name).path for name in names)}
    holders = Holders(sources)
    return [_settled(sources, device, holders, watch) for device in devices.values()]


def _settled(sources: Sources, device: BlockDevice, holders: Holders, watch: Watch) -> WholeDrive:
    """A drive as it is when nobody has just opened it."""
    found = _drive(sources, device, holders, watch)

    def settled() -> bool:
        nonlocal found
        if momentary := {holder.kind for holder in found.holders} & MOMENTARY:
            found = _drive(sources, device, Holders(sources), watch)
        return not momentary

    wait_until(settled, LOOKS_S)
    return found


def look_at(drive: WholeDrive, *, ours: bool, watch: Watch = unwatched) -> WholeDrive:
    """A drive as it is now. `ours`: this process has it open exclusively. Raises OSError if it is
    not here any more.
    """
    sources = Sources()
    for device in listed_devices(sources):
        if device.path == drive.path:
            return _drive(sources, device, Holders(sources), watch, ours=ours)
    raise FileNotFoundError(f"{drive.path} is not here any more")


def _drive(
    sources: Sources, device: BlockDevice, holders: Holders, watch: Watch, *, ours: bool = False
) -> WholeDrive:
    used = {"holders": holders.of(device, ours=ours), "system": holders.runs_the_system(device)}
    drive = _described(sources, device).model_copy(update=used)
    return _with_content(drive, device, holders.may_be_used_by(device), watch)


def _with_content(
    drive: WholeDrive, device: BlockDevice, may_use: Sequence[str], watch: Watch
) -> WholeDrive:
    """A drive with what is on it, or why that is unknown. Who may read a drive but is not root sees
    not all that uses it, so its content proves nothing. `may_use`: loop devices that may be over
    it.
    """
    if os.geteuid() != 0:
        seen = "only root can see all that is on it and uses it"
        return drive.model_copy(update={"unreadable": seen})
    if may_use:
        loops = ", ".join(may_use)
        seen = f"loop devices of this machine cannot be looked at, and may be over it: {loops}"
        return drive.model_copy(update={"unreadable": seen})
    try:
        with OpenDevice(device.path) as opened:
            read = _read(drive, device, opened, watch)
    except OSError as error:
        return drive.model_copy(update={"unreadable": error.strerror or str(error)})
    drive = drive.model_copy(update=read)
    return drive.model_copy(update={"as_left": is_as_left(drive)})


def _read(
    drive: WholeDrive, device: BlockDevice, opened: OpenDevice, watch: Watch
) -> dict[str, object]:
    """What is on an open drive. Raises OSError if it cannot be read, or is written to meanwhile."""
    if opened.identity.number != device.number:
        raise OSError(f"{device.path} leads to another device ({opened.identity.number})")
    if idle := not (drive.holders or drive.system):
        os.fsync(opened.handle)  # what was written to it before is counted now
    writes = counted_writes(opened)
    found = content_of(device, drive.key, watch, whole=idle)
    if idle:
        os.fsync(opened.handle)
        if counted_writes(opened) != writes:
            raise OSError("it was written to while it was read")
    counted = {"writes": writes} if isinstance(writes, WriteCount) else {"uncounted": writes}
    return {**found._asdict(), "identity": opened.identity, **counted}


def identities(sources: Sources | None = None) -> list[WholeDrive]:
    """The drives of this machine with what they are; how they are, what uses them and what is on
    them is not looked at. Raises KneebenchError where lsblk is missing or fails.
    """
    sources = sources or Sources()
    return [identified(sources, device) for device in listed_devices(sources)]


def _described(sources: Sources, device: BlockDevice) -> WholeDrive:
    return _with_health(sources, identified(sources, device), device)


def _with_health(sources: Sources, drive: WholeDrive, device: BlockDevice) -> WholeDrive:
    found = {"health": health(sources, device), "trims": trims(sources, device)}
    return drive.model_copy(update=found)


def drives_under(paths: Iterable[Path], sources: Sources | None = None) -> tuple[WholeDrive, ...]:
    """The drives under some paths, with their health; what uses them and what is on them is
    not looked at. Empty without lsblk.
    """
    sources = sources or Sources()
    names = whole_devices(paths)
    with contextlib.suppress(KneebenchError):
        return tuple(
            _described(sources, device)
            for device in (listed_devices(sources) if names else ())
            if device.name in names
        )
    return ()


def drives_called(names: Iterable[str], sources: Sources | None = None) -> tuple[WholeDrive, ...]:
    """The drives of these names, as `drives_under` gives them. Raises PlanError for one that is
    not here.
    """
    sources, wanted = sources or Sources(), list(names)
    devices = {one.path: one for one in listed_devices(sources)} if wanted else {}
    here = [identified(sources, one) for one in devices.values()]
    found = (named(here, name) for name in wanted)
    return tuple(_with_health(sources, one, devices[one.path]) for one in found)


def named(drives: Sequence[WholeDrive], name: str) -> WholeDrive:
    """The drive of that name: a path to its device, else its kernel name or its WWID. The WWID of
    a loop device over another one is the path of that.

    Raises PlanError with the names there are, or where several drives have that WWID.
    """
    number = number_at(name) if "/" in name else ""
    found = [drive for drive in drives if number and number == number_at(drive.path)]
    found = found or [drive for drive in drives if name in (drive.name, drive.wwid)]
    if name and len(found) == 1:
        return found[0]
    names = ", ".join(drive.name for drive in (found if name and found else drives)) or "none"
    raise PlanError(
        f"drive {name!r}",
        seen="several drives have this name" if name and found else "no such drive here",
        do=f"use one of {names} (kneebench drives)",
    )
