"""The kinds of I/O that a profile measures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from kneebench.units import size

KIB = 1024
DEPTH = 256
"""Outstanding I/Os per worker, as Iometer counts them."""
Pattern = Literal["read", "write", "randread", "randwrite", "randrw"]
WORDS: dict[Pattern, str] = {
    "read": "sequential read",
    "write": "sequential write",
    "randread": "random read",
    "randwrite": "random write",
    "randrw": "random",
}


class Job(NamedTuple):
    """One kind of I/O. `depth`: outstanding I/Os per worker; `read_percent`: of a mix; `synced`:
    an fdatasync after each write, through the page cache; `over_time`: its I/Os per second are
    kept interval by interval.
    """

    group: str
    pattern: Pattern
    block_bytes: int
    depth: int
    workers: int = 1
    read_percent: int | None = None
    synced: bool = False
    over_time: bool = False

    @property
    def name(self) -> str:
        """In words.

        >>> Job("mixes", "randrw", 4096, 256, 4, 70).name
        '4 KiB random, 70% read, depth 256, 4 workers'
        """
        if self.synced:
            return f"{size(self.block_bytes)} log write with fdatasync"
        mix = "" if self.read_percent is None else f", {self.read_percent}% read"
        workers = f", {self.workers} workers" if self.workers > 1 else ""
        words = f"{size(self.block_bytes)} {WORDS[self.pattern]}{mix}"
        return f"{words}, depth {self.depth}{workers}"

    @property
    def writes(self) -> bool:
        """True if it writes anything."""
        return "write" in self.pattern or self.pattern == "randrw"


def _jobs() -> Iterator[Job]:
    for block, depth, workers in ((64 * KIB, DEPTH, 4), (128 * KIB, 32, 1)):
        yield Job("headline", "read", block, depth, workers)
        yield Job("headline", "write", block, depth, workers)
    yield Job("headline", "randread", 4 * KIB, 32, 4)
    yield Job("headline", "randwrite", 4 * KIB, 32, 4, over_time=True)
    yield Job("log", "write", 8 * KIB, 1, synced=True, over_time=True)
    for percent in (50, 70):
        yield Job("mixes", "randrw", 4 * KIB, DEPTH, 4, percent)
    yield Job("mixes", "randread", 4 * KIB, DEPTH, 4)
    yield Job("mixes", "randread", 4 * KIB, DEPTH)
    yield Job("mixes", "read", 4 * KIB, DEPTH)
    for depth in (1, 4, 16, 64):
        yield Job("queue depth", "randread", 4 * KIB, depth)
    for depth in (1, 4, 16, 64):
        yield Job("queue depth", "randwrite", 4 * KIB, depth)
    for block in (4, 8, 16, 64, 256):
        yield Job("block size", "randread", block * KIB, 32)


HEADLINE = {
    ("read", 128 * KIB): "sequential_read",
    ("write", 128 * KIB): "sequential_write",
    ("randread", 4 * KIB): "random_read",
    ("randwrite", 4 * KIB): "random_write",
}
"""The figures of data sheets, by pattern and block size of the headline row that measures each."""
JOBS = tuple(_jobs())
"""Headline figures (64 KiB with several workers at depth 256, as published reviews have it); log
writes; the mixes that drive reviews print (Iometer's, 4 KiB at depth 256); queue depths; block
sizes."""
