"""One writer at a time: a lock on a campaign's folder that ends with the process that holds it,
however it ends.

It is flock(2)'s, which belongs to the open file. A POSIX record lock belongs to the process, and
closing any other descriptor of the file, as `held` must, would drop it (fcntl_locking(2)).
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO

from kneebench.errors import Refused


class Lock:
    """A lock on <folder>/lock."""

    def __init__(self, folder: Path) -> None:
        """Take the lock, or raise Refused while somebody measures into the folder."""
        self._file: IO[str] = (folder / "lock").open("a")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            raise Refused(
                f"opening {folder}",
                seen="another kneebench run writes to it",
                do="wait for it to finish, or use another folder",
            ) from error

    def stands(self) -> bool:
        """False where the locked file is no longer the folder's: that was removed, moved or
        replaced.
        """
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), Path(self._file.name).stat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Let others write."""
        self._file.close()


def held(folder: Path) -> bool:
    """True while somebody, this process too, writes into the folder."""
    try:
        file = (folder / "lock").open()
    except FileNotFoundError:
        return False
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
