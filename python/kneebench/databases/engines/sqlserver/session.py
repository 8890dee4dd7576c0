"""A session on a SQL Server for what is asked beside the load: statements, rows, errors with their
numbers.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import pytds

from kneebench.databases.engines.sqlserver.error_hints import error_hint
from kneebench.databases.engines.sqlserver.server_address import SqlServerAddress
from kneebench.databases.engines.sqlserver.tls import certificate_hint, context_of, use_own_tls
from kneebench.databases.log_in import LOG_IN_S, LogIn
from kneebench.errors import PlanError

SECONDARY = {1802, 3013, 3119, 3621, 5069}
"""Messages that only say that a statement failed: 1802 CREATE DATABASE, 3013 BACKUP or RESTORE,
5069 ALTER DATABASE. What failed is in the message before."""


class SqlError(Exception):
    """What a server refused, or how its connection ended (`lost`, without a number)."""

    def __init__(self, message: str, number: int = 0, *, lost: bool = False) -> None:
        super().__init__(message)
        self.message, self.number, self.lost = message, number, lost


class ResultRows(NamedTuple):
    """The names of the columns, and the rows."""

    columns: list[str]
    rows: list[tuple[Any, ...]]


def quoted(name: str) -> str:
    """A name as an identifier.

    >>> quoted("a]b")
    '[a]]b]'
    """
    return f"[{name.replace(']', ']]')}]"


def literal(text: str) -> str:
    """A text as a constant.

    >>> literal("D:\\\\it's")
    "N'D:\\\\it''s'"
    """
    return "N'" + text.replace("'", "''") + "'"


class SqlServerSession:
    """One connection in autocommit; statements run one at a time."""

    def __init__(self, address: SqlServerAddress, connection: Any) -> None:
        self.address, self._connection = address, connection
        self.spid = int(self.value("SELECT @@SPID"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the session; one that is lost already too."""
        try:
            self._connection.close()
        except (pytds.Error, OSError):
            return

    def execute(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Run a batch to its end; the rows of its first result. `values` stand for its %s.

        Raises SqlError.
        """
        return self.table(statement, *values).rows

    def table(self, statement: str, *values: object) -> ResultRows:
        """The same with the names of the columns."""
        try:
            return self._table(statement, values)
        except (pytds.Error, OSError) as error:
            raise self._explained(error) from error

    def _table(self, statement: str, values: Sequence[object]) -> ResultRows:
        with _understood(), self._connection.cursor() as cursor:
            cursor.execute(statement, tuple(values) or None)
            found: ResultRows | None = None
            while True:
                if cursor.description:
                    columns = [column[0] for column in cursor.description]
                    rows = ResultRows(columns, cursor.fetchall())
                    found = found or rows
                if not cursor.nextset():  # errors of later statements come with their results
                    return found or ResultRows([], [])

    def value(self, statement: str, *values: object) -> Any:
        """The first value of the first row; None without a row."""
        rows = self.execute(statement, *values)
        return rows[0][0] if rows else None

    def _explained(self, error: Exception) -> SqlError:
        if isinstance(error, pytds.DatabaseError):
            numbers = _numbers(self._connection)
            number = next((one for one in numbers if one not in SECONDARY), _number(error))
            return SqlError(_words(error), number)
        self.close()
        return SqlError(_words(error), lost=True)


def rows_if_permitted(session: SqlServerSession, query: str) -> list[tuple[Any, ...]]:
    """What `session.execute` gives; no rows where a view is not there or not permitted."""
    try:
        return session.execute(query)
    except SqlError as error:
        if error.lost:
            raise
        return []


def connect(
    address: SqlServerAddress, database: str = "master", limit_s: float | None = None
) -> SqlServerSession:
    """A session in a database, whose answers may take `limit_s`.

    It logs in to the login's default database: an error about a database then has its own number.
    Raises PlanError with the server's words where it refuses.
    """
    what, log_in = f"cannot connect to {address.place} as {address.user}", LogIn()
    try:
        context = context_of(address)
        opened = socket.create_connection((address.host, address.port), LOG_IN_S)
        with log_in.limits(opened):
            session = SqlServerSession(address, _log_in(address, opened, context, limit_s))
            if database:
                session.execute(f"USE {quoted(database)}")
    except (pytds.Error, OSError, SqlError) as error:
        number = error.number if isinstance(error, SqlError) else _number(error)
        seen = _words(error)
        do = certificate_hint(error, address) or error_hint(number, seen, address)
        raise PlanError(what, seen=seen, do=do) from error
    return session


def _log_in(
    address: SqlServerAddress, opened: socket.socket, context: ssl.SSLContext, limit_s: float | None
) -> Any:
    use_own_tls()
    pytds.utils.exponential_backoff = _once
    password = address.password.get_secret_value() if address.password else ""
    with _understood():
        return pytds.connect(
            dsn=address.host,
            port=address.port,
            user=address.user,
            password=password,
            appname="kneebench",
            cafile=context,
            sock=opened,
            autocommit=True,
            timeout=limit_s,
            login_timeout=LOG_IN_S,
        )


def _once(work: Callable[[float], Any], *, max_time_sec: float, **_: object) -> Any:
    """In place of pytds' tries until the log-in's time is up, of which it then reports that."""
    return work(max_time_sec)


@contextlib.contextmanager
def _understood() -> Iterator[None]:
    """pytds takes what it receives for packets: other bytes make it fail anywhere."""
    try:
        yield
    except (pytds.Error, OSError, UnicodeEncodeError):
        raise
    except Exception as error:
        raise pytds.InterfaceError("the server's response is none of TDS") from error


def _numbers(connection: Any) -> list[int]:
    """The numbers of the errors of the last statement, in their order; messages of severity 10 and
    below only inform.
    """
    session = getattr(getattr(connection, "_tds_socket", None), "main_session", None)
    messages = getattr(session, "messages", ())
    return [int(one["msgno"]) for one in messages if one["severity"] > 10]


def _number(error: BaseException) -> int:
    return int(getattr(error, "msg_no", 0) or getattr(error, "number", 0) or 0)


def _words(error: BaseException) -> str:
    """The words of an error on one line.

    >>> _words(TimeoutError())
    'no response in time'
    """
    text = str(error.args[0]) if isinstance(error, pytds.DatabaseError) else str(error)
    return " ".join(text.split()) or "no response in time"
