"""From the plan to the address of a SQL Server; and its refusals, explained."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

from kneebench.databases.engines.sqlserver.error_hints import refusal
from kneebench.databases.engines.sqlserver.server_address import SqlServerAddress
from kneebench.databases.engines.sqlserver.session import SqlError
from kneebench.databases.engines.sqlserver.table import PASSWORD, URL, SqlServerDatabase
from kneebench.errors import PlanError
from kneebench.secrets import without_passwords

SYSTEM = ("master", "model", "msdb", "tempdb")


def address_of(url: str, table: SqlServerDatabase) -> SqlServerAddress:
    """The address of a running server; raises PlanError for a URL that cannot be used."""
    what, parts = f"cannot read the URL {without_passwords(url)}", urlsplit(url)
    database = unquote(parts.path).strip("/")
    if not (parts.hostname and parts.username and database):
        raise PlanError(
            what, seen="it needs a host, a user and a database", do=f"write it as {URL.example}"
        )
    if database.lower() in SYSTEM:
        raise PlanError(
            what, seen=f"{database} is a database of the server", do="name another database"
        )
    if parts.query:
        do = "use the keys of [database], such as trust_server_certificate"
        raise PlanError(what, seen=f"unsupported parameters: {parts.query}", do=do)
    return SqlServerAddress(
        host=parts.hostname,
        port=parts.port or 1433,
        user=unquote(parts.username),
        password=_password(table),
        database=database,
        sslmode="require" if table.trust_server_certificate else "verify-full",
        sslrootcert=str(table.root_certificates or ""),
    )


def _password(table: SqlServerDatabase) -> SecretStr | None:
    """The password in the plan's file, else that of the environment."""
    if table.password_file:
        try:
            return SecretStr(table.password_file.read_text().rstrip("\r\n"))
        except (OSError, UnicodeError) as error:
            seen = f"{table.password_file}: {error}"
            do = "write the password into that file, readable by you only"
            raise PlanError("database.password_file", seen=seen, do=do) from None
    found = os.environ.get(PASSWORD)
    return SecretStr(found) if found else None


def sqlcmd(address: SqlServerAddress, statements: str, database: str = "") -> str:
    """A command of Microsoft's client that runs statements, without the password.

    >>> sqlcmd(SqlServerAddress(host="db", user="me", database="x"), "DROP DATABASE [x]")
    "sqlcmd -S db,1433 -U me -Q 'DROP DATABASE [x]'"
    """
    inside = f" -d {shlex.quote(database)}" if database else ""
    server = f"{address.host},{address.port}"
    return f"sqlcmd -S {server} -U {shlex.quote(address.user)}{inside} -Q {shlex.quote(statements)}"


@contextlib.contextmanager
def explained(what: str, address: SqlServerAddress | None = None) -> Iterator[None]:
    """What the server refuses inside is raised as a KneebenchError in its words; a PlanError where
    the plan or the server must be changed first.
    """
    try:
        yield
    except SqlError as error:
        raise refusal(what, error.message, error.number, address) from error
