"""Copying a tree of many small files, as restores and deployments do: `cp -r`, then a sync of the
file system.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from kneebench.databases.managed.copying import drop_caches, write_out
from kneebench.directories import make_directory
from kneebench.errors import KneebenchError
from kneebench.lab.folder import Folder
from kneebench.lab.removal import empty
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
            f"cannot copy {source}", seen=done.stderr.strip(), do="see kneebench drives"
        )
    with Folder.at(target) as copied, _explained(target):
        write_out([copied])
    took_s = time.monotonic() - began_s
    for tree in (source, target):
        with Folder.at(tree) as folder:
            empty(folder)
        tree.rmdir()
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
    folders = [make_directory(tree / f"{number}") for number in range(FOLDERS)]
    for number in range(FILES):
        (folders[number % FOLDERS] / f"{number}").write_bytes(data)
    with Folder.at(tree) as made, _explained(tree):
        drop_caches([made])


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise KneebenchError(
            f"cannot write out {folder}",
            seen=error.strerror or str(error),
            do="see kneebench drives",
        ) from error
