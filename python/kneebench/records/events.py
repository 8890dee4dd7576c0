"""What a watcher and `kneebench check` are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pydantic import Field

from kneebench.records.record import Record


class Finding(Record):
    """One line of `kneebench check`: the subject, the value seen, and the fix.

    `writes_bytes`: the most that a configuration writes to a disk (or to memory) and removes again,
    into the directory `writes_to` where it is one; `keeps_bytes`: the part that stays; `takes_s`:
    the duration of the campaign, for the finding on the duration; `about`: what the finding is on,
    where a program asks for it.
    """

    level: Literal["ok", "note", "warning", "error", "refused"]
    subject: str
    seen: str
    do: str = ""
    writes_bytes: int = 0
    writes_to: str = ""
    keeps_bytes: int = 0
    takes_s: float | None = None
    about: Literal["", "base_image", "log_histogram", "trial_load"] = ""


class Event(Record):
    """An event for a watcher. `share`: completed part of `doing`; `left_s`: its remaining time."""

    kind: Literal["start", "progress", "end", "rung", "round", "stop", "warning", "result"]
    doing: str
    share: float | None = None
    left_s: float | None = None
    data: dict[str, object] = Field(default_factory=dict)


Watch = Callable[[Event], None]


def unwatched(event: Event) -> None:
    """A watcher that does nothing."""
