"""Power cuts of emulated drives: what such a drive loses that its volatile cache still had.

qemu-storage-daemon records every write and every flush of a drive (its driver blklogwrites; the
format is that of Linux's dm-log-writes). How far the recording was at each moment is noted, so the
drive can be put back into a state that a cut at any moment of a load could have left: what was
written before the last flush, a random part of each write since, nothing that came later. A drive
may write out its cache in any order, and be cut off within a write: it has the beginning of it, in
whole blocks. One that ignores flushes has what it had at a random earlier moment.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kneebench import units
from kneebench.errors import KneebenchError

SECTOR_BYTES = 512
"""Of the recording: `log-sector-size` of the driver."""
HEADER = struct.Struct("<4Q")
FLUSH, DISCARD = 1, 4
BLOCK_SECTORS = 8
"""Of 4 KiB, which drives write whole, and database pages are larger than."""
NOTED_EVERY_S = 0.005
LEAST_FREE_BYTES = 2**30
"""More than a load writes in its few seconds."""


class Written(NamedTuple):
    """A write: its first sector, their number, where its data are in the recording, and where its
    entry ends there. Those of a discard are zeros, and have no place.
    """

    sector: int
    sectors: int
    place: int | None
    end: int


class Flushed(NamedTuple):
    """A flush: where its entry ends in the recording, and how many writes are before it."""

    end: int
    writes: int


class WriteRecording:
    """The recording of an emulated drive, and its image. `obeys`: the drive writes its cache out
    at a flush.
    """

    def __init__(self, recording: Path, image: Path, *, obeys: bool) -> None:
        self._recording, self._image, self._obeys = recording, image, obeys
        self._read_to = SECTOR_BYTES
        self._writes: list[Written] = []
        self._flushes = [Flushed(0, 0)]
        self._kept = dict[int, int]()
        """How many sectors the image has of a write, by its number, unless it has all of them."""
        self._since, self._changed_from, self._settled = 0, 0, 0
        """Numbers of the first write since the mark, of the first that may be lost since, and of
        the first that the last cut has not settled."""

    @property
    def size(self) -> int:
        """How far it is."""
        return self._recording.stat().st_size

    def require_room(self) -> None:
        """Raises KneebenchError where the disk has no room for the writes of another load."""
        folder = self._recording.parent
        if (free := shutil.disk_usage(folder).free) < LEAST_FREE_BYTES:
            what = f"cannot record the writes of another load in {folder}"
            seen = f"{units.size(free)} free, at least {units.size(LEAST_FREE_BYTES)} needed"
            raise KneebenchError(what, seen=seen, do="free disk space, or set emulated_path")

    def mark(self) -> None:
        """A load begins: states are of moments from here on."""
        self._read()
        end, writes = self._flushes[-1]
        settled = max(writes, self._settled)
        kept = [one._replace(sectors=self._sectors(n)) for n, one in enumerate(self._writes)]
        self._flushes = [Flushed(end, sum(one.sectors > 0 for one in kept[:settled]))]
        self._writes = [one for one in kept if one.sectors]
        self._kept = {}
        self._since = self._changed_from = len(self._writes)
        self._settled = 0

    def lose(self, size: int) -> None:
        """Put the image into a state that a cut could have left when the recording was so far.
        Nothing may use the drive meanwhile.
        """
        self._read()
        cut = sum(one.end <= size for one in self._writes)
        kept = max(one.writes for one in self._flushes if one.end <= size or not one.end)
        if not self._obeys:
            kept = random.randint(min(self._since, cut), cut)  # noqa: S311
        self._kept = {n: _part(self._writes[n]) for n in range(kept, cut)}
        self._kept.update(dict.fromkeys(range(cut, len(self._writes)), 0))
        self._changed_from = min(self._changed_from, kept)
        self._settled = len(self._writes)
        self._put_back()

    def _read(self) -> None:
        """Read on to the end of the recording."""
        with self._recording.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            while self._read_to + HEADER.size <= size:
                file.seek(self._read_to)
                sector, sectors, flags, _ = HEADER.unpack(file.read(HEADER.size))
                place = self._read_to + SECTOR_BYTES
                end = place + (0 if flags & DISCARD else sectors * SECTOR_BYTES)
                if end > size or not (sectors or flags):  # not written yet
                    return
                if sectors:
                    data = None if flags & DISCARD else place
                    self._writes.append(Written(sector, sectors, data, end))
                if flags & FLUSH:
                    self._flushes.append(Flushed(end, len(self._writes)))
                self._read_to = end

    def _sectors(self, number: int) -> int:
        """How many the image has of a write."""
        return self._kept.get(number, self._writes[number].sectors)

    def _put_back(self) -> None:
        """Give every sector that may have changed what the last write has that kept it."""
        changed = {
            sector
            for one in self._writes[self._changed_from :]
            for sector in range(one.sector, one.sector + one.sectors)
        }
        places: dict[int, int | None] = dict.fromkeys(changed)
        for number, one in enumerate(self._writes):
            places.update(_places(one._replace(sectors=self._sectors(number)), changed))
        with self._recording.open("rb") as data, self._image.open("r+b") as image:
            for sector, sectors, place in _runs(places):
                image.seek(sector * SECTOR_BYTES)
                length = sectors * SECTOR_BYTES
                image.write(_data(data.fileno(), length, place))
            image.flush()
            os.fsync(image.fileno())


def _part(one: Written) -> int:
    """How many sectors of an unflushed write stay, from its first on: whole blocks, all or none.

    >>> sorted({_part(Written(4, 14, None, 0)) for _ in range(200)})
    [0, 4, 12, 14]
    """
    first = BLOCK_SECTORS - one.sector % BLOCK_SECTORS
    inner = range(first, one.sectors, BLOCK_SECTORS)
    stays: int = random.choice((0, *inner, one.sectors))  # noqa: S311
    return stays


def _data(recording: int, length: int, place: int | None) -> bytes:
    return bytes(length) if place is None else os.pread(recording, length, place)


def _places(one: Written, wanted: set[int]) -> Iterator[tuple[int, int | None]]:
    """Where the recording has the wanted sectors of a write."""
    for offset in range(one.sectors):
        if (sector := one.sector + offset) in wanted:
            yield sector, None if one.place is None else one.place + offset * SECTOR_BYTES


def _runs(places: dict[int, int | None]) -> Iterator[tuple[int, int, int | None]]:
    """(first sector, number, place) of sectors whose data are in one piece; a sector that was never
    written has zeros, and no place.

    >>> list(_runs({7: 512, 8: 1024, 9: 4096, 11: None, 12: None}))
    [(7, 2, 512), (9, 1, 4096), (11, 2, None)]
    """
    first, number, at = -1, 0, None
    for sector, place in sorted(places.items()):
        behind = None if at is None else at + number * SECTOR_BYTES
        if number and sector == first + number and place == behind:
            number += 1
            continue
        if number:
            yield first, number, at
        first, number, at = sector, 1, place
    if number:
        yield first, number, at


class Moment(NamedTuple):
    """How far each recording was at a time of the monotonic clock."""

    at_s: float
    sizes: tuple[int, ...]


class Moments:
    """Notes how far some recordings are, from a mark until it is stopped."""

    def __init__(self, recordings: Sequence[WriteRecording]) -> None:
        self._recordings, self.noted = tuple(recordings), list[Moment]()
        for one in recordings:
            one.require_room()
            one.mark()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._note_all, daemon=True)
        self._thread.start()

    def stop(self) -> Moment:
        """The last moment, now."""
        self.end()
        self.noted.append(self._now())
        return self.noted[-1]

    def end(self) -> None:
        """Note no more."""
        self._stopped.set()
        self._thread.join()

    def lose(self, moment: Moment) -> None:
        """Put the drives into a state that a cut at that moment could have left."""
        for recording, size in zip(self._recordings, moment.sizes, strict=True):
            recording.lose(size)

    def _note_all(self) -> None:
        with contextlib.suppress(OSError):  # the drive is gone: something failed
            while not self._stopped.wait(NOTED_EVERY_S):
                before, now = self._now(), self._now()
                if before.sizes == now.sizes:  # else of no single moment
                    self.noted.append(before)

    def _now(self) -> Moment:
        return Moment(time.monotonic(), tuple(one.size for one in self._recordings))
