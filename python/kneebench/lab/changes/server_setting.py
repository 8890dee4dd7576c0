"""Settings that were changed on a server that is not ours."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kneebench.lab.changes.change import ChangeOnServer


class ChangedServerSettings(ChangeOnServer):
    """Settings by name with their values before, and the statements that set them back by hand."""

    VERBS = ("restore", "restored")
    kind: Literal["server_setting"] = "server_setting"
    values: dict[str, int] = Field(default_factory=dict)

    def require_gone(self, forget: str) -> None:
        """Raises OSError with the statements that restore them."""
        raise OSError(
            "the next run of its plan restores them; to restore them now, run on the server:"
            f" {self.by_hand}; then {forget}"
        )


KIND = ChangedServerSettings
