"""Series and seconds as Parquet, written by DuckDB: in long format, so that one query reads any
quantity of any rung. `tables` reads them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from kneebench.analysis.sweep_rows import SweepRow
from kneebench.errors import KneebenchError
from kneebench.records import Second, Series
from kneebench.results import file_schemas
from kneebench.results.atomic_write import write_atomically
from kneebench.stopping_signals import STOPPING
from kneebench.visible import spreadsheet_cell

if TYPE_CHECKING:
    import duckdb


@cache
def engine_module() -> Any:
    """The module, imported while signals wait: its native code aborts the process if a handler
    raises within the import.
    """
    with _signals_wait(lambda: None):
        return import_module("duckdb")


def query_errors() -> tuple[type[Exception], ...]:
    """The errors of a query that is wrong itself, whatever the file that it reads or writes."""
    duckdb = engine_module()
    return (
        duckdb.BinderException,
        duckdb.CatalogException,
        duckdb.ParserException,
        duckdb.SyntaxException,
    )


@cache
def _engine(**settings: str) -> duckdb.DuckDBPyConnection:
    made: duckdb.DuckDBPyConnection = engine_module().connect(config={"threads": 1, **settings})
    return made


@contextlib.contextmanager
def connect(**settings: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB in memory on one thread: results must not take cores from a database that is
    measured.

    Starting one takes some 20 ms, so a process has one of these settings, and this is a session of
    it. A signal ends what it runs, and its handler is called afterwards.
    """
    with _engine(**settings).cursor() as session, _signals_wait(session.interrupt):
        yield session


@contextlib.contextmanager
def _signals_wait(interrupt: Callable[[], None]) -> Iterator[None]:
    """Call `interrupt` when a signal comes, and the signal's own handler only at the end.

    DuckDB calls handlers itself, in whatever it runs, and makes errors of its own, of several
    kinds, from what they raise.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        interrupt()

    handlers = {
        number: handler for number in STOPPING if callable(handler := signal.getsignal(number))
    }
    try:
        for number in handlers:
            signal.signal(number, note)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if came:
            handlers[signal.Signals(came[0])](came[0], None)


def write_series(file: Path, series: Sequence[Series]) -> None:
    """Write series in long format; raises ValueError where one's times and values are not as
    many.
    """
    rows = [
        (at_s, one.quantity, one.source, one.unit, value)
        for one in series
        for at_s, value in zip(one.at_s, one.value, strict=True)
    ]
    _write(file, file_schemas.SERIES, rows, "ORDER BY quantity, source, at_s")


def write_seconds(file: Path, seconds: Sequence[Second]) -> None:
    """Write seconds, a row for each and each transaction, as they come."""
    _write(
        file,
        file_schemas.SECONDS,
        [tuple(getattr(second, name) for name in file_schemas.SECONDS) for second in seconds],
    )


def _write(
    file: Path, columns: Mapping[str, str], rows: Sequence[tuple[Any, ...]], order: str = ""
) -> None:
    """A table of rows, through numpy arrays, which DuckDB reads as they lie: values handed over one
    by one take ten times as long.
    """
    import numpy as np

    values = {
        name: np.array(
            [row[at] for row in rows], dtype=object if columns[name] == "VARCHAR" else float
        )
        for at, name in enumerate(columns)
    }
    cast = ", ".join(f'{_value(name, kind)}::{kind} AS "{name}"' for name, kind in columns.items())
    with _failures_reported(file), connect() as database:
        database.register("kept", values)
        made = f"SELECT {cast} FROM kept {order}"  # noqa: S608 (our own names)
        write_atomically(file, lambda part: _copy(database, made, part))


def _value(name: str, kind: str) -> str:
    """What is no number (NaN) comes out of numpy as NULL."""
    return f"coalesce(\"{name}\", 'NaN')" if kind == "DOUBLE" else f'"{name}"'


def _copy(
    database: duckdb.DuckDBPyConnection,
    made: str,
    part: Path,
    how: str = "FORMAT parquet, COMPRESSION zstd",
) -> None:
    """Into the file itself: DuckDB would write another one beside a file that is there."""
    name = str(part).replace("'", "''")
    database.execute(f"COPY ({made}) TO '{name}' ({how}, USE_TMP_FILE false)")


@contextlib.contextmanager
def _failures_reported(file: Path) -> Iterator[None]:
    """Makes the error of Python's own files of DuckDB's where the disk is full, else a
    KneebenchError that names the file.
    """
    try:
        yield
    except query_errors():
        raise
    except engine_module().Error as error:
        seen = str(error).splitlines()[0]
        full = next(
            (number for number in (errno.ENOSPC, errno.EDQUOT) if os.strerror(number) in seen), 0
        )
        if full:
            raise OSError(full, os.strerror(full), str(file)) from error
        raise KneebenchError(
            f"cannot write {file}", seen=seen, do="check whether its drive is writable"
        ) from error


def write_sweep(file: Path, rows: Sequence[SweepRow]) -> None:
    """Write a table of sweeps as Parquet, or as CSV if the file's name ends in .csv."""
    columns = ", ".join(f'"{name}" {kind}' for name, kind in file_schemas.SWEEP.items())
    places = ", ".join("?" for _ in file_schemas.SWEEP)
    is_csv = file.suffix == ".csv"
    how = "FORMAT csv, HEADER" if is_csv else "FORMAT parquet, COMPRESSION zstd"
    with _failures_reported(file), connect() as database:
        database.execute(f"CREATE TEMP TABLE sweep ({columns})")
        for row in rows:
            cells = tuple(map(spreadsheet_cell, row)) if is_csv else row
            database.execute(f"INSERT INTO sweep VALUES ({places})", cells)  # noqa: S608 (places)
        write_atomically(file, lambda part: _copy(database, "FROM sweep", part, how))
