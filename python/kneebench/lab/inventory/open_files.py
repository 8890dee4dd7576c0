"""The files and devices that processes may write to: open, or mapped into memory.

Only root sees all processes, and a process in a container none outside of it. A descriptor that is
on its way to another process is seen nowhere (unix(7), SCM_RIGHTS), nor is a file that an io_uring
keeps registered.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

WRITABLE = os.O_WRONLY | os.O_RDWR


def writable_files(process: Path) -> Iterator[Path]:
    """What a process, by its directory in /proc, may write to, as links that lead there; none of
    one that we may not look into.
    """
    for thread in _entries(process / "task"):  # one may have descriptors of its own (clone(2))
        for link in _entries(thread / "fd"):
            if _flags(thread, link.name) & WRITABLE:
                yield link
    for place in _shared_and_writable(process):
        yield process / "map_files" / place


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _flags(thread: Path, number: str) -> int:
    """How a file was opened (proc(5), fdinfo), in octal there; 0 if it was closed meanwhile."""
    try:
        lines = (thread / "fdinfo" / number).read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1], 8) for line in lines if line.startswith("flags:")), 0)


def _shared_and_writable(process: Path) -> Iterator[str]:
    """The address ranges of what is mapped so (proc(5), maps); memory without a file has inode
    0.
    """
    try:
        lines = (process / "maps").read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        place, rights, _, _, inode, *_ = line.split(None, 5)
        if rights[1:2] == b"w" and rights[3:4] == b"s" and inode != b"0":
            yield place.decode()
