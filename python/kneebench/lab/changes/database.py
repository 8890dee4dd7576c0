"""What was made on a server that is not ours: a database, functions in one."""

from __future__ import annotations

from typing import Literal

from kneebench.lab.changes.change import ChangeOnServer


class MadeOnServer(ChangeOnServer):
    """A database, or functions in one, with the command that removes it by hand."""

    kind: Literal["database"] = "database"

    def require_gone(self, forget: str) -> None:
        """Raises OSError with the command that removes it."""
        raise OSError(
            f"the next run of its plan removes it; to remove it now: {self.by_hand} && {forget}"
        )


KIND = MadeOnServer
