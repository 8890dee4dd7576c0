"""The files and devices that processes may write to: open, or mapped into memory.

Only root sees all processes, and a process in a container none outside of it. A descriptor that is
on its way to another process is seen nowhere (unix(7), SCM_RIGHTS), nor is a file that an io_uring
keeps registered.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

WRITABLE = os.O_WRONLY | os.O_RDWR


def writable_files(process: Path, matters: Callable[[Path], bool]) -> Iterator[Path]:
    """What a process, by its directory in /proc, may write to, as links that lead there; none of
    one that we may not look into. What is mapped read-only and may be made writable is looked for
    among links that matter: most processes have such maps of their locale.
    """
    for thread in _entries(process / "task"):  # one may have descriptors of its own (clone(2))
        for link in _entries(thread / "fd"):
            if _flags(thread, link.name) & WRITABLE:
                yield link
    read_only = {}
    for place, writable in _shared(process):
        link = process / "map_files" / place
        if writable:
            yield link
        elif matters(link):
            read_only[place] = link
    for place in _that_may_be_made_writable(process) if read_only else ():
        if place in read_only:
            yield read_only[place]


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


def _shared(process: Path) -> Iterator[tuple[str, bool]]:
    """(address range, whether it is writable) of each shared map of a file (proc(5), maps); memory
    without a file has inode 0.
    """
    for line in _lines(process / "maps"):
        place, rights, _, _, inode, *_ = line.split(None, 5)
        if rights[3:4] == b"s" and inode != b"0":
            yield _in_map_files(place), rights[1:2] == b"w"


def _that_may_be_made_writable(process: Path) -> Iterator[str]:
    """The address ranges with the flag mw, as of a file that was open for writing when it was
    mapped (proc(5), smaps); all of them where the kernel prints no flags.
    """
    place, flags = b"", None
    for line in (*_lines(process / "smaps"), b"0-0 end"):
        first, *others = line.split()
        if first == b"VmFlags:":
            flags = others
        elif not first.endswith(b":"):
            if place and (flags is None or b"mw" in flags):
                yield _in_map_files(place)
            place, flags = first, None


def _lines(file: Path) -> list[bytes]:
    try:
        return file.read_bytes().splitlines()
    except OSError:
        return []


def _in_map_files(place: bytes) -> str:
    """An address range as it is called there: without leading zeros."""
    return "-".join(f"{int(address, 16):x}" for address in place.split(b"-"))
