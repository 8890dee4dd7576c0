"""The loop devices of this machine, and the file behind each.

The kernel says which file that is where the loop device can be opened: the path of the file may
lead elsewhere. In a container, its node in /dev may be missing; then its path has to do.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kneebench.lab.drives import name_in
from kneebench.lab.inventory.sources import Sources
from kneebench.lab.open_device import OpenDevice, number_of_device
from kneebench.records import LoopFile


class Loops(NamedTuple):
    """The file behind each loop device, by its name, and the names of those whose file is unknown:
    each may use any drive.
    """

    files: dict[str, LoopFile]
    unknown: tuple[str, ...]


def loops_of(sources: Sources) -> Loops:
    """Those that have a file or a device behind them."""
    files: dict[str, LoopFile] = {}
    unknown = []
    for folder in _bound(sources):
        try:
            file = _file_behind(sources, folder)
        except OSError:
            unknown.append(folder.name)
        else:
            files |= {folder.name: file} if file else {}
    return Loops(files, tuple(unknown))


def _bound(sources: Sources) -> Iterator[Path]:
    yield from sorted(one.parent for one in (sources.sys / "block").glob("loop*/loop"))


def _file_behind(sources: Sources, folder: Path) -> LoopFile | None:
    """The file behind a loop device, by its folder in sysfs; None if it was detached meanwhile.
    Raises OSError if it is unknown.
    """
    try:
        with OpenDevice(str(sources.dev / folder.name)) as device:
            if device.identity.number == sources.line(folder, "dev"):
                return device.identity.file
    except OSError:
        pass
    name = name_in(folder / "loop" / "backing_file")
    return _file_at(Path(name)) if name else None


def _file_at(path: Path) -> LoopFile:
    """A file as the kernel would say it of a loop device over it. Raises OSError."""
    seen = path.stat()
    block = number_of_device(seen.st_rdev) if stat.S_ISBLK(seen.st_mode) else ""
    if not (block or stat.S_ISREG(seen.st_mode)):
        raise OSError(f"{os.fspath(path)} is neither a file nor a block device")
    return LoopFile(device=seen.st_dev, inode=seen.st_ino, block=block)
