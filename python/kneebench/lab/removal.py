"""The removal of directories that we made: which are ours, in what order they go, and whether one can be said to be gone."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

from kneebench.lab.drives import mount_of
from kneebench.lab.processes import boot

MARKER = ".kneebench-made-this"
"""In every directory that we made: nothing without it is ever removed, save one that is empty."""
MEMORY = frozenset(["tmpfs", "ramfs"])


class Ground(NamedTuple):
    """The file system that a directory lies on, as it is known again after a reboot: the numbers of devices change."""

    point: str
    type: str
    source: str


def ground_of(path: Path) -> Ground:
    """The ground of a path, or of its nearest parent that exists."""
    mount = mount_of(path)
    return Ground(str(mount.point), mount.type, mount.source)


def is_away(ground: Ground, made_in: str) -> bool:
    """Whether a file system that was mounted in that boot is not mounted where it was. Memory does not outlive its boot."""
    if ground.point == "/" or (ground.type in MEMORY and made_in != boot()):
        return False
    return ground_of(Path(ground.point)) != ground


def remove(path: Path) -> bool:
    """Remove a directory of ours; whether there was one.

    The marker goes last, so that what an interrupted removal leaves is still known as ours. An empty one counts as ours: its
    marker was not yet written, or went just before the end.
    """
    if not is_ours(path):
        return False
    for item in path.iterdir():
        if item.is_dir() and not item.is_symlink():
            shutil.rmtree(item)
        elif item.name != MARKER:
            item.unlink()
    (path / MARKER).unlink(missing_ok=True)
    path.rmdir()
    return True


def is_ours(path: Path) -> bool:
    """Whether a directory is there with our marker, or empty."""
    try:
        names = os.listdir(path)  # noqa: PTH208 an error of the drive is one here, also where pathlib takes it for "not there"
    except (FileNotFoundError, NotADirectoryError):
        return False
    return not path.is_symlink() and (not names or MARKER in names)
