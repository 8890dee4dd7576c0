"""One writer at a time: a lock on a campaign's folder that ends with the process that holds it,
however it ends.

It is flock(2)'s, which belongs to the open file. A POSIX record lock belongs to the process, and
closing any other descriptor of the file, as `held` must, would drop it (fcntl_locking(2)).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
from pathlib import Path
from typing import IO

from kneebench.errors import Refused
from kneebench.regular_file import kind_of

TRIES, PAUSE_S = 5, 0.02
"""Whoever looks whether it is held (`held`) has it for a moment."""


class Lock:
    """A lock on <folder>/lock."""

    def __init__(self, folder: Path) -> None:
        """Take the lock, or raise Refused while somebody measures into the folder, and where
        something else than a file of ours has its name.
        """
        self._path = folder / "lock"
        self._file = _open(self._path, os.O_RDWR | os.O_CREAT)
        for left in reversed(range(TRIES)):
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError as error:  # also while somebody only looks
                if not left:
                    self._file.close()
                    raise Refused(
                        f"cannot open {folder}",
                        seen="another kneebench run writes to it",
                        do="wait for it to finish, or use another folder",
                    ) from error
                time.sleep(PAUSE_S)

    def stands(self) -> bool:
        """False where the locked file is no longer the folder's: that was removed, moved or
        replaced.
        """
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), self._path.lstat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Let others write."""
        self._file.close()


def held(folder: Path) -> bool:
    """True while somebody, this process too, writes into the folder. Raises Refused where something
    else than a file has the lock's name.
    """
    try:
        file = _open(folder / "lock", os.O_RDONLY)
    except FileNotFoundError:
        return False
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _open(path: Path, how: int) -> IO[bytes]:
    """A lock's file, never by a link: whoever made the folder would choose which file is created or
    locked.
    """
    with contextlib.suppress(FileNotFoundError):
        _require_file(path, path.lstat().st_mode)
    handle = os.open(path, how | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    file = os.fdopen(handle, "rb" if how == os.O_RDONLY else "r+b")
    _require_file(path, os.fstat(handle).st_mode)
    return file


def _require_file(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise Refused(
            f"cannot open {path}", seen=f"it is {kind_of(mode)}, not a regular file", do="remove it"
        )
