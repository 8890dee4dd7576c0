"""Atomic write: a file is written completely or not at all, also through kill -9 and power loss.

The temporary file is in the same directory (a rename does not cross file systems), is synced before
the rename (or the name may outlive its content), and the directory is synced after it.

Nothing is written through a link: the temporary file is a new one of a name that nobody can guess,
and the rename replaces a link, not what it points to.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path

PART = ".part"
"""Suffix of a file that is not complete yet: nothing reads it, the next writer removes it."""


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file, then rename it to `path`; on any error nothing is left.

    The directory must exist: one that was removed meanwhile is not created again without its files.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}{PART}")
    _create(part, path)
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


def is_stream(path: Path) -> bool:
    """Whether a path that a person named is a device or a pipe, such as /dev/stdout: a rename would
    replace it by a file.
    """
    return path.exists() and not (path.is_file() or path.is_dir())


def write_where_named(path: Path, text: str) -> None:
    """`write_text` to a path that a person named; into the stream that it is."""
    if is_stream(path):
        _keep(path, text)
    else:
        write_text(path, text)


def remove_parts(folders: Iterable[Path]) -> None:
    """Remove the temporary files of a killed writer from these folders. The caller must hold the
    lock of the campaign.
    """
    for folder in folders:
        for part in folder.glob(f".*{PART}"):
            part.unlink(missing_ok=True)


def _create(part: Path, path: Path) -> None:
    """A new file, or an error that names the one that it is to become."""
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
    except OSError as error:
        error.filename = str(path)
        raise


def _keep(part: Path, text: str) -> None:
    part.write_text(text, encoding="utf-8")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
