"""Error hints: the fix for a server's error, by its SQLSTATE (appendix A of PostgreSQL's manual),
or else by its words.

libpq gives no SQLSTATE for a refused connection, hence the words (in English; the last resort is a
test with psql).
"""

from __future__ import annotations

import re
from urllib.parse import quote

import psycopg

from kneebench.core_errors import ConnectError, LoadError
from kneebench.databases import log_in
from kneebench.databases.engines.postgres.server_address import PostgresAddress

CREDENTIALS = (
    "correct the user in the URL, and set PGPASSWORD or write a passfile (PGPASSFILE, mode 0600)"
)
HOST_LINE = (
    "allow this user, database and host in the server's pg_hba.conf, with or without TLS as the"
    " URL's sslmode requires"
)
CONNECTIONS = (
    "raise max_connections on the server (or the CONNECTION LIMIT of the role or database), end"
    " other sessions, or lower the upper end of ladder.users or workload.connections"
)
DATABASE = "create the database, or correct its name in the URL"
ROOM = "free disk space where the server's files are, or lower workload.warehouses"
RIGHTS = (
    "grant the role the right named in the message (`kneebench check` lists the required rights),"
    " or use another role in the URL"
)
START = "start the server, or correct host and port in the URL"
RUN_AGAIN = "see the server's log for why it was shut down or restarted, then run again"
BY_STATE = {
    "25006": (
        "use the primary in the URL (a standby is read-only), or remove"
        " default_transaction_read_only where it is set, for the server, role or database"
    ),
    "28000": HOST_LINE,
    "28P01": CREDENTIALS,
    "3D000": DATABASE,
    "42501": RIGHTS,
    "53100": ROOM,
    "53200": "give the server more memory, or lower its shared_buffers or maintenance_work_mem",
    "53300": CONNECTIONS,
    "55006": "end the other sessions on that database (pg_stat_activity names them)",
}
"""Faults of what the plan names: they recur until something is changed."""
OUT_OF_SPACE = "53100"
LIMITS = {
    "57014": "statement_timeout",
    "55P03": "lock_timeout",
    "25P03": "idle_in_transaction_session_timeout",
    "25P04": "transaction_timeout",
    "57P05": "idle_session_timeout",
}
"""Settings that end a statement or a session. kneebench's sessions lift them first, too late for a
limit of a few milliseconds."""
LIFTED = {
    state: (
        f"remove {name} where it is set, for the server, role or database: ALTER ROLE ... SET"
        f" {name} = 0"
    )
    for state, name in LIMITS.items()
}
PASSING = LIFTED | {
    "57P01": RUN_AGAIN,
    "57P02": RUN_AGAIN,
    "57P03": "wait until the server has started, then run again",
}
BY_WORDS = {
    "no complete log-in|invalid response to SSL|authentication request|none of Postgre": log_in.DO,
    # The password first: with sslmode=prefer, a second try without TLS adds words on pg_hba.conf.
    "password|fe_sendauth|role .* does not exist|not permitted to log in": CREDENTIALS,
    "pg_hba|Ident authentication|Peer authentication|peer authentication": HOST_LINE,
    "too many (clients|connections)|connection slots": CONNECTIONS,
    "database .* does not exist": DATABASE,
    "permission denied": RIGHTS,
    "refused|No such file|resolve|could not translate|timeout expired|No route|unreachable": (
        START
    ),
    "starting up|shutting down|recovery": PASSING["57P03"],
    "(?i:ssl|certificate)": "correct sslmode and sslrootcert in the URL",
}


def state_of(error: BaseException | None) -> str:
    """SQLSTATE of an error or of its cause: psycopg's `sqlstate`, the Rust core's `code`; empty if
    there is none.

    >>> state_of(ValueError("no SQLSTATE"))
    ''
    """
    if isinstance(error, psycopg.Error | LoadError | ConnectError):
        return (error.sqlstate if isinstance(error, psycopg.Error) else error.code) or ""
    return state_of(error.__cause__) if error else ""


def psql_test_command(address: PostgresAddress) -> str:
    """A psql command that makes the same connection, without the password.

    >>> psql_test_command(PostgresAddress(host="db", user="me", database="shop", sslmode="require"))
    'test the connection with: psql "postgresql://me@db:5432/shop?sslmode=require"'
    """
    host = f"/{quote(address.database)}?host={quote(address.host, safe='')}&port={address.port}&"
    there = (
        host
        if address.host.startswith("/")
        else f"{address.host}:{address.port}/{quote(address.database)}?"
    )
    root = f"&sslrootcert={quote(address.sslrootcert)}" if address.sslrootcert else ""
    return (
        "test the connection with: psql"
        f' "postgresql://{quote(address.user, safe="")}@{there}sslmode={address.sslmode}{root}"'
    )


def error_hint(state: str, words: str, address: PostgresAddress | None) -> str:
    """The fix for an error; without an address (a managed server) it never suggests psql."""
    known = BY_STATE | PASSING
    if state in known:
        return known[state]
    if not state:
        for pattern, do in BY_WORDS.items():
            if re.search(pattern, words):
                return do
    return (
        psql_test_command(address)
        if address
        else (
            "see the server's log and the SQLSTATE in appendix A of the PostgreSQL manual, then run"
            " again"
        )
    )
