"""What every change to the machine has: who made it, and how it is undone.

A file on this shelf has `KIND`, its class of changes. `undo` must be repeatable: it is run again
after it was interrupted.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from pydantic import ConfigDict

from kneebench.records import Record


class Change(Record):
    """One change, as the journal keeps it.

    `owner_*` is the kneebench that made it, distinguished by its start from a later process that
    reuses the PID. While that process runs, no other kneebench undoes the change. `boot` is the
    boot in which it was made.
    """

    model_config = ConfigDict(extra="ignore")
    """Entries of other versions may have more fields."""
    VERBS: ClassVar[tuple[str, str]] = ("remove", "removed")
    """What undoing it is called, before and after."""

    id: str
    kind: str
    what: str
    owner: int = 0
    owner_started: int = 0
    boot: str = ""
    made_ns: int = 0
    """Time since 1970. What was made last is undone first: a server before the directory that it
    works in."""

    @property
    @abstractmethod
    def where(self) -> str:
        """The process, directory or server that it concerns, in words."""

    @property
    def words(self) -> str:
        """What it is and where, for a reader."""
        return f"{self.what} ({self.where})"

    @abstractmethod
    def undo(self) -> bool:
        """Undo it; whether there was something to undo.

        Raises OSError where that is not possible now.
        """

    @abstractmethod
    def require_gone(self, forget: str) -> None:
        """Raises OSError if something remains that `undo` could not identify as ours.

        `forget` is the command that removes its entry.
        """

    def remark(self) -> str:
        """What is left as it is and must be said, before it is undone; empty for nothing."""
        return ""

    def is_out_of_reach(self) -> bool:
        """Whether it may remain on a drive that is not mounted now."""
        return False


class ChangeOnServer(Change):
    """A change on a server that is not ours: undone by the next run of its plan, or by hand.

    The journal does not keep the password, so no other run can undo it.
    """

    by_hand: str = ""
    """What undoes it on the server."""

    @property
    def where(self) -> str:
        return "on its server"

    @property
    def words(self) -> str:
        """What it is; that names the server."""
        return self.what

    def undo(self) -> bool:
        """Nothing: that needs the plan."""
        return False
