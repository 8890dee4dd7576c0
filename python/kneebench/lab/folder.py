"""An open directory: what lies in it is reached from it by name, and no link is ever followed.

Root works in directories that the server's account may change at any moment. A path is walked again
at each use, so what was checked may have become a link when it is used; an open directory stays the
one that was checked (openat(2)).
"""

from __future__ import annotations

import errno
import os
import stat
import uuid
from pathlib import Path
from typing import NamedTuple, Self

from kneebench.directories import user_name
from kneebench.errors import Refused
from kneebench.regular_file import kind_of

READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
"""Without O_NONBLOCK the opening of a named pipe waits for ever."""
LOOK = "find out who put it there, then remove it"


class Listing(NamedTuple):
    """The names in a directory."""

    folders: list[str]
    files: list[str]
    others: list[str]


class Folder:
    """An open directory; `path` is what it was opened by, for messages."""

    def __init__(self, handle: int, path: Path) -> None:
        self.handle, self.path = handle, path

    @classmethod
    def at(cls, path: Path) -> Folder:
        """Open a directory by its path.

        Raises OSError, for a symbolic link with ENOTDIR; those above it are followed.
        """
        return cls(os.open(path, READ | os.O_DIRECTORY), path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self.handle)

    def inner(self, name: str) -> Folder:
        """A directory in it; raises Refused where that is something else."""
        return Folder(self._open(name, READ | os.O_DIRECTORY), self.path / name)

    def make(self, name: str) -> Folder:
        """A new directory in it, open to nobody else."""
        os.mkdir(name, 0o700, dir_fd=self.handle)
        return self.inner(name)

    def reading(self, name: str) -> int:
        """A regular file in it, open for reading; raises Refused where that is something else."""
        file = self._open(name, READ)
        mode = os.fstat(file).st_mode
        if not stat.S_ISREG(mode):
            os.close(file)
            raise self._unexpected(name, mode)
        return file

    def creating(self, name: str, mode: int = 0o600) -> int:
        """A new regular file in it, open for writing; raises FileExistsError where something has
        that name, be it a link.
        """
        return os.open(
            name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=self.handle
        )

    def text(self, name: str) -> str:
        """What a file in it holds."""
        with os.fdopen(self.reading(name), encoding="utf-8") as file:
            return file.read()

    def put(self, name: str, text: str, owner: tuple[int, int] | None = None) -> None:
        """Write a file of mode 0600, for a user and group (ours, unless given).

        It is a new one: what had its name is replaced, not written to.
        """
        draft = f".{uuid.uuid4().hex}"
        with os.fdopen(self.creating(draft), "w", encoding="utf-8") as file:
            file.write(text)
            if owner:
                os.fchown(file.fileno(), *owner)
        os.replace(draft, name, src_dir_fd=self.handle, dst_dir_fd=self.handle)

    def set_mode(self, name: str, mode: int) -> None:
        """Change the mode of a file in it."""
        file = self.reading(name)
        try:
            os.fchmod(file, mode)
        finally:
            os.close(file)

    def names(self) -> list[str]:
        """The names of all that it contains."""
        self._rewind()
        return os.listdir(self.handle)  # noqa: PTH208 pathlib cannot list an open directory

    def listed(self) -> Listing:
        """The names of its directories and regular files, and of what is neither."""
        found = Listing([], [], [])
        self._rewind()
        with os.scandir(self.handle) as entries:
            for entry in entries:
                folder = entry.is_dir(follow_symlinks=False)
                file = entry.is_file(follow_symlinks=False)
                (found.folders if folder else found.files if file else found.others).append(
                    entry.name
                )
        return found

    def _rewind(self) -> None:
        """From the beginning: btrfs lists nothing that was made after it was last asked to."""
        os.lseek(self.handle, 0, os.SEEK_SET)

    def plain(self) -> Listing:
        """`listed`, of a directory that holds directories and regular files only; raises Refused
        where it does not.
        """
        found = self.listed()
        for name in found.others:
            raise self._unexpected(
                name, os.stat(name, dir_fd=self.handle, follow_symlinks=False).st_mode
            )
        return found

    def _open(self, name: str, flags: int) -> int:
        try:
            return os.open(name, flags, dir_fd=self.handle)
        except OSError as error:
            if error.errno not in (
                errno.ELOOP,
                errno.ENOTDIR,
                errno.ENXIO,
            ):  # a link, no directory, a socket
                raise
            raise self._unexpected(
                name, os.stat(name, dir_fd=self.handle, follow_symlinks=False).st_mode
            ) from error

    def _unexpected(self, name: str, mode: int) -> Refused:
        return Refused(
            f"cannot open {self.path / name}",
            seen=f"it is {kind_of(mode)}; a database contains only plain files and directories",
            do=LOOK,
        )


def require_ours(handle: int, path: Path, do: str = LOOK) -> os.stat_result:
    """Raises Refused for an open file or directory that another user could have changed: it belongs
    to one or, for root, others may write to it or it has a second name."""
    seen, us = os.fstat(handle), os.geteuid()
    if seen.st_uid != us:
        raise Refused(
            f"cannot open {path}",
            seen=f"it belongs to {user_name(seen.st_uid)}, not to {user_name(us)}",
            do=do,
        )
    if us == 0 and seen.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Refused(
            f"cannot open {path}",
            seen=f"others may write to it (mode {stat.S_IMODE(seen.st_mode):04o})",
            do=do,
        )
    if us == 0:
        require_one_name(seen, path, do)
    return seen


def require_one_name(seen: os.stat_result, path: Path, do: str = LOOK) -> None:
    """Raises Refused for a file with a hard link: its other name may be anywhere."""
    if stat.S_ISREG(seen.st_mode) and seen.st_nlink != 1:
        raise Refused(
            f"cannot open {path}", seen=f"the file has {seen.st_nlink} names (hard links)", do=do
        )
