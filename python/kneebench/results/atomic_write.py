"""Atomic write: a file is written completely or not at all, also through kill -9 and power loss.

The temporary file is in the same directory (a rename does not cross file systems), is synced before
the rename (or the name may outlive its content), and the directory is synced after it.

Nothing is written through a link: the temporary file is a new one of a name that nobody can guess,
and the rename replaces a link, not what it points to. A stream that a person named (a terminal, a
pipe) is written to as it is. A drive is neither: it is refused, and never opened.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from kneebench.errors import PlanError, Refused
from kneebench.regular_file import path_of

PART = ".part"
"""Suffix of a file that is not complete yet: nothing reads it, the next writer removes it."""
MOST_LINKS = 40
"""As many symbolic links as the kernel follows in one path."""


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file, then rename it to `path`; on any error nothing is left.

    The directory must exist: one that was removed meanwhile is not created again without its files.
    Raises Refused for the name of a drive.
    """
    require_no_drive(path)
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
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """`write_atomically` for what is made already."""
    write_atomically(path, lambda part: _keep(part, content))


def is_stream(path: Path) -> bool:
    """Whether a path that a person named is a character device, a pipe, or a file that we have open
    (/dev/stdout, /dev/fd/1): a rename would replace it by a file.
    """
    mode = _mode(path)
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode) or _open_number(path) is not None


def require_no_drive(path: Path) -> None:
    """Raises Refused for a path that leads to a block device: nothing may be written over it."""
    _require_no_drive(path, _mode(path))


def write_where_named(path: Path, text: str) -> None:
    """`write_text` to a path that a person named; into the stream that it is.

    Raises Refused for a drive, with nothing written.
    """
    if is_stream(path):
        with os.fdopen(_stream(path), "w", encoding="utf-8") as stream:
            stream.write(text)
    else:
        write_text(path, text)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raises PlanError, which names the file, where the system lets none be written."""
    try:
        yield
    except OSError as error:
        what = f"cannot write {error.filename or path}"
        seen = error.strerror or str(error)
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        do = "free some space" if full else "choose another path"
        raise PlanError(what, seen=seen, do=do) from error


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


def _mode(path: Path) -> int:
    """The kind of what a path leads to; 0 where there is nothing."""
    try:
        return path.stat().st_mode
    except OSError:
        return 0


def _require_no_drive(path: Path, mode: int) -> None:
    if stat.S_ISBLK(mode):
        raise Refused(
            f"cannot write {path}",
            seen="it is a block device, whose data would be overwritten",
            do="choose the path of a file",
        )


def _stream(path: Path) -> int:
    """A stream, open for writing. What it is is known before it is opened, so that no drive is,
    whatever has the name by then.
    """
    number = _open_number(path)
    found = os.open(path, os.O_PATH | os.O_CLOEXEC) if number is None else os.dup(number)
    try:
        _require_no_drive(path, os.fstat(found).st_mode)
        how = os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC
        return os.dup(found) if number is not None else os.open(path_of(found), how)
    finally:
        os.close(found)


def _open_number(path: Path) -> int | None:
    """The number of the file that we have open under this path (/dev/stdout is 1); else None.

    A file that was opened for us is written to where it is: by its name, a second description of it
    would write over what is in it.
    """
    ours = Path(f"/proc/{os.getpid()}/fd")
    for _ in range(MOST_LINKS):
        if path.name.isdecimal() and path.parent.resolve() == ours and path.is_symlink():
            return int(path.name)
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None


def _keep(part: Path, content: bytes) -> None:
    part.write_bytes(content)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
