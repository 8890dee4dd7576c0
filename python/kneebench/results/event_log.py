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
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from kneebench.records import Event, Rung
from kneebench.regular_file import opened
from kneebench.secrets import clean

FILE = "events.jsonl"
MOST_BYTES = 2**30
"""Of a file that is read: about two months of seconds."""
PIECE_BYTES = 2**20
KEPT = ("folder", "order", "second", "kept", "key", "warehouses_per_min")
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
        event = event.model_copy(update={"data": data})
        line = {"at": round(time.time(), 3), **event.model_dump(mode="json", exclude_none=True)}
        with contextlib.suppress(OSError), self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(clean(line), ensure_ascii=False) + "\n")


class EventReader:
    """Reads the events of a campaign's folder, also while they are written."""

    def __init__(self, folder: Path) -> None:
        self._file, self._read_bytes, self._part = folder / FILE, 0, b""

    def new(self) -> list[Logged]:
        """The events that were written since the last call; a line that is no event is left out.

        Raises KneebenchError for what is no regular file under the name.
        """
        found = []
        while piece := self._piece():
            *lines, self._part = (self._part + piece).split(b"\n")
            found += [one for line in lines if (one := _logged(line))]
        return found

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
        found = json.loads(line)
        return Logged(float(found.pop("at")), Event.model_validate(found))
    except (ValueError, ValidationError, AttributeError, TypeError, KeyError):
        return None
