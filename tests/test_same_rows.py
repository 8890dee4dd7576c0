"""The same seed loads the same rows into every database: a checksum over all nine tables."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest

from kneebench.databases.engines.postgres.address import connect
from kneebench.databases.engines.sqlserver.database import connect_to
from kneebench.databases.engines.sqlserver.session import SqlServerSession
from kneebench.databases.engines.sqlserver.sql_files import columns_of as columns_in_the_schema
from kneebench.databases.innodb.session import InnodbSession
from kneebench.databases.innodb.session import connect as mariadb_session
from kneebench.databases.innodb.sql_schema import columns_of
from kneebench.databases.several import engine_of
from kneebench.databases.tproc_c.tables import LARGEST_FIRST
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Configuration, Event
from tests import mysql_build, tds_server
from tests.loaded import Servers, shared_images
from tests.mariadb_elsewhere import SMALL_LOG, WITHOUT_MARIADB

CONFIGURATION = Configuration(id="here", storage="here")
LOADS = pytest.mark.parametrize(
    ("warehouses", "profile"),
    [
        (1, "spec"),
        pytest.param(2, "spec", marks=pytest.mark.long),
        pytest.param(1, "hammerdb", marks=pytest.mark.long),
    ],
)
TYPES = """
SELECT column_name FROM information_schema.columns
WHERE table_schema = 'public' AND table_name = %s AND data_type = 'timestamp with time zone'"""


def unwatched(event: Event) -> None:
    """Nobody looks."""


def of_postgres(
    connection: psycopg.Connection[tuple[Any, ...]], table: str, columns: list[str]
) -> tuple[int, int]:
    """(rows, sum of the first 8 hexadecimal digits of each row's MD5)."""
    times = {name for (name,) in connection.execute(TYPES, [table])}
    texts = [
        f"coalesce({f'extract(epoch FROM {one})::int8' if one in times else one}::text, '-')"
        for one in columns
    ]
    row = f"md5(concat_ws('|', {', '.join(texts)}))"
    query = (
        f"SELECT count(*), sum(('x' || left({row}, 8))::bit(32)::int8 & 4294967295)"
        f" FROM public.{table}"
    )
    rows, total = connection.execute(query.encode()).fetchone() or (0, 0)
    return int(rows), int(total)


def of_mariadb(session: InnodbSession, table: str, columns: list[str]) -> tuple[int, int]:
    """The same; its session's times are UTC."""
    times = {
        str(name)
        for (name,) in session.rows(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE()"
            " AND table_name = %s AND data_type = 'datetime'",
            table,
        )
    }
    texts = [
        f"coalesce({f'unix_timestamp({one})' if one in times else one}, '-')" for one in columns
    ]
    row = f"md5(concat_ws('|', {', '.join(texts)}))"
    rows, total = session.row(
        f"SELECT count(*), sum(CAST(conv(left({row}, 8), 16, 10) AS UNSIGNED)) FROM {table}"
    )
    return int(rows), int(total)


def of_sqlserver(session: SqlServerSession, table: str) -> tuple[int, int]:
    """The same, computed here: SQL Server and Babelfish hash in different ways."""
    columns = columns_in_the_schema(table)
    names, kinds = [name for name, _, _ in columns], [kind for _, kind, _ in columns]
    rows = session.execute(f"SELECT {', '.join(names)} FROM dbo.{table}")
    texts = ("|".join(map(as_text, row, kinds)) for row in rows)
    hashes = (hashlib.md5(text.encode(), usedforsecurity=False).digest() for text in texts)
    return len(rows), sum(int.from_bytes(one[:4], "big") for one in hashes)


def as_text(value: object, kind: str) -> str:
    """As PostgreSQL prints it: Babelfish sends decimals without their last zeros."""
    if isinstance(value, datetime):
        return str(round(value.replace(tzinfo=UTC).timestamp()))
    if isinstance(value, Decimal):
        return f"{value:.{kind.rpartition(',')[2].strip(' )')}f}"
    return "-" if value is None else str(value)


def sums(
    database: dict[str, Any], warehouses: int, profile: str, folder: Path, servers: Servers
) -> dict[str, list[tuple[int, int]]]:
    (folder / "disk").mkdir()
    given = {
        "database": {"base_image_path": shared_images(), **database},
        "workload": {"warehouses": warehouses, "profile": profile},
        "storages": {"here": {"path": folder / "disk"}},
    }
    engine = engine_of(Study(Plan.model_validate(given)).databases, Journal(folder / "journal"))
    with (
        engine.restored(CONFIGURATION, unwatched) as server,
        mariadb_session(server.address) as session,
        connect(servers(None).loaded(warehouses, profile)) as connection,
    ):
        session.run("SET time_zone = '+00:00'")
        columns = {table: [*columns_of(session, table)] for table in LARGEST_FIRST}
        return {
            table: [
                of_postgres(connection, table, columns[table]),
                of_mariadb(session, table, columns[table]),
            ]
            for table in LARGEST_FIRST
        }


@pytest.mark.mariadb
@pytest.mark.parametrize(
    "database",
    [
        pytest.param({"engine": "mariadb", "settings": SMALL_LOG}, marks=WITHOUT_MARIADB),
        pytest.param(
            {"engine": "mysql", **mysql_build.SMALL}, marks=[pytest.mark.long, mysql_build.WITHOUT]
        ),
    ],
    ids=["mariadb", "mysql"],
)
@LOADS
def test_postgres_and_another_server_hold_the_same_rows_of_all_nine_tables(
    database: dict[str, Any], warehouses: int, profile: str, tmp_path: Path, servers: Servers
) -> None:
    found = sums(database, warehouses, profile, tmp_path, servers)
    assert found["stock"][0][0] == 100_000 * warehouses
    assert {table: one for table, (one, _) in found.items()} == {
        table: other for table, (_, other) in found.items()
    }


@tds_server.WITHOUT_SERVER
@LOADS
def test_postgres_and_a_tds_server_hold_the_same_rows_of_all_nine_tables(
    warehouses: int,
    profile: str,
    tmp_path: Path,
    servers: Servers,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SQLCMDPASSWORD", tds_server.password())
    given = {
        "database": tds_server.database(),
        "workload": {"warehouses": warehouses, "profile": profile},
        "storages": {"here": {}},
    }
    engine = engine_of(Study(Plan.model_validate(given)).databases, Journal(tmp_path / "journal"))
    try:
        engine.prepare(unwatched)
        with (
            engine.restored(CONFIGURATION, unwatched) as server,
            connect_to(server.address) as session,
            connect(servers(None).loaded(warehouses, profile)) as connection,
        ):
            for table in LARGEST_FIRST:
                columns = [name for name, _, _ in columns_in_the_schema(table)]
                found = of_sqlserver(session, table)
                assert found == of_postgres(connection, table, columns), table
    finally:
        tds_server.drop_databases()
