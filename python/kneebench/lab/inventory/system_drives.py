"""The drives that this machine runs from: its own directories are on them, or its swap is."""

from __future__ import annotations

import contextlib

from kneebench.errors import KneebenchError
from kneebench.lab.inventory.block_devices import listed_devices
from kneebench.lab.inventory.holders import Holders
from kneebench.lab.inventory.identity import identified
from kneebench.lab.inventory.sources import Sources
from kneebench.records import SystemDrive


def system_drives(sources: Sources) -> tuple[SystemDrive, ...]:
    """Each with its model and size, none of them opened. Empty without lsblk, and in a container,
    which does not see them.
    """
    holders = Holders(sources)
    with contextlib.suppress(KneebenchError):
        devices = filter(holders.runs_the_system, listed_devices(sources))
        found = [identified(sources, device) for device in devices]
        return tuple(
            SystemDrive(
                name=one.name, model=one.model, size_bytes=one.size_bytes, transport=one.transport
            )
            for one in found
        )
    return ()
