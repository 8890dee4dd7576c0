"""The directories that we make: how they are marked, which are ours, their removal, and whether one
can be said to be gone.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import uuid
from pathlib import Path
from typing import NamedTuple

from kneebench.errors import Refused
from kneebench.lab.drives import IN_MEMORY, Mount, mount_of, visible_mounts
from kneebench.lab.folder import LOOK, Folder, require_ours
from kneebench.lab.processes import boot

MARKER = ".kneebench-made-this"
"""In every directory that we made: nothing without it is ever removed, save one that is empty."""


class Ground(NamedTuple):
    """The file system that a directory lies on, as it is known again after a reboot: the numbers of
    devices change.
    """

    point: str
    type: str
    source: str


def ground_of(path: Path) -> Ground:
    """The ground of a path, or of its nearest parent that exists."""
    mount = mount_of(path)
    return Ground(str(mount.point), mount.type, mount.source)


def is_away(ground: Ground, made_in: str) -> bool:
    """Whether a file system that was mounted in that boot is not mounted where it was.

    Memory does not outlive its boot.
    """
    if ground.point == "/" or (ground.type in IN_MEMORY and made_in != boot()):
        return False
    return ground_of(Path(ground.point)) != ground


def mark(path: Path) -> None:
    """Put the marker into a directory that we made just now; raises Refused where another one is in
    its place.
    """
    with Folder.at(path) as made:
        require_ours(made.handle, path)
        if made.names():
            raise Refused(f"cannot create {path}", seen="another directory took its place", do=LOOK)
        os.close(made.creating(MARKER))


def ours(path: Path) -> Folder:
    """Open a directory that we made; raises Refused where something else is in its place."""
    folder = Folder.at(path)
    try:
        require_ours(folder.handle, path)
        if MARKER not in folder.names():
            raise Refused(f"cannot open {path}", seen="another directory took its place", do=LOOK)
    except BaseException:
        folder.__exit__()
        raise
    return folder


def remove(path: Path) -> bool:
    """Remove a directory of ours; whether there was one.

    The marker goes last, so that what an interrupted removal leaves is still known as ours. An
    empty one counts as ours: its marker was not yet written, or went just before the end.

    Raises Refused, with nothing removed, where something is mounted in it.
    """
    folder = _open(path)
    if folder is None:
        return False
    with folder:
        if not _is_marked(folder):
            return False
        empty(folder, MARKER)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(MARKER, dir_fd=folder.handle)
    path.rmdir()
    return True


def empty(folder: Folder, keep: str = "") -> None:
    """Remove the contents of a directory, except one name.

    Works for any depth: subdirectories are moved up before deletion.

    Raises Refused, with nothing removed, where something is mounted in it: a file system, or a
    directory or file of the same one (bind mount). What is mounted meanwhile is not entered.
    """
    if point := mount_point_inside(folder.handle):
        raise _mounted(folder.path, point)
    while names := [name for name in folder.names() if name != keep]:
        for name in names:
            if not _unlink(folder, name):
                _dissolve(folder, name)


def _dissolve(folder: Folder, name: str) -> None:
    with folder.inner(name) as inner:
        if _ground(inner) != _ground(folder):
            raise _mounted(folder.path, inner.path)
        for each in inner.names():
            if not _unlink(inner, each):
                os.rename(
                    each,
                    f".kneebench-{uuid.uuid4().hex}",
                    src_dir_fd=inner.handle,
                    dst_dir_fd=folder.handle,
                )
    os.rmdir(name, dir_fd=folder.handle)


def _ground(folder: Folder) -> tuple[int, int]:
    """The file system (a btrfs subvolume has its own number) and the mount of a directory."""
    return os.fstat(folder.handle).st_dev, mount_number(folder.handle)


def _mounted(folder: Path, point: Path) -> Refused:
    return Refused(
        f"cannot remove {folder}",
        seen=f"a file system, directory or file is mounted on {point}",
        do=f"run `umount {shlex.quote(str(point))}`, then `kneebench clean`",
    )


def _unlink(folder: Folder, name: str) -> bool:
    """Whether it was no directory, and is gone.

    A process of the server that is about to end may have removed it first.
    """
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder.handle)
    except IsADirectoryError:
        return False
    return True


def is_ours(path: Path) -> bool:
    """Whether a directory is there with our marker, or empty."""
    folder = _open(path)
    if folder is None:
        return False
    with folder:
        return _is_marked(folder)


def _is_marked(folder: Folder) -> bool:
    names = folder.names()
    return not names or MARKER in names


def _open(path: Path) -> Folder | None:
    """None where there is no directory: a link to one is none. An error of the drive is raised."""
    try:
        return Folder.at(path)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return None
        raise


# What is mounted inside an open directory: a file system, or a directory or file of the same one
# (bind mount), which no device number shows.


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
