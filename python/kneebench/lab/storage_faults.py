"""Faults under a server's directories: a device that refuses writes, a volume that is gone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from kneebench.lab.drives import BLOCK_DEVICES, devices_under, mount_of, text_in
from kneebench.lab.own_devices import POINT


def storage_faults(paths: Iterable[Path]) -> tuple[str, ...]:
    """What is wrong under these paths now, in words: a kernel that met errors on a drive, or an
    administrator, made it read-only, or a volume of ours was unmounted.
    """
    return tuple(dict.fromkeys(fault for path in paths for fault in _faults(path)))


def _faults(path: Path) -> Iterator[str]:
    if path.match(POINT.format("*")) and not os.path.ismount(path):
        yield f"the volume on {path} is no longer mounted"
        return
    mount = mount_of(path)
    if "ro" in mount.options:
        yield f"the file system on {mount.point} became read-only"
    for device in sorted(devices_under(path)):
        if text_in(BLOCK_DEVICES / device, "ro") == "1":
            yield f"{device} became read-only"
