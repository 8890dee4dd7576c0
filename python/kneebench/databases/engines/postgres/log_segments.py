"""Segments of the log that are there before the server needs them.

A database that has run for a day writes its log into segments that checkpoints have recycled. A
fresh copy has none: every 16 MB the server makes a segment and fills it with zeros while all users
wait. So segments are made while nothing is measured, as the server makes them: filled with zeros,
synced, under the next names. The server uses a segment that it finds (XLogFileInit).
"""

from __future__ import annotations

import contextlib
import os
import re
import time
import uuid
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from kneebench.databases.engines.postgres.footprint import MIB
from kneebench.databases.managed.account import Account
from kneebench.databases.managed.disk_space import free_bytes
from kneebench.lab.folder import Folder

NAME = re.compile(r"[0-9A-F]{24}")
GROUP_BYTES = 2**32
"""The segments of so many bytes share the middle eight digits of their names."""
ZEROS = bytes(MIB)
SPARE_BYTES = 512 * MIB
"""Of the file system: left free, also for a profile of the storage without its database."""
GUESS_PER_CORE_S = 45e6
"""Log per second and core before any was seen: a small database in memory wrote 42 MB."""
MARGIN = 1.5
"""More than the fastest log so far would need."""
SHORTEST_S = 0.5
"""Between two looks at the log's position that say how fast it grows."""


class LogRate:
    """The fastest that servers of one configuration have written log so far, from looks at its
    position.
    """

    def __init__(self, guess_per_s: float) -> None:
        self.most_per_s, self._guessed = guess_per_s, True
        self._at_s, self._position = 0.0, 0.0

    def restart(self) -> None:
        """Another server, whose log begins again."""
        self._at_s = 0.0

    def look(self, at_s: float, position: float) -> None:
        """Take in its position, in bytes; looks less than SHORTEST_S apart say nothing."""
        past_s = at_s - self._at_s
        if past_s < SHORTEST_S:
            return
        if self._at_s:
            per_s = (position - self._position) / past_s
            if per_s > 0:
                self.most_per_s = per_s if self._guessed else max(self.most_per_s, per_s)
                self._guessed = False
        self._at_s, self._position = at_s, position


class LogSegments:
    """The segments in the log's directory `folder`: `most_bytes` at most (max_wal_size), those in
    use included. They belong to the account. `rate`: how fast the log grows.
    """

    def __init__(
        self,
        folder: Path,
        segment_bytes: int,
        most_bytes: int,
        account: Account | None,
        rate: LogRate,
    ) -> None:
        self._folder, self._account, self.rate = folder, account, rate
        rate.restart()
        self._segment_bytes, self._most = segment_bytes, most_bytes // segment_bytes

    def ready(self, current: str, for_s: float, limit_s: float) -> bool | None:
        """Make the segments behind the current one that so many seconds of log take, with a margin,
        for `limit_s` at most. Whether all are there; None where there is no room for them. Raises
        OSError where none can be made.
        """
        until_s = time.monotonic() + limit_s
        with Folder.at(self._folder) as folder:
            there = {name for name in folder.names() if NAME.fullmatch(name)}
            wanted = int(MARGIN * for_s * self.rate.most_per_s // self._segment_bytes) + 2
            names = islice(following(current, self._segment_bytes), wanted)
            missing = [name for name in names if name not in there]
            for made, name in enumerate(missing, start=len(there)):
                if made >= self._most or free_bytes(self._folder) < SPARE_BYTES:
                    return None
                if time.monotonic() > until_s:
                    return False
                self._make(folder, name)
        return True

    def _make(self, folder: Folder, name: str) -> None:
        """A segment of zeros, put in place as a whole; one that the server has made by then stays.
        It is not left in the page cache, as if it had been written long ago.
        """
        draft = f"xlogtemp.{uuid.uuid4().hex[:12]}"  # the server removes such files when it starts
        file = folder.creating(draft)
        try:
            with os.fdopen(file, "wb") as opened:
                for _ in range(0, self._segment_bytes, len(ZEROS)):
                    opened.write(ZEROS)
                opened.flush()
                if self._account:
                    self._account.owns(file)
                os.fsync(file)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            with contextlib.suppress(FileExistsError):
                here = {"src_dir_fd": folder.handle, "dst_dir_fd": folder.handle}
                os.link(draft, name, **here, follow_symlinks=False)
        finally:
            os.unlink(draft, dir_fd=folder.handle)


def following(current: str, segment_bytes: int) -> Iterator[str]:
    """The names of the segments after one: its timeline, then two numbers.

    >>> list(islice(following("0000000100000000000000FE", 2**24), 2))
    ['0000000100000000000000FF', '000000010000000100000000']
    """
    each = GROUP_BYTES // segment_bytes
    timeline, group, number = (int(current[at : at + 8], 16) for at in (0, 8, 16))
    place = group * each + number
    while True:
        place += 1
        yield f"{timeline:08X}{place // each:08X}{place % each:08X}"
