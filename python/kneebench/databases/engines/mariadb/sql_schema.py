"""The SQL files beside this one, statement by statement, and the marks by which we know what we
made.

A table that we make has the comment MARK. The table kneebench_image of a database holds the facts
of the load and whether it came to its end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kneebench.databases.engines.mariadb.session import MariadbSession
from kneebench.databases.tproc_c.loading import LARGEST_FIRST
from kneebench.errors import Refused

HERE = Path(__file__).parent
MARK = "made by kneebench"
FACTS = "kneebench_image"
PROCEDURES_END = "//"
MAKE_FACTS = (
    f"CREATE TABLE IF NOT EXISTS {FACTS} (name varchar(64) PRIMARY KEY, value text NOT NULL)"
    f" ENGINE = InnoDB COMMENT = '{MARK}'"
)


KEEP_FACT = f"REPLACE INTO {FACTS} VALUES (%s, %s)"  # noqa: S608
READ_FACTS = f"SELECT name, value FROM {FACTS}"  # noqa: S608


def quoted(name: str) -> str:
    """A name as SQL takes it.

    >>> quoted("my`db")
    '`my``db`'
    """
    return f"`{name.replace('`', '``')}`"


def statements(file: str, end: str = ";") -> list[str]:
    """The statements of a file, each up to `end`, without its comments.

    >>> len(statements("schema.sql"))
    9
    """
    text = re.sub(r"(?m)^\s*--.*$", "", (HERE / file).read_text())
    return [statement.strip() for statement in text.split(end) if statement.strip()]


def making(table: str) -> list[str]:
    """What makes a table of ours."""
    wanted = re.compile(rf"CREATE TABLE {table}\b")
    return [f"{one} COMMENT = '{MARK}'" for one in statements("schema.sql") if wanted.match(one)]


def install_procedures(session: MariadbSession) -> None:
    """Put the five procedures into the session's database; those of an earlier version are
    replaced.
    """
    for statement in statements("procedures.sql", PROCEDURES_END):
        session.run(statement)


def tables_there(session: MariadbSession) -> dict[str, bool]:
    """The tables of the session's database; True for those that we made."""
    rows = session.rows(
        "SELECT table_name, table_comment FROM information_schema.tables"
        " WHERE table_schema = DATABASE()"
    )
    return {str(name): comment == MARK for name, comment in rows}


def facts(session: MariadbSession) -> dict[str, str]:
    """What the load noted of itself; empty where there was none.

    `state` is "loading" or "whole".
    """
    if not tables_there(session).get(FACTS):
        return {}
    return {str(name): str(value) for name, value in session.rows(READ_FACTS)}


def is_whole(session: MariadbSession, database: str) -> bool:
    """Whether a load in this database came to its end; False where there is none."""
    query = "SELECT count(*) FROM information_schema.tables WHERE (table_schema, table_name) = "
    if not session.value(f"{query}(%s, %s)", database, FACTS):
        return False
    state = "SELECT value FROM {}.{} WHERE name = 'state'"
    return bool(session.value(state.format(quoted(database), FACTS)) == "whole")


def note(session: MariadbSession, known: dict[str, str]) -> None:
    """Keep facts of the load, in place of those of the same names."""
    session.run(MAKE_FACTS)
    for name, value in known.items():
        session.run(KEEP_FACT, name, value)


def drop_ours(session: MariadbSession, database: str) -> None:
    """Drop our tables, and nothing else; raises Refused where a table of another's has the name of
    one of them.
    """
    for name in require_ours(session, database):
        session.run(f"DROP TABLE {name}")


def require_ours(session: MariadbSession, database: str) -> list[str]:
    """Our tables that are there; raises Refused where one of those names is another's."""
    there = tables_there(session)
    ours = [name for name in (*LARGEST_FIRST, FACTS) if name in there]
    if foreign := sorted(name for name in ours if not there[name]):
        raise Refused(
            f"cannot load the database {database}",
            seen=f"it contains tables that kneebench did not create: {', '.join(foreign)}",
            do='use an empty database, or set schema_from = "hammerdb"',
        )
    return ours


def size_bytes(session: MariadbSession, database: str) -> int:
    """Bytes of a database's tables and indexes, by the server's estimate."""
    query = (
        "SELECT sum(data_length + index_length) FROM information_schema.tables"
        " WHERE table_schema = %s"
    )
    return int(session.value(query, database) or 0)


def columns_of(session: MariadbSession, table: str) -> Sequence[str]:
    """The names of a table's columns, in their order."""
    rows = session.rows(
        "SELECT column_name FROM information_schema.columns"
        " WHERE table_schema = DATABASE() AND table_name = %s ORDER BY ordinal_position",
        table,
    )
    return [str(name) for (name,) in rows]
