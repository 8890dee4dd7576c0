"""A database's files, duplicated: by a plain parallel copy, or by reflinks; then dropped from the
page cache.

The plain copy reads and writes every byte (never copy_file_range, which may share blocks on XFS and
btrfs: the run would then pay for copy on write). Clones share them on request: FICLONE,
ioctl_ficlonerange(2).

What is duplicated belongs to us and holds directories and regular files only, else it is refused:
root reads for the server's account here, and may read nothing that the account could have put
there.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Literal, NamedTuple

from kneebench.errors import PlanError
from kneebench.lab.folder import Folder, require_ours
from kneebench.lab.removal import MARKER
from kneebench.records import Event, Watch

FICLONE = 0x40049409
CHUNK_BYTES = 2**18
THREADS = 4


class CopiedFile(NamedTuple):
    """A file to be duplicated from one directory to another."""

    source: Folder
    target: Folder
    name: str
    size_bytes: int


def duplicate(
    source: Folder,
    target: Folder,
    how: Literal["copy", "clone"],
    watch: Watch,
    doing: str = "restoring",
    left_behind: Collection[str] = (),
) -> int:
    """Duplicate the tree under `source` into the empty directory `target`, with modes; bytes of its
    files. The copy belongs to us.

    Files with a name of `left_behind` (a lock, the id of a process) and our marks are not copied.

    Raises PlanError where the file system is full or cannot clone, Refused where something in
    `source` is not ours or no plain file.
    """
    with contextlib.ExitStack() as opened:
        skeleton = _skeleton(source, target, opened, {MARKER, *left_behind})
        files = sorted(skeleton, key=lambda file: -file.size_bytes)
        return _duplicate(files, source.path, target.path, how, watch, doing)


def _duplicate(
    files: Sequence[CopiedFile],
    source: Path,
    target: Path,
    how: Literal["copy", "clone"],
    watch: Watch,
    doing: str,
) -> int:
    total = sum(file.size_bytes for file in files)
    one = _copy if how == "copy" else _clone
    with ThreadPoolExecutor(THREADS, thread_name_prefix="restore") as threads:
        tasks = {threads.submit(_file, one, file): file.size_bytes for file in files}
        try:
            for share, left_s in _progress(tasks, total):
                watch(Event(kind="progress", doing=doing, share=share, left_s=left_s))
        except OSError as error:
            raise _explained(error, source, target, how) from error
        finally:
            threads.shutdown(cancel_futures=True)
    return total


def _progress(tasks: dict[Future[None], int], total: int) -> Iterator[tuple[float, float | None]]:
    """(share done, seconds left), twice a second and at the end."""
    began, left, done = time.monotonic(), set(tasks), 0
    while left:
        ended, left = wait(left, timeout=0.5)
        for task in ended:
            task.result()
            done += tasks[task]
        share = done / total if total else 1.0
        yield share, (time.monotonic() - began) * (1 - share) / share if share else None


def _skeleton(
    source: Folder, target: Folder, opened: contextlib.ExitStack, without: Collection[str]
) -> Iterator[CopiedFile]:
    """Make the directories; yield the files.

    The directories (some thirty of a database) stay open until `opened` ends.
    """
    seen, there = require_ours(source.handle, source.path), source.plain()
    os.fchmod(target.handle, stat.S_IMODE(seen.st_mode))
    for name in there.files:
        if name not in without:
            yield CopiedFile(
                source,
                target,
                name,
                os.stat(name, dir_fd=source.handle, follow_symlinks=False).st_size,
            )
    for name in there.folders:
        inner = opened.enter_context(source.inner(name)), opened.enter_context(target.make(name))
        yield from _skeleton(*inner, opened, without)


def _file(one: Callable[[int, int], None], file: CopiedFile) -> None:
    source = file.source.reading(file.name)
    try:
        seen = require_ours(source, file.source.path / file.name)
        target = file.target.creating(file.name, stat.S_IMODE(seen.st_mode))
        try:
            one(source, target)
        finally:
            os.close(target)
    finally:
        os.close(source)


def _copy(source: int, target: int) -> None:
    buffer = memoryview(bytearray(CHUNK_BYTES))
    os.posix_fadvise(source, 0, 0, os.POSIX_FADV_SEQUENTIAL)
    while n := os.readv(source, [buffer]):
        written = 0
        while written < n:
            written += os.write(target, buffer[written:n])


def _clone(source: int, target: int) -> None:
    fcntl.ioctl(target, FICLONE, source)


def _explained(error: OSError, source: Path, target: Path, how: str) -> Exception:
    what = f"cannot restore {source} to {target}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return PlanError(
            what,
            seen="the file system is full",
            do="free disk space, or lower workload.warehouses",
        )
    if how == "clone" and error.errno in (
        errno.EOPNOTSUPP,
        errno.EXDEV,
        errno.EINVAL,
        errno.ENOTTY,
    ):
        return PlanError(
            what,
            seen=f"reflinks are not supported here ({error.strerror})",
            do='put base_image_path and the storage on one XFS or btrfs, or set restore = "copy"',
        )
    return PlanError(
        what,
        seen=f"{error.strerror}: {error.filename or ''}",
        do="check the permissions and the health of the storage",
    )


def settle(source: Folder, parts: Sequence[Folder], *, warm: bool) -> None:
    """Write the parts of a restored database out; they and what they were copied from leave the
    page cache, unless `warm`.
    """
    if warm:
        write_out(parts)
    else:
        drop_caches([source, *parts])


def drop_caches(folders: Sequence[Folder]) -> None:
    """Write everything out and drop the folders' files from the page cache, so that a climb starts
    cold.

    DONTNEED drops only clean pages, hence syncfs(2) first. Files of a tmpfs are their page cache
    and stay.
    """
    write_out(folders)
    for folder in folders:
        _forget(folder)


def write_out(folders: Sequence[Folder]) -> None:
    """Write everything to the folders' drives; what was copied stays in the page cache."""
    libc = ctypes.CDLL(None, use_errno=True)
    for folder in folders:
        if libc.syncfs(folder.handle):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(folder.path))


def _forget(folder: Folder) -> None:
    there = folder.listed()
    for name in there.folders:
        with folder.inner(name) as inner:
            _forget(inner)
    for name in there.files:
        file = folder.reading(name)
        try:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(file)
