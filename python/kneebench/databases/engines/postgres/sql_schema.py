"""The SQL files beside this one, statement by statement, and the marks by which we know what we
made.

A table that we make carries the comment MARK from the transaction that makes it. The table
kneebench.image holds the facts of the load and whether it came to its end.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import psycopg
from psycopg import sql

from kneebench._core import SESSION_SETTINGS
from kneebench.databases import loading
from kneebench.databases.engines.postgres.address import CLIENT, connect
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.databases.loading import Step
from kneebench.databases.schema import MARK, Schema
from kneebench.databases.sql_files import statements
from kneebench.databases.tproc_c.adopted import Existing
from kneebench.databases.tproc_c.conditions import Broken, Condition, checks, conditions_in
from kneebench.databases.tproc_c.tables import LARGEST_FIRST
from kneebench.records import Check

Connection = psycopg.Connection[tuple[Any, ...]]
HERE = Path(__file__).parent
KEYS_MEMORY = "512MB"
"""maintenance_work_mem for keys: the largest of 10 warehouses is sorted in memory."""
UNUSED = "SELECT bool_and(d_next_o_id = 3001) AND bool_and(d_ytd = 30000) FROM public.district"
THERE = """
SELECT relname, obj_description(oid, 'pg_class') IS NOT DISTINCT FROM %s FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relname = ANY(%s)"""
MAKE_FACTS = """
CREATE SCHEMA IF NOT EXISTS kneebench;
CREATE TABLE IF NOT EXISTS kneebench.image (name text PRIMARY KEY, value text NOT NULL)"""
KEEP_FACT = """
INSERT INTO kneebench.image VALUES (%s, %s)
ON CONFLICT (name) DO UPDATE SET value = excluded.value"""
DROP_SCHEMA = "DROP SCHEMA IF EXISTS kneebench"
MAY_COPY = """
SELECT datistemplate OR pg_has_role(datdba, 'usage') FROM pg_database
WHERE datname = current_database()"""
SETTINGS = (
    "work_mem = '256MB'",
    "enable_seqscan = on",
    "enable_hashjoin = on",
    "max_parallel_workers_per_gather = 2",
    "jit = off",
    "statement_timeout = 0",
)
"""Under which the conditions are asked."""
BROKEN = """
SELECT count(*), min(format('%%s: %%s', place, off)),
    to_hex(hashtextextended(
        coalesce(sum(off * (hashtext(place)::numeric + 3000000000)), 0)::numeric(60, 2)::text, 0))
FROM ({}) AS broken"""
"""The fingerprint adds up what is off, each place weighed by a number of its own: equal sums mean,
in practice, equal places and amounts."""
QUIET = [(level,) for level in ("log", "fatal", "panic")]
"""What log_min_messages says where a server writes no errors into its log."""


def making(table: str) -> list[str]:
    """What makes a table of ours, to be run in the transaction that loads it."""
    wanted = re.compile(rf"CREATE TABLE public\.{table}\b")
    return [
        *(one for one in statements(HERE / "schema.sql") if wanted.match(one)),
        f"COMMENT ON TABLE public.{table} IS '{MARK}'",
    ]


def keys_of(table: str) -> list[str]:
    """What makes a table's keys and indexes."""
    wanted = re.compile(rf"\b(?:TABLE|ON) public\.{table}\b")
    return [one for one in statements(HERE / "keys.sql") if wanted.search(one)]


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


