"""A control session: what kneebench asks of a server and has it do, beside the virtual users.

In autocommit; its statements are written out by the client (PyMySQL), so the server prepares
nothing for it.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Self

import pymysql
from pymysql.connections import Connection
from pymysql.constants import CLIENT as CAPABILITIES

from kneebench._core import system_roots
from kneebench.databases.client import Client
from kneebench.databases.external.engine import LIMIT_S, POLL_S
from kneebench.databases.innodb.address import client_command
from kneebench.databases.innodb.error_hints import (
    BY_NUMBER,
    NO_TLS,
    OUT_OF_SPACE,
    TLS_UNUSED,
    error_hint,
)
from kneebench.databases.innodb.server_address import InnodbAddress
from kneebench.databases.log_in import LOG_IN_S, LogIn
from kneebench.errors import PlanError

SEND_S = 10.0
"""Longest wait for a server that reads none of a statement."""
LONGEST_S = 6 * 3600.0
DENIED = 1045
"""The server's number for a wrong password, and for a connection in the clear of an account that
requires TLS."""
TLS_FAILED = 2026
"""The client's number for a server without TLS."""
MALFORMED = 2027
"""The client's number for packets that are none of the protocol's."""
NO_PLUGIN = 2061
"""The client's number for an authentication plugin that fails."""
OURS = (
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE",
    "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', completion_type = 0,"
    " sql_quote_show_create = 1, sql_safe_updates = 0, sql_select_limit = 18446744073709551615,"
    " time_zone = 'SYSTEM', wait_timeout = 2147483",
)
"""Nothing depends on what the server sets for its sessions; the users' sessions do the same
(src/session/mysql/settings.rs). In another mode SHOW GRANTS quotes names otherwise. InnoDB shows
when transactions began to wait by the clock of its machine: NOW() is then by the same.
wait_timeout is the longest that every server allows: some sessions are idle for a whole climb."""
OF_PRODUCT = {
    True: ("SET SESSION max_statement_time = 0",),
    False: (
        "SET SESSION max_execution_time = 0",
        "SET SESSION information_schema_stats_expiry = 0",
    ),
}
"""By whether the server is MariaDB. MySQL else answers with sizes of tables up to a day old."""
LOST = ("1053", "1077", "1079", "1927", "2003", "2006", "2013", "2027", "2055", "3169", "4031")
"""Numbers of a session that was ended, or found no server."""
Row = tuple[Any, ...]


class InnodbSession:
    """A session whose answers may take so long; later ones are lost, and the session with them."""

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def id(self) -> int:
        """The server's number for it."""
        return int(self._connection.thread_id())  # type: ignore[no-untyped-call]

    @property
    def version(self) -> str:
        """What the server says of its version, such as "10.11.19-MariaDB-0+deb12u1"."""
        return str(self._connection.get_server_info())  # type: ignore[no-untyped-call]

    @property
    def is_mariadb(self) -> bool:
        """Whether the server is MariaDB; else it is MySQL."""
        return "MariaDB" in self.version

    @property
    def host(self) -> str:
        """The server's, as it was connected to."""
        return str(self._connection.host)

    @property
    def database(self) -> str:
        """The one that it is in; empty without one."""
        return str(self.value("SELECT DATABASE()") or "")

    @property
    def account(self) -> str:
        """The account that the server has it for, as GRANT takes it."""
        name, _, host = str(self.value("SELECT CURRENT_USER()")).rpartition("@")
        return f"'{name}'@'{host}'"

    @property
    def peer(self) -> Any:
        """The socket to the server."""
        return self._connection._sock  # type: ignore[attr-defined]

    def limit(self, limit_s: float) -> None:
        """From now on answers may take so long."""
        self._connection._read_timeout = limit_s  # type: ignore[attr-defined]

    def rows(self, statement: str, *values: object) -> list[Row]:
        """All rows of a query's answer; its values are written in place of %s."""
        with self._connection.cursor() as cursor:
            written = cursor.mogrify(statement, values or None)
            with _understood():
                cursor.execute(written)
            return list(cursor.fetchall())

    def row(self, statement: str, *values: object) -> Row:
        """The first row; empty where there is none."""
        return next(iter(self.rows(statement, *values)), ())

    def value(self, statement: str, *values: object) -> Any:
        """The first value of the first row; None where there is no row."""
        return next(iter(self.row(statement, *values)), None)

    def run(self, statement: str, *values: object) -> None:
        """Run a statement whose answer does not matter."""
        self.rows(statement, *values)

    def close(self) -> None:
        """End it, also after it was lost."""
        with contextlib.suppress(pymysql.Error, OSError):
            self._connection.close()


def connect(
    address: InnodbAddress, database: str = "", limit_s: float = LONGEST_S
) -> InnodbSession:
    """A session; raises PlanError with the server's words where it refuses."""
    log_in = LogIn()
    try:
        session = _connect_once(address, database or address.database, limit_s, log_in)
        with log_in.limits(session.peer):
            for statement in (*OURS, *OF_PRODUCT[session.is_mariadb]):
                session.run(statement)
        return session
    except (pymysql.Error, OSError, UnicodeError) as error:
        code, words = words_of(error)
        raise PlanError(
            f"cannot connect to {address.place} as {address.user}",
            seen=words,
            do=error_hint(code, words, address),
        ) from None


def _connect_once(
    address: InnodbAddress, database: str, limit_s: float, log_in: LogIn
) -> InnodbSession:
    """With sslmode=prefer in the clear where TLS fails, never where the server refuses."""
    try:
        return _open_session(address, database, limit_s, _tls(address), log_in)
    except pymysql.OperationalError as error:
        if address.sslmode == "prefer" and _is_of_tls(error):
            return _open_session(address, database, limit_s, None, log_in)
        raise


