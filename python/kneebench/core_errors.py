"""What the core raises: errors of a database, by class, with the database's own code."""

from __future__ import annotations

from typing import Literal, Self

CoreErrorClass = Literal["retry", "rolled_back", "full", "refused", "lost", "other"]


class CoreError(Exception):
    """An error of a database. `code` is the database's own, empty if there is none."""

    def __new__(cls, message: str, code: str = "", error_class: CoreErrorClass = "other") -> Self:
        """With the message alone: OSError takes a second value for the file's name."""
        return super().__new__(cls, message)

    def __init__(self, message: str, code: str = "", error_class: CoreErrorClass = "other") -> None:
        super().__init__(message)
        self.message, self.code, self.error_class = message, code, error_class


class ConnectError(CoreError, ConnectionError):
    """Connections cannot be opened."""


class LoadError(CoreError, RuntimeError):
    """A load failed."""


class SessionError(CoreError):
    """A statement of a session over ODBC failed."""
