"""Block devices as lsblk(8) lists them: whole devices, with what is on top of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kneebench.errors import KneebenchError
from kneebench.lab.inventory.sources import Sources

COLUMNS = "NAME,KNAME,PATH,MAJ:MIN,TYPE,MODEL,SERIAL,WWN,REV,SIZE,LOG-SEC,PHY-SEC,TRAN,SCHED,RO"
LSBLK = ("lsblk", "--json", "--bytes", "--output", COLUMNS)
TRIES = 3
"""Where a device goes while it is listed, lsblk may print nothing whole."""
NO_DRIVES = ("zram", "ram", "sr", "fd")
"""Kernel names that begin so are memory, discs and floppies."""


class BlockDevice(NamedTuple):
    """A block device: `number` is "major:minor"; `on_top`: partitions, arrays and volumes that use
    it; `facts`: lsblk's columns.
    """

    name: str
    path: str
    number: str
    type: str
    facts: Mapping[str, Any]
    on_top: tuple[BlockDevice, ...] = ()

    def all(self) -> Iterator[BlockDevice]:
        """It, and everything on top of it."""
        yield self
        for device in self.on_top:
            yield from device.all()

    def text(self, column: str) -> str:
        """A column; empty if lsblk does not know it."""
        return str(self.facts.get(column) or "").strip()


def listed_devices(sources: Sources) -> list[BlockDevice]:
    """The devices at the bottom, by name. Raises KneebenchError where lsblk is missing or fails."""
    found = sources.document(LSBLK, TRIES)
    if found is None:
        raise KneebenchError(
            "cannot list the drives",
            seen="lsblk is missing or prints no JSON",
            do="install util-linux 2.33 or later",
        )
    devices = [_device(one) for one in found.get("blockdevices", ())]
    return sorted(filter(_is_drive, devices), key=lambda device: device.name)


def _device(facts: Mapping[str, Any]) -> BlockDevice:
    on_top = tuple(_device(child) for child in facts.get("children", ()))
    name, path = facts["kname"], facts["path"]
    return BlockDevice(name, path, facts["maj:min"], facts["type"], facts, on_top)


def _is_drive(device: BlockDevice) -> bool:
    return bool(int(device.facts.get("size") or 0)) and not device.name.startswith(NO_DRIVES)
