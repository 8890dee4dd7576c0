"""What is mounted inside an open directory: a file system, or a directory or file of the same one
(bind mount), which no device number shows.
"""

from __future__ import annotations

import errno
from pathlib import Path
from typing import NamedTuple

from kneebench.lab.drives import Mount, visible_mounts


class _Place(NamedTuple):
    """A directory by its file system and its path there, however often that is mounted."""

    device: str
    path: Path


def mount_number(handle: int) -> int:
    """The number of the mount that an open file was reached by (proc(5), fdinfo)."""
    lines = Path(f"/proc/self/fdinfo/{handle}").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("mnt_id:"))


def mount_point_inside(handle: int) -> Path | None:
    """A mount point in an open directory, at any depth, or the directory itself where that is one;
    None where nothing is mounted in it.

    Those count too that are reached by another mount of its file system only: the kernel refuses to
    remove a mount point by any path. The mount table is read at once, and no file is opened.

    Raises OSError where the directory's own mount is not in the table (unmounted meanwhile).
    """
    there = {mount.number: mount for mount in visible_mounts()}
    own = there.get(mount_number(handle))
    path = Path(f"/proc/self/fd/{handle}").readlink()
    if own is None or not path.is_relative_to(own.point):
        raise OSError(errno.ESTALE, f"the file system of {path} is no longer mounted")
    if path == own.point:
        return path
    folder = _place_below(own, path)
    inside = (
        mount.point
        for mount in there.values()
        if (parent := there.get(mount.parent)) and _is_in(folder, parent, mount.point)
    )
    return next(inside, None)


def _place_below(mount: Mount, path: Path) -> _Place:
    return _Place(mount.device, mount.root / path.relative_to(mount.point))


def _is_in(folder: _Place, parent: Mount, point: Path) -> bool:
    """Whether a mount point, which lies on `parent`, is in the folder or the folder itself."""
    if not point.is_relative_to(parent.point):
        return False
    place = _place_below(parent, point)
    return place.device == folder.device and place.path.is_relative_to(folder.path)
