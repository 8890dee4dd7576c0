"""Sessions by which a database is asked over ODBC, and what their errors mean.

The driver's session is in a module of its own, which needs unixODBC.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import time
from collections.abc import Callable, Iterator
from inspect import signature
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from kneebench._core import Dataset, GeneratorSpec, LoadGenerator, Loading
from kneebench.core_errors import SessionError
from kneebench.databases.client import Client
from kneebench.databases.engine import ServerAddress
from kneebench.databases.loading import sql_hash
from kneebench.databases.odbc.dialect import Dialect
from kneebench.databases.odbc.properties import PASSWORD
from kneebench.errors import PlanError
from kneebench.secrets import HIDDEN

if TYPE_CHECKING:
    from kneebench import _odbc

REFUSED = ("28000", "28P01", "08001", "08004", "IM002", "IM003", "IM004", "01000", "42501")
"""SQLSTATEs of what the plan or the server's administrator must change: no driver, no data source,
no server, no right."""
LIMIT_S, POLL_S = 60.0, 0.2


def module() -> ModuleType:
    """The module of sessions over ODBC. Raises PlanError where it does not load."""
    try:
        from kneebench import _odbc
    except ImportError as error:
        raise PlanError(
            "cannot use ODBC",
            seen=str(error),
            do="install unixODBC and its headers (Debian: unixodbc-dev), and run `make odbc` in a"
            " checkout of kneebench (docs/odbc.md)",
        ) from error
    return _odbc


class OdbcAddress(ServerAddress):
    """A database as its driver knows it. The password is not in it: the environment has it."""

    protocol: ClassVar[Literal["odbc"]] = "odbc"
    host: str = ""
    port: int = 0
    database: str = ""
    string: str
    dialect: Dialect = Field(exclude=True)

    @property
    def place(self) -> str:
        return self.string

    def target(self) -> _odbc.Target:
        """It as the core's module takes it."""
        password = os.environ.get(PASSWORD, "")
        secret = f";PWD={_quoted(password)}" if password else ""
        found: _odbc.Target = module().Target(
            connection_string=f"{self.string}{secret};",  # MariaDB's reads beyond its end
            place=self.string,
            settings=self.dialect.session,
            calls=self.dialect.calls,
            errors=self.dialect.classes,
        )
        return found

    def load_generator(self, spec: GeneratorSpec, *beside: ServerAddress) -> LoadGenerator:
        assert not beside, "a dialect has one database"
        values = {name: getattr(spec, name) for name in signature(GeneratorSpec).parameters}
        return self.target().load_generator(values)

    def loading(self, dataset: Dataset, streams: int, tables: Any) -> Loading:
        assert dataset.shape, "a dialect has no tables of TPROC-H"
        plain = [(one.name, one.before, one.fill) for one in tables]
        return self.target().loading(dataset.shape, streams, plain)


def _quoted(value: str) -> str:
    """A value of a connection string: in braces where it needs them, which not every driver reads.

    >>> _quoted("hush"), _quoted("a;b}")
    ('hush', '{a;b}}}')
    """
    plain = re.fullmatch(r"[^][{}(),;?*=!@+ ]*", value)
    return value if plain else "{" + value.replace("}", "}}") + "}"


class OdbcSession:
    """A session for statements, each of which commits by itself."""

    def __init__(self, address: OdbcAddress, limit_s: float | None) -> None:
        self.address, self.dialect = address, address.dialect
        self.limit_s = None if limit_s is None else max(1, round(limit_s))
        self._session = address.target().connect()

    @property
    def digest(self) -> str:
        """What distinguishes this dialect's tables and procedures from another's, and from its own
        earlier ones.
        """
        return sql_hash(self.dialect.folder)[:12]

    def rows(self, statement: str) -> list[list[int | float | str | None]]:
        """The rows of its first result."""
        return self._session.execute(statement, self.limit_s)

    def value(self, statement: str) -> int | float | str | None:
        """The first value of the first row; None without one."""
        rows = self.rows(statement)
        return rows[0][0] if rows and rows[0] else None

    def close(self) -> None:
        self._session.close()

    def __enter__(self) -> OdbcSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(address: OdbcAddress, *, limit_s: float | None = None) -> OdbcSession:
    """A session. Raises PlanError with the driver's words where there is none."""
    try:
        return OdbcSession(address, limit_s)
    except SessionError as error:
        do = error_hint(error.code, error.message, address)
        raise PlanError(f"cannot connect to {address.place}", seen=said(error), do=do) from error


def answers(address: OdbcAddress) -> bool:
    """Whether a session can be opened there."""
    with contextlib.suppress(PlanError):
        connect(address).close()
        return True
    return False


def _once_it_answers(address: OdbcAddress, do: Callable[[], None]) -> None:
    until = time.monotonic() + LIMIT_S
    while not answers(address) and time.monotonic() < until:
        time.sleep(POLL_S)
    do()


def by_hand(address: OdbcAddress, statements: str) -> str:
    """How a person runs statements, each in its line: by unixODBC's own client."""
    quoted = (shlex.quote(one) for one in statements.splitlines())
    return f"printf '%s\\n' {' '.join(quoted)} | isql -b -k '{address.string};PWD={HIDDEN}'"


def said(error: BaseException) -> str:
    """The error's words, without what only drivers say of themselves.

    >>> said(SessionError("[unixODBC][psqlodbc] no such table", "42P01"))
    'no such table'
    """
    return re.sub(r"^(\[[^\]]*\])+\s*", "", str(error))


def error_hint(code: str, words: str, address: object) -> str:
    """The fix for an error, by its SQLSTATE."""
    if code in ("IM002", "IM003", "01000") or "open lib" in words:
        return (
            "install the driver, or correct its name: `odbcinst -q -d` lists those that are there"
        )
    if code.startswith("28") or "password" in words or "authentication" in words:
        return f"correct UID in the URL, or the password in {PASSWORD}"
    if code.startswith("08"):
        return "start the server, or correct its address in the URL"
    return "look the error up in the documentation of the database, then run again"


def is_lost(error: BaseException | None) -> bool:
    """Whether an error ended the session."""
    return isinstance(error, SessionError) and error.error_class == "lost"


def _words_of(error: BaseException) -> tuple[str, str]:
    return getattr(error, "code", ""), said(error)


CLIENT = Client(
    connect,
    answers,
    _once_it_answers,
    by_hand,
    failures=(SessionError,),
    words_of=_words_of,
    code_name="SQLSTATE",
    hint=error_hint,
    lasting=REFUSED,
    out_of_space=("53100",),
    is_lost=is_lost,
)


def readings_of(session: OdbcSession, queries: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    """The rows of queries of (quantity, value), without those that have no value."""
    for query in queries:
        for name, value, *_ in session.rows(query):
            if value is not None:
                yield str(name), float(value)
