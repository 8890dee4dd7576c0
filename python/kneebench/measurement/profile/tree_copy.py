"""Copying a tree of many small files, as restores and deployments do: `cp -r`, then a sync of the
file system.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

from kneebench.errors import KneebenchError
from kneebench.measurement.profile.rows import ProfileRow, Traffic

FILES, FOLDERS = 2_000, 20
FILE_BYTES = 32 * 1024


def tree_copy(place: Path) -> ProfileRow:
    """Copy a tree of 2,000 files of 32 KiB that is not in the page cache; both are removed.

    Raises KneebenchError where cp fails.
    """
    source, target = place / "tree", place / "copy"
    _make(source)
    began_s = time.monotonic()
    done = subprocess.run(
        ["cp", "-r", "--reflink=never", source, target], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise KneebenchError(
            f"copying {source}", seen=done.stderr.strip(), do="see kneebench drives"
        )
    _sync(target)
    took_s = time.monotonic() - began_s
    for tree in (source, target):
        shutil.rmtree(tree)
    per_s = FILES / took_s
    side = Traffic(iops=per_s, bytes_per_s=per_s * FILE_BYTES, n=FILES, mean_s=1 / per_s)
    return ProfileRow(
        name=f"copy of {FILES:,} files of 32 KiB",
        group="copy",
        block_bytes=FILE_BYTES,
        write=side,
        files_per_s=per_s,
    )


def _make(tree: Path) -> None:
    data = os.urandom(FILE_BYTES)
    for number in range(FILES):
        folder = tree / f"{number % FOLDERS}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}").write_bytes(data)
    _sync(tree)
    for file in tree.rglob("*"):
        if file.is_file():
            handle = os.open(file, os.O_RDONLY)
            try:
                os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(handle)


def _sync(folder: Path) -> None:
    """The whole file system: a sync of a directory does not write its files (sync(1), -f)."""
    done = subprocess.run(["sync", "-f", folder], capture_output=True, text=True, check=False)
    if done.returncode:
        raise KneebenchError(
            f"writing out {folder}", seen=done.stderr.strip(), do="see kneebench drives"
        )
