"""A cluster's files, duplicated: by a plain parallel copy, or by reflinks; then dropped from the page cache.

The plain copy reads and writes every byte (never copy_file_range, which may share blocks on XFS and btrfs: the
run would then pay for copy on write). Clones share them on request: FICLONE, ioctl_ficlonerange(2).
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Literal, NamedTuple

from kneebench.databases.postgres.account import Account
from kneebench.errors import PlanError
from kneebench.lab.removal import MARKER
from kneebench.records import Event, Watch

FICLONE = 0x40049409
CHUNK_BYTES = 2**18
THREADS = 4
LEFT_BEHIND = frozenset([MARKER, "postmaster.pid", "postmaster.opts"])


class File(NamedTuple):
    """A file to be duplicated."""

    source: Path
    target: Path
    size_bytes: int


def duplicate(source: Path, target: Path, how: Literal["copy", "clone"], account: Account | None, watch: Watch, doing: str = "restoring") -> int:
    """Duplicate the tree under `source` into the empty directory `target`, with modes, for the account; bytes of its files.

    Raises PlanError where the file system is full or cannot clone.
    """
    files = sorted(_skeleton(source, target, account), key=lambda file: -file.size_bytes)
    total = sum(file.size_bytes for file in files)
    one = _copy if how == "copy" else _clone
    with ThreadPoolExecutor(THREADS, thread_name_prefix="restore") as threads:
        tasks = {threads.submit(_file, one, file, account): file.size_bytes for file in files}
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


def _skeleton(source: Path, target: Path, account: Account | None) -> Iterator[File]:
    """Make the directories; yield the files."""
    for folder, _, names in os.walk(source):
        here = target / Path(folder).relative_to(source)
        here.mkdir(exist_ok=True)
        here.chmod(stat.S_IMODE(Path(folder).stat().st_mode))
        if account:
            account.owns(here)
        for name in names:
            if name not in LEFT_BEHIND:
                path = Path(folder, name)
                yield File(path, here / name, path.stat().st_size)


def _file(one: Callable[[int, int], None], file: File, account: Account | None) -> None:
    source = os.open(file.source, os.O_RDONLY)
    try:
        target = os.open(file.target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IMODE(os.fstat(source).st_mode))
        try:
            if account:
                os.fchown(target, account.uid, account.gid)
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
    doing = f"restoring {source} to {target}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return PlanError(doing, seen="the file system is full", do="free some room, or lower workload.warehouses")
    if how == "clone" and error.errno in (errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY):
        return PlanError(
            doing, seen=f"no reflink can be made here ({error.strerror})", do='put image_path and the storage on one XFS or btrfs, or set restore = "copy"'
        )
    return PlanError(doing, seen=f"{error.strerror}: {error.filename or ''}", do="look at the permissions and the health of the storage")


def cool(folders: Sequence[Path]) -> None:
    """Write everything out and drop the folders' files from the page cache, so that a climb starts cold.

    DONTNEED drops only clean pages, hence syncfs(2) first. Files of a tmpfs are their page cache and stay.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    for folder in folders:
        handle = os.open(folder, os.O_RDONLY)
        try:
            if libc.syncfs(handle):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(folder))
        finally:
            os.close(handle)
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file():
                _forget(path)


def _forget(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(handle)
