"""What the core raises: errors of a database, by class, with the database's own code."""

from __future__ import annotations

from typing import Literal

CoreErrorClass = Literal["retry", "rolled_back", "full", "refused", "lost", "other"]


class CoreError(Exception):
    """An error of a database. `code` is the database's own, empty if there is none."""

    def __init__(self, message: str, code: str = "", error_class: CoreErrorClass = "other") -> None:
        super().__init__(message)
        self.message, self.code, self.error_class = message, code, error_class


class ConnectError(CoreError):
    """Connections cannot be opened."""


class LoadError(CoreError):
    """A load failed."""


class SessionError(CoreError):
    """A statement of a session over ODBC failed."""
