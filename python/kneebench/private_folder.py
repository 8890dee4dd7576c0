"""A private temporary folder that is removed when the process ends, however it ends.

A process that is killed removes nothing. So each folder is locked by whoever uses it, and who makes
the next one removes those that nobody has locked. The lock is flock(2)'s on the folder itself: it
ends with the process.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path

from kneebench.directories import opened_directory

PREFIX = "kneebench-private-"
_LOOK = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class KeptFolder(type(Path())):  # type: ignore[misc]
    """The path of a folder that is removed when nobody has this object any more, or the process
    ends. A path that is made of it keeps nothing.
    """


def kept_folder() -> KeptFolder:
    """A new folder, there as long as what is given here."""
    folder, handle = _made()
    kept = KeptFolder(folder)
    weakref.finalize(kept, _end, folder, handle)
    return kept


@contextlib.contextmanager
def private_folder() -> Iterator[Path]:
    """A new folder, there within the block."""
    folder, handle = _made()
    try:
        yield folder
    finally:
        _end(folder, handle)


def _made() -> tuple[Path, int]:
    """A folder that only this user may look into, and the handle that locks it."""
    place = Path(tempfile.gettempdir())
    with opened_directory(place, private=True, do="set TMPDIR to another directory"):
        _remove_abandoned()
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        handle = _locked(folder)
        if handle is not None:
            return folder, handle


def _locked(folder: Path) -> int | None:
    """A handle that locks the folder; None where another has it, or it is gone or not ours."""
    with contextlib.ExitStack() as undo:
        try:
            handle = os.open(folder, _LOOK)
            undo.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found, named = os.fstat(handle), folder.lstat()
        except OSError:
            return None
        if found.st_uid != os.geteuid() or not os.path.samestat(found, named):
            return None
        undo.pop_all()
    return handle


def _remove_abandoned() -> None:
    """The folders of this user that no process has locked."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        handle = _locked(folder)
        if handle is not None:
            _end(folder, handle)


def _end(folder: Path, handle: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(handle)
