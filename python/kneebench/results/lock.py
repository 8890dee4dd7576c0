"""One writer at a time: a lock on a campaign's folder that ends with the process that holds it, however it ends."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO

from kneebench.errors import Refused


class Lock:
    """A POSIX record lock on <folder>/lock. It binds processes: within one process a second writer is not kept out."""

    def __init__(self, folder: Path) -> None:
        """Take the lock, or raise Refused while another process measures into the folder."""
        self._file: IO[str] = (folder / "lock").open("a")
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise Refused(f"opening {folder}", seen="another kneebench measures into it", do="wait for its end, or name another folder") from error

    def release(self) -> None:
        """Let others write."""
        self._file.close()


def held(folder: Path) -> bool:
    """True while another process writes into the folder."""
    if not (folder / "lock").exists():
        return False
    try:
        Lock(folder).release()
    except Refused:
        return True
    return False
