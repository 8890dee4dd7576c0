"""The inventory: every drive of this machine as a whole, with what it is, how it is, what uses it
and what is on it.

Facts come from lsblk(8), /sys, /proc, wipefs(8), smartctl(8) and nvme(1). Nothing is written, and
what cannot be read stays unknown.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from kneebench.errors import KneebenchError, PlanError
from kneebench.lab.drives import whole_devices
from kneebench.lab.inventory.block_devices import BlockDevice, listed_devices
from kneebench.lab.inventory.health import health
from kneebench.lab.inventory.holders import Holders, number_of
from kneebench.lab.inventory.identity import identified
from kneebench.lab.inventory.signatures import signatures
from kneebench.lab.inventory.sources import Sources
from kneebench.records import Signature, WholeDrive

__all__ = [
    "Sources",
    "content_of",
    "drives_called",
    "drives_under",
    "identities",
    "inventory",
    "named",
]


def inventory(sources: Sources | None = None) -> list[WholeDrive]:
    """The drives of this machine, by name; those of no size (empty slots, unused loops) are left
    out.

    Raises KneebenchError where lsblk is missing or fails.
    """
    sources = sources or Sources()
    devices, holders = listed_devices(sources), Holders(sources)
    return [_drive(sources, device, holders) for device in devices]


def _drive(sources: Sources, device: BlockDevice, holders: Holders) -> WholeDrive:
    drive = _described(sources, device)
    found, unreadable = _content(device, drive.key)
    return drive.model_copy(
        update={
            "holders": holders.of(device),
            "system": holders.runs_the_system(device),
            "signatures": found,
            "unreadable": unreadable,
        }
    )


def _content(device: BlockDevice, key: str) -> tuple[tuple[Signature, ...] | None, str]:
    """(what is on a drive or None, why it is unknown). Who may read a drive but is not root sees
    not all that uses it, so its content proves nothing.
    """
    if os.geteuid() != 0:
        return None, "only root can see all that is on it and uses it"
    try:
        return signatures(device, key), ""
    except OSError as error:
        return None, error.strerror or str(error)


def content_of(drive: WholeDrive, sources: Sources | None = None) -> tuple[Signature, ...]:
    """What is on a drive now. Raises OSError if it cannot be read, or is not here any more."""
    sources = sources or Sources()
    for device in listed_devices(sources):
        if device.path == drive.path and identified(sources, device).key == drive.key:
            return signatures(device, drive.key)
    raise FileNotFoundError(f"{drive.path} is not {drive.key} any more")


def identities(sources: Sources | None = None) -> list[WholeDrive]:
    """The drives of this machine with what they are; how they are, what uses them and what is on
    them is not looked at. Raises KneebenchError where lsblk is missing or fails.
    """
    sources = sources or Sources()
    return [identified(sources, device) for device in listed_devices(sources)]


def _described(sources: Sources, device: BlockDevice) -> WholeDrive:
    return _with_health(sources, identified(sources, device), device)


def _with_health(sources: Sources, drive: WholeDrive, device: BlockDevice) -> WholeDrive:
    return drive.model_copy(update={"health": health(sources, device)})


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
    """The drive of that name: its kernel name, a path to its device, or its WWID.

    Raises PlanError with the names there are, or where several drives have that WWID.
    """
    number = number_of(Path(name)) if "/" in name else ""
    found = [
        drive
        for drive in drives
        if name in (drive.name, drive.wwid) or (number and number == number_of(Path(drive.path)))
    ]
    if name and len(found) == 1:
        return found[0]
    names = ", ".join(drive.name for drive in (found if name and found else drives)) or "none"
    raise PlanError(
        f"drive {name!r}",
        seen="several drives have this name" if name and found else "no such drive here",
        do=f"use one of {names} (kneebench drives)",
    )
