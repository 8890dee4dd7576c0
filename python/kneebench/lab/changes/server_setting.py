"""Settings that were changed on a server that is not ours: put back by the next run of its plan, or
by hand.

The journal does not keep the password, so no other run can do it.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kneebench.lab.changes.change import Change


class ChangedServerSettings(Change):
    """Settings by name with their values before, and the statements that set them back by hand."""

    VERBS = ("restore", "restored")
    kind: Literal["server_setting"] = "server_setting"
    values: dict[str, int] = Field(default_factory=dict)
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
        """Raises OSError with the statements that restore them."""
        raise OSError(
            "the next run of its plan restores them; to restore them now, run on the server:"
            f" {self.by_hand}; then {forget}"
        )


KIND = ChangedServerSettings
