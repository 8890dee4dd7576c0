"""What was made on a server that is not ours (a database, functions in one): undone by the next run
of its plan, or by hand.

The journal does not keep the password, so nobody but the run that has the plan can undo it.
"""

from __future__ import annotations

from typing import Literal

from kneebench.lab.changes.change import Change


class MadeOnServer(Change):
    """A database, or functions in one, with the command that removes it by hand."""

    kind: Literal["database"] = "database"
    by_hand: str = ""

    @property
    def where(self) -> str:
        """On its server."""
        return "on its server"

    @property
    def words(self) -> str:
        """What it is; that names the server."""
        return self.what

    def undo(self) -> bool:
        """Nothing: that needs the plan."""
        return False

    def require_gone(self, forget: str) -> None:
        """Raises OSError with the command that removes it."""
        raise OSError(
            f"the next run of its plan removes it; to remove it now: {self.by_hand} && {forget}"
        )


KIND = MadeOnServer