def _is_of_tls(error: pymysql.OperationalError) -> bool:
    cause = getattr(error, "original_exception", None)
    return error.args[0] == TLS_FAILED or isinstance(cause, ssl.SSLError)


def _open_session(
    address: InnodbAddress,
    database: str,
    limit_s: float,
    tls: ssl.SSLContext | None,
    log_in: LogIn,
) -> InnodbSession:
    password = address.password.get_secret_value() if address.password else ""
    connection: Connection[Any] = Connection(
        host=address.host,
        port=address.port,
        user=address.user,
        password=password.encode(),
        database=database or None,
        ssl=tls,
        ssl_disabled=tls is None,
        read_timeout=limit_s,
        write_timeout=SEND_S,
        autocommit=True,
        charset="utf8mb4",
        program_name="kneebench",
        defer_connect=True,
    )
    connection._secure = bool(address.socket)  # type: ignore[attr-defined]
    opened = _socket(address)
    with log_in.limits(opened), _tls_unused_said(connection, address, tls), _understood():
        connection.connect(opened)
    return InnodbSession(connection)


def _socket(address: InnodbAddress) -> socket.socket:
    if not address.socket:
        opened = socket.create_connection((address.host, address.port), LOG_IN_S)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return opened
    opened = socket.socket(socket.AF_UNIX)
    try:
        opened.settimeout(LOG_IN_S)
        opened.connect(address.socket)
    except OSError:
        opened.close()
        raise
    return opened


@contextlib.contextmanager
def _tls_unused_said(
    connection: Connection[Any], address: InnodbAddress, tls: ssl.SSLContext | None
) -> Iterator[None]:
    """A server says no more than "Access denied" of an account that requires TLS, also where it
    has none.
    """
    try:
        yield
    except pymysql.Error as error:
        if error.args[:1] != (DENIED,) or tls or address.socket:
            raise
        offered = getattr(connection, "server_capabilities", 0) & CAPABILITIES.SSL
        words = f"{words_of(error)[1]}; {TLS_UNUSED if offered else NO_TLS}"
        raise pymysql.OperationalError(DENIED, words) from None


@contextlib.contextmanager
def _understood() -> Iterator[None]:
    """PyMySQL takes what it receives for packets: other bytes make it fail anywhere."""
    try:
        yield
    except (pymysql.Error, OSError, UnicodeEncodeError) as error:
        if not isinstance(error, pymysql.InternalError) or len(error.args) > 1:  # with a number
            raise
        raise _malformed() from error
    except RuntimeError as error:  # a package that PyMySQL lacks for it
        raise pymysql.OperationalError(NO_PLUGIN, str(error)) from None
    except Exception as error:
        raise _malformed() from error


def _malformed() -> pymysql.OperationalError:
    return pymysql.OperationalError(MALFORMED, "the server's response is none of MySQL's")


def _tls(address: InnodbAddress) -> ssl.SSLContext | None:
    """What the mode requires of the server's certificate; None for a connection without TLS."""
    if address.sslmode == "disable" or address.socket:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = address.sslmode == "verify-full"
    rooted = address.sslmode == "require" and address.sslrootcert  # as the load generator does
    if not (rooted or address.sslmode.startswith("verify")):
        context.verify_mode = ssl.CERT_NONE
        return context
    given = address.sslrootcert if address.sslrootcert not in ("", "system") else system_roots()
    try:
        context.load_verify_locations(cafile=given)
    except (OSError, TypeError) as error:
        raise PlanError(
            f"cannot read the root certificates {given or 'of the system'}",
            seen=str(error),
            do="correct sslrootcert in the URL",
        ) from None
    return context


def words_of(error: BaseException) -> tuple[str, str]:
    """(number, words) of what a server or its client reported; the number is empty for other
    errors.
    """
    if isinstance(error, pymysql.Error) and len(error.args) > 1 and isinstance(error.args[0], int):
        return str(error.args[0]), " ".join(str(error.args[1]).split())
    return "", " ".join(str(error).split()) or type(error).__name__


def is_lost(error: BaseException | None) -> bool:
    """Whether an error ended the session: the server did, or is not there."""
    code = words_of(error)[0] if error else ""
    return isinstance(error, pymysql.InterfaceError | OSError) or code in LOST


def answers(address: InnodbAddress) -> bool:
    """True where a server takes connections there."""
    try:
        _connect_once(address, "", SEND_S, LogIn()).close()
    except (pymysql.Error, OSError) as error:
        code = words_of(error)[0]
        return code.isdigit() and 1000 <= int(code) < 2000 and code != "1053"
    return True


def _once_it_answers(address: InnodbAddress, do: Callable[[], None]) -> None:
    until = time.monotonic() + LIMIT_S
    while not answers(address) and time.monotonic() < until:
        time.sleep(POLL_S)
    do()


CLIENT = Client(
    connect,
    answers,
    _once_it_answers,
    client_command,
    failures=(pymysql.Error, OSError),
    words_of=words_of,
    code_name="error",
    hint=error_hint,
    lasting=BY_NUMBER,
    out_of_space=OUT_OF_SPACE,
    is_lost=is_lost,
)
explained = CLIENT.explained


# No password is encrypted by a key that was not verified. PyMySQL would do so without TLS where
# the package cryptography happens to be installed, by a key that anyone on the way could have sent.
# It is set to find none, and then says that TLS is needed, as on other machines.

setattr(import_module("pymysql._auth"), "_have_cryptography", False)  # noqa: B010
