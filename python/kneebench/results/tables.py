"""Series and seconds as Parquet, by DuckDB: in long format, so that one query reads any quantity of any rung."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kneebench.errors import KneebenchError
from kneebench.records import Second, Series
from kneebench.results import schema
from kneebench.results.whole import write_whole

if TYPE_CHECKING:
    import duckdb


@cache
def _engine() -> duckdb.DuckDBPyConnection:
    import duckdb

    return duckdb.connect(config={"threads": 1})


def connect() -> duckdb.DuckDBPyConnection:
    """A DuckDB in memory on one thread: results must not take cores from a database that is measured.

    Starting one takes some 20 ms, so a process has one, and this is a session of it.
    """
    return _engine().cursor()


def write_series(file: Path, series: Iterable[Series]) -> None:
    """Write series in long format; times and values of one series must be as many."""
    rows = [(s.quantity, s.source, s.unit, list(s.at_s), list(s.value)) for s in series]
    made = "SELECT unnest(at_s) AS at_s, quantity, source, unit, unnest(value) AS value FROM kept ORDER BY quantity, source, at_s"
    _write(file, "quantity VARCHAR, source VARCHAR, unit VARCHAR, at_s DOUBLE[], value DOUBLE[]", [rows], made)


def write_seconds(file: Path, seconds: Sequence[Second]) -> None:
    """Write seconds, a row for each and each transaction."""
    columns = [[getattr(second, name) for second in seconds] for name in schema.SECONDS]
    table = ", ".join(f'"{name}" {kind}[]' for name, kind in schema.SECONDS.items())
    made = "SELECT " + ", ".join(f'unnest("{name}") AS "{name}"' for name in schema.SECONDS) + " FROM kept"  # noqa: S608 (our own names)
    _write(file, table, [[tuple(columns)]], made)


def _write(file: Path, table: str, batches: Sequence[list[tuple[Any, ...]]], made: str) -> None:
    with connect() as database:
        database.execute(f"CREATE OR REPLACE TEMP TABLE kept ({table})")
        for rows in filter(None, batches):
            marks = ", ".join("?" for _ in rows[0])
            database.executemany(f"INSERT INTO kept VALUES ({marks})", rows)  # noqa: S608 (marks only)
        write_whole(file, lambda part: _copy(database, made, part))


def _copy(database: duckdb.DuckDBPyConnection, made: str, part: Path) -> None:
    name = str(part).replace("'", "''")
    database.execute(f"COPY ({made}) TO '{name}' (FORMAT parquet, COMPRESSION zstd)")


def read_series(file: Path, quantities: Sequence[str] = ()) -> tuple[Series, ...]:
    """The series of a rung, all of them or these quantities; none where the file is missing; an error names a damaged one."""
    rows = _query(
        file,
        "SELECT quantity, source, unit, list(at_s ORDER BY at_s), list(value ORDER BY at_s) FROM read_parquet($file)"
        " WHERE len($names) = 0 OR list_contains($names, quantity) GROUP BY ALL ORDER BY ALL",
        names=list(quantities),
    )
    return tuple(Series(quantity=q, source=s, unit=u, at_s=tuple(at), value=tuple(value)) for q, s, u, at, value in rows)


def read_seconds(file: Path) -> tuple[Second, ...]:
    """The seconds of a rung, as they were put."""
    rows = _query(file, "SELECT " + ", ".join(f'"{name}"' for name in schema.SECONDS) + " FROM read_parquet($file)")  # noqa: S608 (our own names)
    return tuple(Second(**dict(zip(schema.SECONDS, row, strict=True))) for row in rows)


def _query(file: Path, sql: str, **values: object) -> list[tuple[Any, ...]]:
    if not file.exists():
        return []
    import duckdb

    with connect() as database:
        try:
            return database.execute(sql, {"file": str(file), **values}).fetchall()
        except duckdb.Error as error:
            raise KneebenchError(
                f"reading {file}", seen=f"the file is damaged ({str(error).splitlines()[0]})", do="restore it from a copy, or remove it"
            ) from error
