"""Sessions over ODBC: a module of its own, because it needs unixODBC (`make odbc`)."""

from collections.abc import Mapping, Sequence
from typing import final

from kneebench._core import LoadGenerator, Loading

@final
class Target:
    """A database that a driver of unixODBC reaches, and what its dialect says.

    `connection_string` has the password, `place` is the same for people. `settings`: statements at
    the begin of every session. `calls`: statements of transactions, by their names; the others are
    {CALL kneebench_<name>(?, ...)}. `errors`: an SQLSTATE, a number of the database or words of its
    message, each with a class.
    """

    def __init__(
        self,
        *,
        connection_string: str,
        place: str,
        settings: Sequence[str],
        calls: Mapping[str, str],
        errors: Sequence[tuple[str, str]],
    ) -> None: ...
    def load_generator(self, spec: Mapping[str, object]) -> LoadGenerator:
        """Users; `spec`: the values of a GeneratorSpec of the core, by name."""

    def loading(
        self,
        shape: tuple[int, str, int],
        streams: int,
        tables: Sequence[tuple[str, Sequence[str], str]],
    ) -> Loading:
        """`shape`: warehouses, profile and seed. `tables`: name, statements before the rows, and
        the INSERT.
        """

    def connect(self) -> Session:
        """A session for statements; raises core_errors.SessionError."""

@final
class Session:
    """A session for statements, one at a time; each commits by itself."""

    def execute(
        self, statement: str, limit_s: int | None = None
    ) -> list[list[int | float | str | None]]:
        """The rows of the statement's first result: numbers are numbers, all else is text.

        `limit_s` is the driver's own limit of a query, which not every driver has. Raises
        core_errors.SessionError.
        """

    def close(self) -> None:
        """End it; a second time has no effect."""
