"""The SQL files beside this one, statement by statement, and the marks by which we know what we
made.

A table that we make carries the comment MARK from the transaction that makes it. The table
kneebench.image holds the facts of the load and whether it came to its end.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from kneebench.databases.tproc_c.loading import LARGEST_FIRST
from kneebench.errors import Refused

Connection = psycopg.Connection[tuple[Any, ...]]
HERE = Path(__file__).parent
MARK = "made by kneebench"

QUIET = [(level,) for level in ("log", "fatal", "panic")]
"""What log_min_messages says where a server writes no errors into its log."""


def statements(file: str) -> list[str]:
    """The statements of a file that holds no semicolon within one, without its comments.

    >>> len(statements("schema.sql")), len(statements("keys.sql"))
    (9, 10)
    """
    text = re.sub(r"--.*", "", (HERE / file).read_text())
    return [statement.strip() for statement in text.split(";") if statement.strip()]


def making(table: str) -> list[str]:
    """What makes a table of ours, to be run in the transaction that loads it."""
    wanted = re.compile(rf"CREATE TABLE public\.{table}\b")
    return [
        *(one for one in statements("schema.sql") if wanted.match(one)),
        f"COMMENT ON TABLE public.{table} IS '{MARK}'",
    ]


def keys_of(table: str) -> list[str]:
    """What makes a table's keys and indexes."""
    wanted = re.compile(rf"\b(?:TABLE|ON) public\.{table}\b")
    return [one for one in statements("keys.sql") if wanted.search(one)]


def install_functions(connection: Connection) -> None:
    """Put the five functions into the schema kneebench, whoever built the tables; those of an
    earlier version are replaced.

    Their plans need statistics: tables without any are analyzed.
    """
    with connection.transaction():
        connection.execute((HERE / "procedures.sql").read_bytes())
        ensure_statistics(connection)


def may_quiet(connection: Connection) -> bool:
    """Whether the role may keep errors out of the server's log: superusers, and from 15 on whom SET
    ON PARAMETER was granted.
    """
    granted = (
        " OR has_parameter_privilege('log_min_messages', 'SET')"
        if connection.info.server_version >= 150000
        else ""
    )
    query = f"SELECT rolsuper{granted} FROM pg_roles WHERE rolname = current_user"  # noqa: S608
    return connection.execute(query.encode()).fetchone() == (True,)


def quiet_rollbacks(connection: Connection) -> bool:
    """Keep the rollbacks by design out of the server's log, where the role may: by a setting of the
    function that raises them, so that any other error is still written. False where each will be an
    error in the log, with its statement.
    """
    quiet = may_quiet(connection)
    if quiet:
        connection.execute("ALTER FUNCTION kneebench.no_such_item() SET log_min_messages = 'log'")
    return quiet or not logs_errors(connection)


def logs_errors(connection: Connection) -> bool:
    """Whether the server writes errors into its log."""
    return connection.execute("SELECT current_setting('log_min_messages')").fetchone() not in QUIET


def ensure_statistics(connection: Connection) -> None:
    """ANALYZE those of our tables that have no statistics, as after a restore by pg_restore.

    Without any, orders_i2 looks as good as orders_i1 for an order's number, and customer_i1 as good
    as customer_i2 for a name.
    """
    query = """
        SELECT relname FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relname = ANY(%s) AND relkind IN ('r', 'p')
            AND NOT EXISTS (
                SELECT FROM pg_stats WHERE schemaname = 'public' AND tablename = relname)"""
    for (name,) in connection.execute(query, [list(LARGEST_FIRST)]).fetchall():
        connection.execute(sql.SQL("ANALYZE public.{}").format(sql.Identifier(name)))


def tables_there(connection: Connection) -> dict[str, bool]:
    """The relations that have the names of our tables; True for those that we made."""
    query = """
        SELECT relname, obj_description(oid, 'pg_class') IS NOT DISTINCT FROM %s FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relname = ANY(%s)"""
    return dict(connection.execute(query, [MARK, list(LARGEST_FIRST)]).fetchall())


def facts(connection: Connection) -> dict[str, str]:
    """What the load noted of itself; empty where there was none.

    `state` is "loading" or "whole".
    """
    if connection.execute("SELECT to_regclass('kneebench.image')").fetchone() == (None,):
        return {}
    return dict(connection.execute("SELECT name, value FROM kneebench.image").fetchall())


def note(connection: Connection, known: dict[str, str]) -> None:
    """Keep facts of the load, in place of those of the same names."""
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA IF NOT EXISTS kneebench")
        cursor.execute(
            "CREATE TABLE IF NOT EXISTS kneebench.image (name text PRIMARY KEY, value text NOT"
            " NULL)"
        )
        upsert = (
            "INSERT INTO kneebench.image VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value ="
            " excluded.value"
        )
        cursor.executemany(upsert, list(known.items()))


def require_ours(connection: Connection) -> dict[str, bool]:
    """The tables that are there; raises Refused where one of them is another's."""
    there = tables_there(connection)
    if foreign := sorted(name for name, ours in there.items() if not ours):
        raise Refused(
            f"cannot load the database {connection.info.dbname}",
            seen=f"it contains tables that kneebench did not create: {', '.join(foreign)}",
            do='use an empty database, or set schema_from = "hammerdb"',
        )
    return there


def drop_ours(connection: Connection) -> None:
    """Drop our tables and the load's facts, and nothing else; raises Refused where a table of
    another's is among them.
    """
    there = require_ours(connection)
    with connection.transaction():
        for name in there:
            connection.execute(sql.SQL("DROP TABLE public.{}").format(sql.Identifier(name)))
        connection.execute("DROP TABLE IF EXISTS kneebench.image")
