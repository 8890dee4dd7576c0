"""From a URL to an address: what libpq understands, of it what both our clients (psycopg,
tokio-postgres) understand.

The password comes from the URL, PGPASSWORD or a passfile, in this order. It stays in the address,
which is never stored; `without_passwords` is what results and messages may show of a URL.
"""

from __future__ import annotations

import getpass
import os
import select
import shlex
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

import psycopg
from psycopg import pq
from psycopg.abc import RV, PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.waiting import Ready, Wait

from kneebench._core import NO_LIMITS, system_roots
from kneebench.databases.client import Client
from kneebench.databases.engine import address_in
from kneebench.databases.engines.postgres.error_hints import BY_STATE, OUT_OF_SPACE, error_hint
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.databases.engines.postgres.table import URL
from kneebench.databases.external.engine import once_it_is_back
from kneebench.databases.log_in import LogIn
from kneebench.errors import PlanError
from kneebench.secrets import without_passwords

UNDERSTOOD = {
    "host",
    "port",
    "user",
    "password",
    "dbname",
    "sslmode",
    "sslrootcert",
    "passfile",
    "connect_timeout",
}
KEPT_ALIVE = {
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
"""A machine that went away without a word is noticed within a minute, however long an answer may
take (libpq; TCP only)."""
NOT_OF_THE_ENVIRONMENT = {"hostaddr": "", "options": "", "target_session_attrs": "any"}
"""What libpq would else take from PGHOSTADDR, PGOPTIONS and PGTARGETSESSIONATTRS, or a service: our
sessions would ask another server than the users', or with other settings."""


def address_of(url: str) -> PostgresAddress:
    """The address of a running server; raises PlanError for a URL that we cannot use."""
    try:
        given: dict[str, Any] = {
            key: value for key, value in conninfo_to_dict(url).items() if value is not None
        }
    except (psycopg.Error, UnicodeError) as error:
        raise PlanError(
            f"cannot read the URL {without_passwords(url)}",
            seen=str(error).strip().replace(url, "the URL"),
            do=f"write it as {URL.example}",
        ) from None
    user = given.get("user") or os.environ.get("PGUSER") or getpass.getuser()
    parts = {
        "host": given.get("host", "localhost"),
        "port": given.get("port", 5432),
        "user": user,
        "database": given.get("dbname", user),
        "sslmode": given.get("sslmode", "prefer"),
        "sslrootcert": given.get("sslrootcert", ""),
    }
    address = address_in(url, PostgresAddress, parts, given, UNDERSTOOD)
    return address.with_password(_password(address, given))


def _password(address: PostgresAddress, given: Mapping[str, str]) -> str:
    """The password that libpq would use: the URL's, PGPASSWORD's or a passfile's.

    Empty without one.

    libpq looks it up before it connects. It has no numeric address here, so it opens no connection.
    """
    where = {
        "host": address.host,
        "port": str(address.port),
        "user": address.user,
        "dbname": address.database,
    }
    secret = {key: given[key] for key in ("password", "passfile") if key in given}
    conninfo = make_conninfo("", **where, **secret, hostaddr="none")
    attempt = pq.PGconn.connect_start(conninfo.encode())
    try:
        return attempt.password.decode()
    finally:
        attempt.finish()


def parameters(address: PostgresAddress, database: str = "") -> dict[str, str]:
    """The address as psycopg takes it; `database` in place of the address's own.

    psycopg brings an OpenSSL of its own, which knows no root certificates. So it is given the file
    of the system's, as the core is.
    """
    given = {
        "host": address.host,
        "port": str(address.port),
        "user": address.user,
        "dbname": database or address.database,
        "sslmode": address.sslmode,
    }
    authorities = address.sslrootcert or ("system" if address.sslmode.startswith("verify") else "")
    if authorities:
        given["sslrootcert"] = (system_roots() if authorities == "system" else None) or authorities
    if address.password:
        given["password"] = address.password.get_secret_value()
    return given


def connect(
    address: PostgresAddress, database: str = "", limit_s: float | None = None
) -> TimeLimitedConnection:
    """A connection in autocommit whose answers may take `limit_s`; raises PlanError with the
    server's words where it refuses.

    Limits that the server, the role or the database puts on sessions are lifted for it.
    It speaks the simple protocol: the extended one leaves a portal open in a transaction, and with
    it a snapshot that would keep dead rows from being vacuumed.
    """
    given = parameters(address, database) | KEPT_ALIVE | NOT_OF_THE_ENVIRONMENT
    text, log_in = make_conninfo("", **given), LogIn()
    log_in.start()
    try:
        connection = TimeLimitedConnection.connect(
            text,
            connect_timeout=round(log_in.limit_s),
            application_name="kneebench",
            autocommit=True,
            cursor_factory=psycopg.ClientCursor,
            prepare_threshold=None,
        )
        connection.limit_s = log_in.left_s
        connection.execute(NO_LIMITS.encode())
        connection.limit_s = limit_s
    except UnicodeError as error:  # psycopg looks the name up itself
        raise PlanError(
            f"cannot resolve the host {address.host}",
            seen=_words(error),
            do="correct the host of the URL",
        ) from None
    except psycopg.Error as error:
        words = _words(error) if log_in.left_s else str(log_in.over())
        raise PlanError(
            f"cannot connect to {address.host}:{address.port} as {address.user}",
            seen=words,
            do=error_hint(error.sqlstate or "", words, address),
        ) from None
    return connection


def answers(address: PostgresAddress) -> bool:
    """True where a server takes connections there: asked without logging in to the workload's
    database, so nothing is counted.
    """
    return _ping(address) == pq.Ping.OK


def runs_there(address: PostgresAddress) -> bool:
    """True also where it starts up, recovers or shuts down, and takes none yet, or none any
    more.
    """
    return _ping(address) in (pq.Ping.OK, pq.Ping.REJECT)


def _ping(address: PostgresAddress) -> int:
    target = parameters(address, "postgres") | NOT_OF_THE_ENVIRONMENT
    target |= {"password": "", "connect_timeout": "5"}
    found = pq.PGconn.ping(make_conninfo("", **target).encode())
    if found == pq.Ping.NO_ATTEMPT:
        raise PlanError(
            f"cannot connect to {address.host}:{address.port}",
            seen="a variable of libpq in the environment cannot be used, such as PGSERVICE",
            do="unset it; `env | grep ^PG` lists them",
        )
    return found


def _words(error: BaseException) -> str:
    return " ".join(str(error).split())


# Client timeouts: a connection whose waits end when a server hangs, and at once after Ctrl-C.
#
# statement_timeout does not help against a frozen server, and a client that requests the
# cancellation of a statement waits again. So the limit is on the client's side: the connection is
# closed, and any later response is dropped.

_INTERVAL_S = 0.1
_EVENTS = {Wait.R: select.POLLIN, Wait.W: select.POLLOUT, Wait.RW: select.POLLIN | select.POLLOUT}


class TimeLimitedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection whose waits end after `limit_s` (None: never) with an OperationalError, and at
    once after Ctrl-C. Both close it.
    """

    limit_s: float | None = None

    def wait(
        self, gen: PQGen[RV], interval: float = _INTERVAL_S, timeout: float | None = None
    ) -> RV:
        """Run one step of psycopg to its end."""
        limit_s = self.limit_s if timeout is None else timeout
        until = None if limit_s is None else monotonic() + limit_s
        try:
            requested = next(gen)
            while True:
                if ready := self._ready(requested):
                    requested = gen.send(ready)
                if until is not None and monotonic() > until:
                    raise psycopg.OperationalError(
                        f"no response from the server within {limit_s:g} s"
                    )
        except StopIteration as end:
            answer: RV = end.value
            return answer
        except KeyboardInterrupt:
            self.close()
            raise
        except psycopg.OperationalError as error:
            if (
                error.sqlstate is None
            ):  # not the server's own words, after which it may answer again
                self.close()
            raise

    def _ready(self, requested: Wait) -> Ready | None:
        """The operations that the socket is ready for; a closed connection is ready for both, so
        that libpq detects it.
        """
        poll = select.poll()
        poll.register(self.pgconn.socket, _EVENTS[requested])
        seen = sum(event for _, event in poll.poll(1000 * _INTERVAL_S))
        if not seen:
            return None
        if seen & ~(select.POLLIN | select.POLLOUT):
            return {Wait.R: Ready.R, Wait.W: Ready.W, Wait.RW: Ready.RW}[requested]
        return Ready(
            (Ready.R if seen & select.POLLIN else 0) | (Ready.W if seen & select.POLLOUT else 0)
        )


# What all servers by this client answer alike.

ENDED = "57P"
"""Prefix of the SQLSTATE of a session that the server ended (admin_shutdown, crash_shutdown,
...)."""


def psql_command(address: PostgresAddress, statements: str) -> str:
    """A psql command that runs these statements, without the password."""
    without = make_conninfo("", **parameters(address.model_copy(update={"password": None})))
    return f"psql {shlex.quote(without)} -c {shlex.quote(statements)}"


def _once_it_answers(address: PostgresAddress, do: Callable[[], None]) -> None:
    once_it_is_back(do, (psycopg.OperationalError, PlanError), lambda: runs_there(address))


def _is_lost(error: BaseException | None) -> bool:
    lost = isinstance(error, psycopg.OperationalError) and (error.sqlstate or ENDED)
    return str(lost).startswith(ENDED)


def _words_of(error: BaseException) -> tuple[str, str]:
    return getattr(error, "sqlstate", None) or "", _words(error)


CLIENT = Client(
    connect,
    answers,
    _once_it_answers,
    psql_command,
    failures=(psycopg.Error,),
    words_of=_words_of,
    code_name="SQLSTATE",
    hint=error_hint,
    lasting=BY_STATE,
    out_of_space=(OUT_OF_SPACE,),
    is_lost=_is_lost,
)
explained = CLIENT.explained
