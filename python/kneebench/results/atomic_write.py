"""Atomic write: a file is written completely or not at all, also through kill -9 and power loss.

The temporary file is in the same directory (a rename does not cross file systems), is synced before
the rename (or the name may outlive its content), and the directory is synced after it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

PART = ".part"
"""Suffix of a file that is not complete yet: nothing reads it, the next writer removes it."""


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file, then rename it to `path`; on any error nothing is left.

    The directory must exist: one that was removed meanwhile is not created again without its files.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}{PART}")
    try:
        write(part)
        _sync(part)
        part.replace(path)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if (
            isinstance(error, OSError) and error.errno and not error.filename
        ):  # that of a write has none
            error.filename = str(path)
        raise
    _sync(path.parent)


def write_text(path: Path, text: str) -> None:
    """`write_atomically` for a text."""
    write_atomically(path, lambda part: _keep(part, text))


def remove_parts(folder: Path) -> None:
    """Remove the temporary files of a killed writer. The caller must hold the folder's lock."""
    for part in folder.rglob(f".*{PART}"):
        part.unlink(missing_ok=True)


def _keep(part: Path, text: str) -> None:
    part.write_text(text, encoding="utf-8")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
