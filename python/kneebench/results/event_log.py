"""What happens in a campaign, as it happens: events.jsonl in its folder, one JSON object a line.

A page or another program follows the file while the campaign runs (`kneebench live`). Nothing that
is measured depends on it: where a line cannot be written, it is missing. A campaign that is resumed
appends to its file.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kneebench.records import Event, Rung
from kneebench.regular_file import opened
from kneebench.secrets import clean

FILE = "events.jsonl"
MOST_BYTES = 2**36
"""Of a file that is read: years of seconds, on a machine with many cores."""
PIECE_BYTES = 2**20
"""Of one read, and of one line."""
KEPT = ("folder", "in", "order", "second", "kept", "key", "warehouses_per_min", "rounds_left")
"""What is kept of an event's data besides a stop result: the rest has files of its own."""


class Logged(NamedTuple):
    """An event, and when it happened: seconds since 1970."""

    at_s: float
    event: Event


class EventLog:
    """Appends events to a campaign's file."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE

    def write(self, event: Event) -> None:
        """Append an event; of a rung only its key, by which its file is named."""
        data = dict(event.data)
        if isinstance(rung := data.pop("rung", None), Rung):
            data["key"] = rung.order.key
        if event.kind != "stop":
            data = {name: value for name, value in data.items() if name in KEPT}
        with contextlib.suppress(OSError, ValueError), self._file.open("a") as file:
            said = event.model_copy(update={"data": data}).model_dump(exclude_none=True)
            file.write(json.dumps(clean({"at": round(time.time(), 3), **said})) + "\n")


class EventReader:
    """Reads the events of a campaign's folder, also while they are written."""

    def __init__(self, folder: Path) -> None:
        self._file, self._read_bytes, self._part = folder / FILE, 0, b""

    def new(self) -> Iterator[Logged]:
        """The events that were written since the last call, one after the other; a line that is no
        event is left out.

        Raises KneebenchError for what is no regular file under the name.
        """
        while piece := self._piece():
            *lines, self._part = (self._part + piece).split(b"\n")
            self._part = self._part if len(self._part) < PIECE_BYTES else b""
            yield from (one for line in lines if (one := _logged(line)))

    def _piece(self) -> bytes:
        try:
            with opened(self._file, MOST_BYTES, inner=True) as handle:
                piece = os.pread(handle, PIECE_BYTES, self._read_bytes)
        except FileNotFoundError:
            return b""
        self._read_bytes += len(piece)
        return piece


def _logged(line: bytes) -> Logged | None:
    try:
        found = json.loads(line, parse_constant=_refused)
        return Logged(float(found.pop("at")), Event.model_validate(found))
    except (ValueError, AttributeError, TypeError, KeyError, RecursionError):
        return None


def _refused(constant: str) -> None:
    """NaN and Infinity, which browsers cannot read."""
    raise ValueError(constant)