class PostgresSchema(Schema[Connection]):
    """The tables in a session's database.

    The rows come from the core by binary COPY, each table in the transaction that makes it, so that
    with wal_level = minimal they are not logged, and frozen (PostgreSQL's manual: COPY, FREEZE;
    "Disable WAL Archival and Streaming Replication"). Keys come after the rows, which costs less
    than keeping them up meanwhile (docs/decisions/load-order.md).
    """

    client = CLIENT
    users_settings: ClassVar[Sequence[tuple[str, str]]] = SESSION_SETTINGS
    """What each virtual user sets for its session."""
    routines = "functions"
    filling = "COPY public.{} FROM STDIN (FORMAT binary, FREEZE)"

    @property
    def database(self) -> str:
        return self.session.info.dbname

    def tables(self) -> dict[str, bool]:
        return dict(self.session.execute(THERE, [MARK, list(self.loaded)]).fetchall())

    def facts(self) -> dict[str, str]:
        if self._value("SELECT to_regclass('kneebench.image')") is None:
            return {}
        return dict(self.session.execute("SELECT name, value FROM kneebench.image").fetchall())

    def note(self, known: Mapping[str, str]) -> None:
        with self.session.transaction(), self.session.cursor() as cursor:
            cursor.execute(MAKE_FACTS)
            cursor.executemany(KEEP_FACT, list(known.items()))

    def is_unused(self) -> bool:
        return self._value(UNUSED) is True

    def count_warehouses(self) -> int:
        return int(self._value("SELECT count(*) FROM public.warehouse"))

    def size_bytes(self) -> int:
        return int(self._value("SELECT pg_database_size(current_database())"))

    def making(self, table: str) -> list[str]:
        """To be run in the transaction that loads it."""
        return making(table)

    def drop_tables(self, names: Sequence[str]) -> None:
        """With the load's facts; at once, as one may refer to another."""
        with self.session.transaction():
            tables = sql.SQL(", ").join(sql.Identifier("public", name) for name in names)
            if names:
                self.session.execute(sql.SQL("DROP TABLE {}").format(tables))
            self.session.execute("DROP TABLE IF EXISTS kneebench.image")

    def steps(self, address: PostgresAddress) -> list[Step]:
        keys = [keys_of(table) for table in LARGEST_FIRST]
        return [
            Step("keys_s", "creating keys", partial(side_by_side, address, keys)),
            self.vacuum(address),
            Step("functions_s", "installing the functions", self.install_routines),
            Step("checkpoint_s", "waiting for a checkpoint", self.checkpoint),
        ]

    def vacuum(self, address: PostgresAddress) -> Step:
        """Statistics of all tables, with no row left that is not known to be visible."""
        vacuum = [[f"VACUUM (ANALYZE) public.{table}"] for table in self.loaded]
        doing = partial(side_by_side, address, vacuum)
        return Step("vacuum_s", "gathering statistics", doing)

    def checkpoint(self) -> None:
        """A server that does not let us ask for one makes its own later."""
        with contextlib.suppress(psycopg.errors.InsufficientPrivilege):
            self.session.execute("CHECKPOINT")

    def install_routines(self) -> None:
        """The five functions, in the schema kneebench. Their plans need statistics: tables without
        any are analyzed.
        """
        with self.session.transaction():
            self.session.execute((HERE / "procedures.sql").read_bytes())
            ensure_statistics(self.session)

    @staticmethod
    def routines_removal() -> list[str]:
        text = (HERE / "procedures.sql").read_text()
        names = re.findall(r"FUNCTION (kneebench\.\w+)\(", text)
        return [f"DROP FUNCTION IF EXISTS {', '.join(names)}", DROP_SCHEMA]

    def remove_routines(self, limit_s: float) -> None:
        """Their schema only where nothing else is in it."""
        functions, schema = self.routines_removal()
        self.session.execute(functions.encode())
        with contextlib.suppress(psycopg.errors.DependentObjectsStillExist):
            self.session.execute(schema.encode())

    def conditions(self, warehouses: int, before: Sequence[Check] | None = None) -> list[Check]:
        with self.session.transaction():
            self.session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            for setting in SETTINGS:
                self.session.execute(f"SET LOCAL {setting}".encode())
            return checks(conditions_in(HERE), self._broken, warehouses, before)

    def _broken(self, condition: Condition, checked: Sequence[int]) -> Broken:
        asked = BROKEN.format(condition.query).encode()
        found = self.session.execute(asked, {"warehouses": list(checked)}).fetchone()
        places, first, fingerprint = found or (0, "", "")
        return Broken(places, first or "", fingerprint)

    def existing(self) -> Existing:
        """Only its owner may copy it, unless it is a template."""
        if self._value(MAY_COPY):
            return Existing(self.database, self.size_bytes())
        grant = f"GRANT the owner of {self.database} TO {self.session.info.user}"
        refused = (
            f"only the owner of {self.database} may copy it",
            f'{grant}, or set restore = "none" if the tables may change',
        )
        return Existing(self.database, self.size_bytes(), refused)

    def _value(self, query: str) -> Any:
        return (self.session.execute(query.encode()).fetchone() or (None,))[0]


def side_by_side(address: PostgresAddress, groups: Sequence[Sequence[str]]) -> None:
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(connect(address)) for _ in range(loading.STREAMS)]
        for connection in connections:
            connection.execute(f"SET maintenance_work_mem = '{KEYS_MEMORY}'".encode())
        loading.side_by_side(
            connections,
            groups,
            lambda connection, statement: connection.execute(statement.encode()),
            lambda connection: connection.cancel(),
        )
