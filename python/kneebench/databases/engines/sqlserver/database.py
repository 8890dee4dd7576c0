"""The workload's database on a server: whose it is, how it is created, how it is dropped.

A database of ours holds the table dbo.kneebench_image, its first one, with the facts of its load.
One that has no table yet (it was just created) or that cannot be opened (a restore was interrupted)
is recognized by the logical names of its files. No other database is ever touched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from kneebench.databases.engines.sqlserver.address import explained, sqlcmd
from kneebench.databases.engines.sqlserver.placement import PREFIX, DatabaseFile, files_of, sized
from kneebench.databases.engines.sqlserver.server_address import SqlServerAddress
from kneebench.databases.engines.sqlserver.session import (
    SqlError,
    SqlServerSession,
    connect,
    literal,
    quoted,
)
from kneebench.errors import PlanError, Refused

Whose = Literal["nobody's", "ours", "another's"]
MARK = "dbo.kneebench_image"
TABLES = (
    "SELECT COUNT(*), COUNT(CASE WHEN name = 'kneebench_image' THEN 1 END) FROM sys.tables"
    " WHERE is_ms_shipped = 0"
)
ANOTHER = (
    'name another database in the URL, which kneebench creates, or set schema_from = "hammerdb"'
)
STATE = "SELECT state_desc, is_read_only FROM sys.databases WHERE name = {name}"
ALONE = "ALTER DATABASE {name} SET SINGLE_USER WITH ROLLBACK IMMEDIATE"
"""Ends all sessions in a database but this one."""
CREATE_MARK = (
    f"CREATE TABLE {MARK} (name varchar(40) NOT NULL PRIMARY KEY, value nvarchar(400) NOT NULL)"
)


def whose(session: SqlServerSession, database: str) -> Whose:
    """Whose the database of that name is."""
    rows = session.execute(STATE.format(name=literal(database)))
    if not rows:
        return "nobody's"
    if rows[0][0] in ("ONLINE", None):
        try:
            with connect(session.address, database, limit_s=30.0) as inside:
                tables, marks = inside.execute(TABLES)[0]
            if tables:
                return "ours" if marks else "another's"
        except PlanError:  # in single-user mode, or without a user for the login
            pass
    files = files_of(session, database)
    ours = bool(files) and all(file.name.startswith(PREFIX) for file in files)
    return "ours" if ours else "another's"


def require_ours(session: SqlServerSession, database: str, what: str) -> bool:
    """Whether the database is there. Raises Refused where it is not ours."""
    found = whose(session, database)
    if found == "another's":
        raise Refused(
            what,
            seen=f"the database {database} exists and was not created by kneebench",
            do=ANOTHER,
        )
    return found == "ours"


def create(
    session: SqlServerSession,
    address: SqlServerAddress,
    files: Sequence[DatabaseFile],
    warehouses: int,
    options: Mapping[str, str],
) -> None:
    """Create the database with these files and options, and mark it; no files: the server's choice
    (Babelfish, which has no options either).
    """
    name = quoted(address.database)
    with explained(f"cannot create the database {address.database}", address):
        session.execute(create_statement(address.database, files, warehouses))
    if files:
        set_options(session, address, options)
    with explained(f"cannot mark the database {name}", address), connect_to(address) as inside:
        inside.execute(CREATE_MARK)


def set_options(
    session: SqlServerSession, address: SqlServerAddress, options: Mapping[str, str]
) -> None:
    """Set options of the database."""
    with explained(f"cannot set options of the database {address.database}", address):
        for statement in option_statements(address.database, options):
            session.execute(statement)


def create_statement(database: str, files: Sequence[DatabaseFile], warehouses: int) -> str:
    """CREATE DATABASE with its files."""
    if not files:
        return f"CREATE DATABASE {quoted(database)}"
    data, log = sized(files, warehouses)
    return f"CREATE DATABASE {quoted(database)} ON PRIMARY {data} LOG ON {log}"


def option_statements(database: str, options: Mapping[str, str]) -> list[str]:
    """The statements that set a database's options.

    >>> option_statements("x", {"RECOVERY": "SIMPLE", "COMPATIBILITY_LEVEL": "150"})
    ['ALTER DATABASE [x] SET RECOVERY SIMPLE', 'ALTER DATABASE [x] SET COMPATIBILITY_LEVEL = 150']
    """
    form = {
        "COMPATIBILITY_LEVEL": " = {}",
        "DELAYED_DURABILITY": " = {}",
        "TARGET_RECOVERY_TIME": " = {} SECONDS",
        "READ_COMMITTED_SNAPSHOT": " {} WITH ROLLBACK IMMEDIATE",
    }
    return [
        f"ALTER DATABASE {quoted(database)} SET {name}{form.get(name, ' {}').format(value)}"
        for name, value in options.items()
    ]


def require_options(database: str, found: Mapping[str, str], options: Mapping[str, str]) -> None:
    """Raise PlanError where a database that stays has other options than the plan's; `found` by
    their names in a plan.
    """
    other = {
        name: value
        for name, value in options.items()
        if found.get(name.lower(), value).upper() != value
    }
    if other:
        shown = {name.lower(): value.lower() for name, value in other.items()}
        raise PlanError(
            f"cannot use the database {database}",
            seen="; ".join(f"{name} is {found[name]}, not {shown[name]}" for name in shown),
            do=f"{'; '.join(option_statements(database, other))}, or correct the plan's settings",
        )


def connect_to(address: SqlServerAddress, limit_s: float | None = None) -> SqlServerSession:
    """A session in the workload's database."""
    return connect(address, address.database, limit_s)


def close_sessions(session: SqlServerSession, database: str) -> None:
    """End all sessions in the database of ours; where the server cannot (Babelfish), they are left.

    SINGLE_USER rolls their transactions back at once; RESTORE and DROP need the database alone.
    """
    try:
        session.execute(ALONE.format(name=quoted(database)))
    except SqlError as error:
        if error.lost:
            raise


def drop(session: SqlServerSession, database: str) -> None:
    """Drop the database, if it is there. Raises Refused where it is not ours."""
    if require_ours(session, database, f"cannot drop the database {database}"):
        close_sessions(session, database)
        session.execute(f"DROP DATABASE {quoted(database)}")


def drop_by_hand(address: SqlServerAddress, *, alone: bool) -> str:
    """The command that drops the database; with `alone` it ends the sessions in it before, which
    Babelfish cannot.
    """
    name = quoted(address.database)
    statements = [*([ALONE.format(name=name)] if alone else []), f"DROP DATABASE {name}"]
    return sqlcmd(address, "; ".join(statements))


def exists(session: SqlServerSession, database: str) -> bool:
    """Whether a database of that name is there, whosever it is."""
    return bool(session.execute(STATE.format(name=literal(database))))


def facts(inside: SqlServerSession) -> dict[str, str]:
    """What the load noted of itself, in a session in the database; empty where there was none, and
    where the database was created and not yet marked.
    """
    statement = f"IF OBJECT_ID('{MARK}') IS NOT NULL SELECT name, value FROM {MARK}"  # noqa: S608
    return dict(inside.execute(statement))


def note(inside: SqlServerSession, known: Mapping[str, str]) -> None:
    """Keep facts of the load in place of all before."""
    inside.execute(f"DELETE FROM {MARK}")  # noqa: S608
    for name, value in known.items():
        values = f"({literal(name)}, {literal(value)})"
        inside.execute(f"INSERT INTO {MARK} VALUES {values}")  # noqa: S608
