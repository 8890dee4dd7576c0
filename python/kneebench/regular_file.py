"""A regular file, opened without trust: what a folder from elsewhere contains under a file's name
may be anything.

A link to /dev/zero is read without end, a named pipe is waited for, a sparse file of a few bytes
fills the memory, and opening a device may already do something. So the name is looked up first
(O_PATH opens nothing), and only a regular file of an expected size is then opened, through the
lookup: what was checked and what is read are the same file, whoever renames things meanwhile.

A link is refused where a program wrote the folder, and followed where a person named the file.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import stat
from collections.abc import Iterator
from pathlib import Path

from kneebench.errors import KneebenchError, PlanError

KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a directory",
    stat.S_IFREG: "a file",
}
"""What a file's mode says that it is; everything else is a device."""
PATIENCE_S = 5.0
"""For the next bytes out of a pipe."""
_LOOK = os.O_PATH | os.O_CLOEXEC
_REPLACE = "put the {} itself there, or remove it"


def kind_of(mode: int) -> str:
    """What a file of this mode is, in words.

    >>> kind_of(stat.S_IFIFO | 0o644), kind_of(stat.S_IFCHR)
    ('a named pipe', 'a device')
    """
    return KINDS.get(stat.S_IFMT(mode), "a device")


@contextlib.contextmanager
def opened(file: Path, most_bytes: int, *, inner: bool = False) -> Iterator[int]:
    """A regular file that is no link and has at most so many bytes, open for reading.

    With `inner` the directory that contains it may be no link either; those above it may.

    Raises OSError where there is none or it may not be read, and KneebenchError, which names the
    file, for anything else under its name.
    """
    directory = _directory(file.parent, os.O_PATH, follow=not inner)
    try:
        found = os.open(file.name, _LOOK | os.O_NOFOLLOW, dir_fd=directory)
    finally:
        os.close(directory)
    try:
        _require(os.fstat(found), file, most_bytes)
        handle = os.open(path_of(found), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    finally:
        os.close(found)
    try:
        yield handle
    finally:
        os.close(handle)


def path_of(handle: int) -> str:
    """A path of an open file, for what opens files by name. It has no character that a pattern of
    names would read, whatever the file is called.
    """
    return f"/proc/self/fd/{handle}"


def content(file: Path, most_bytes: int, *, inner: bool = False) -> bytes:
    """All bytes of a file as `opened` opens it, also of one that grows meanwhile."""
    with opened(file, most_bytes, inner=inner) as handle:
        read = _up_to(handle, most_bytes + 1)
    if len(read) > most_bytes:
        raise _too_large(file, len(read), most_bytes)
    return read


def named_content(file: Path, most_bytes: int, do: str) -> bytes:
    """The first bytes, so many at most, of a file that a person named: links are followed, and a
    pipe (`<(kneebench plan default)`) is read while something writes to it.

    Raises OSError where there is none or it may not be read, and PlanError with what to do for
    anything else under its name, and for a pipe that says nothing for PATIENCE_S.
    """
    found = os.open(file, _LOOK)
    try:
        mode = os.fstat(found).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            seen = f"it is {kind_of(mode)}, not a regular file"
            raise PlanError(f"cannot read {file}", seen=seen, do=do)
        handle = os.open(path_of(found), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    finally:
        os.close(found)
    try:
        return _up_to(handle, most_bytes) if stat.S_ISREG(mode) else _heard(handle, most_bytes)
    except TimeoutError:
        seen = f"nothing was written to this named pipe for {PATIENCE_S:.0f} s"
        raise PlanError(f"cannot read {file}", seen=seen, do=do) from None
    finally:
        os.close(handle)


def names_in(directory: Path, ending: str, most: int) -> list[str]:
    """The sorted names in a directory that end so; none where it is missing.

    Raises KneebenchError for what is no directory, be it a link to one, and for more than `most`
    entries: they are counted, not collected.
    """
    try:
        handle = _directory(directory, os.O_RDONLY, follow=False)
    except FileNotFoundError:
        return []
    found = []
    try:
        with os.scandir(handle) as entries:
            for number, entry in enumerate(entries):
                if number == most:
                    raise KneebenchError(
                        f"cannot read {directory}",
                        seen=f"it contains more than {most:,} files",
                        do="remove what kneebench did not write",
                    )
                if entry.name.endswith(ending):
                    found.append(entry.name)
    finally:
        os.close(handle)
    return sorted(found)


def _directory(path: Path, how: int, *, follow: bool) -> int:
    """A directory, opened; O_DIRECTORY opens nothing else."""
    try:
        link = 0 if follow else os.O_NOFOLLOW
        return os.open(path, how | os.O_DIRECTORY | os.O_CLOEXEC | link)
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP) or not os.path.lexists(path):
            raise
        kind = kind_of(path.stat(follow_symlinks=follow).st_mode)
        raise KneebenchError(
            f"cannot read {path}",
            seen=f"it is {kind}, not a directory",
            do=_REPLACE.format("directory"),
        ) from error


def _up_to(handle: int, most_bytes: int) -> bytes:
    with os.fdopen(handle, "rb", closefd=False) as file:
        return file.read(most_bytes)


def _heard(pipe: int, most_bytes: int) -> bytes:
    """What is written to a pipe until its writers have closed it. Raises TimeoutError where nothing
    comes: one that has no writer yet looks like one whose writers have left.
    """
    waiting = select.poll()
    waiting.register(pipe, select.POLLIN)
    found = b""
    while len(found) < most_bytes:
        if not waiting.poll(1000 * PATIENCE_S):
            raise TimeoutError
        if not (read := os.read(pipe, most_bytes - len(found))):
            break
        found += read
    return found


def _require(seen: os.stat_result, file: Path, most_bytes: int) -> None:
    if not stat.S_ISREG(seen.st_mode):
        raise KneebenchError(
            f"cannot read {file}",
            seen=f"it is {kind_of(seen.st_mode)}, not a regular file",
            do=_REPLACE.format("file"),
        )
    if seen.st_size > most_bytes:
        raise _too_large(file, seen.st_size, most_bytes)


def _too_large(file: Path, there: int, most_bytes: int) -> KneebenchError:
    from kneebench.units import size

    return KneebenchError(
        f"cannot read {file}",
        seen=f"it has {size(there)}, more than the {size(most_bytes)} that such a file may have",
        do="restore the file from a copy, or remove it",
    )
