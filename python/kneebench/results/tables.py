"""The tables of a campaign, series and seconds, read without trust: what they expand to is bounded
before anything is made of it.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pydantic import ValidationError

from kneebench.errors import KneebenchError
from kneebench.records import Second, Series
from kneebench.regular_file import names_in, opened, path_of
from kneebench.results import file_schemas
from kneebench.results.allowance import (
    LATEST_S,
    LONGEST_NAME,
    MOST_FILES,
    MOST_FOOTER_BYTES,
    MOST_READ_ROWS,
    MOST_ROWS,
    MOST_SECONDS,
    MOST_SERIES,
    MOST_TABLE_BYTES,
)
from kneebench.results.parquet import connect, engine_module, query_errors

if TYPE_CHECKING:
    import duckdb

Row = TypeVar("Row")

FEW_ROWS = 10_000
_NAMES = ("quantity", "source", "unit")
"""Read no further than shows that they are too long: a name costs its length in each row."""
ENGINE = {
    "memory_limit": "1GiB",
    "temp_directory": "",
    "enable_external_file_cache": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
"""DuckDB, as it reads a file from elsewhere: with little memory, and none of it moved to the disk.
Without a cache, because the same number of an open file is another file each time.
"""


class _Kind(NamedTuple):
    """A kind of table: its directory, its columns, and the most rows of one file."""

    directory: str
    columns: dict[str, str]
    most_rows: int


_SERIES = _Kind("series", file_schemas.SERIES, MOST_ROWS)
_SECONDS = _Kind("seconds", file_schemas.SECONDS, MOST_SECONDS)


def require_tables(folder: Path) -> None:
    """Raise KneebenchError for the first table of a campaign that is none: cut off, overwritten,
    with other columns, too large, or no regular file.

    What it says of itself is read, not its values: those are decoded by what needs them.
    """
    for kind in (_SERIES, _SECONDS):
        directory = folder / kind.directory
        for name in names_in(directory, ".parquet", MOST_FILES):
            with _table(directory / name, kind):
                pass


def read_series(file: Path, quantities: Sequence[str] = ()) -> tuple[Series, ...]:
    """The series of a rung, all of them or these quantities; none where the file is missing; an
    error names a damaged one.
    """
    names = ", ".join(f"left({name}, {LONGEST_NAME + 1})" for name in _NAMES)
    sql = (
        f"SELECT {names}, at_s, value FROM read_parquet($file)"  # noqa: S608 (our own names)
        " WHERE len($names) = 0 OR list_contains($names, quantity)"
    )
    return tuple(_query(file, _SERIES, sql, _as_series, names=list(quantities)))


class Held(NamedTuple):
    """The lowest and the highest second of a quantity in a window."""

    low: float
    high: float


def held_in_windows(begins: Mapping[Path, float]) -> dict[Path, dict[tuple[str, str], Held]]:
    """By file of series what each quantity and source had in a window, from its begin on: a file
    ends with it. Nothing of a missing file, nor of what is no finite number.
    """
    sql = (
        "SELECT left(quantity, $longest), left(source, $longest), min(value), max(value)"
        " FROM read_parquet($file) WHERE at_s > $begin GROUP BY ALL"
        " HAVING isfinite(min(value)) AND isfinite(max(value)) LIMIT $most"
    )
    return {
        file: {
            (quantity, source): Held(low, high)
            for quantity, source, low, high in _query(
                file,
                _SERIES,
                sql,
                list,
                begin=begin,
                longest=LONGEST_NAME,
                most=MOST_SERIES,
            )
        }
        for file, begin in begins.items()
    }


def _as_series(rows: Iterable[tuple[Any, ...]]) -> list[Series]:
    """Readings as series, sorted by name and by time. Raises ValueError or TypeError, in words, for
    readings that no meter gave, and for more than are read.
    """
    found: dict[tuple[str, str, str], tuple[list[float], list[float]]] = {}
    for number, (quantity, source, unit, at_s, value) in enumerate(rows):
        name = (quantity, source, unit)
        if number == MOST_READ_ROWS:
            raise ValueError(f"it has more than {MOST_READ_ROWS:,} readings of these quantities")
        if name not in found:
            _require_names(name, len(found))
        at, values = found.setdefault(name, ([], []))
        if not -LATEST_S <= at_s <= LATEST_S:
            raise ValueError(f"{quantity} was read at {at_s:g} s")
        at.append(at_s)
        values.append(value)
    return [_one_series(name, *found[name]) for name in sorted(found)]


def _require_names(names: Sequence[str], known: int) -> None:
    if known == MOST_SERIES:
        raise ValueError(f"it has more than {MOST_SERIES:,} series")
    if max(map(len, names)) > LONGEST_NAME:
        raise ValueError(f"a name has more than {LONGEST_NAME:,} characters")


def _one_series(name: tuple[str, str, str], at: list[float], values: list[float]) -> Series:
    quantity, source, unit = name
    if any(one > other for one, other in pairwise(at)):  # kneebench writes them sorted
        order = sorted(range(len(at)), key=at.__getitem__)
        at, values = ([some[number] for number in order] for some in (at, values))
    return Series(quantity=quantity, source=source, unit=unit, at_s=tuple(at), value=tuple(values))


def read_seconds(file: Path) -> tuple[Second, ...]:
    """The seconds of a rung, as they were put."""
    columns = ", ".join(f'"{name}"' for name in file_schemas.SECONDS)
    sql = f"SELECT {columns} FROM read_parquet($file)"  # noqa: S608 (our own names)
    return tuple(_query(file, _SECONDS, sql, _as_seconds))


def _as_seconds(rows: Iterable[tuple[Any, ...]]) -> list[Second]:
    return [Second(**dict(zip(file_schemas.SECONDS, row, strict=True))) for row in rows]


def _query(
    file: Path,
    kind: _Kind,
    sql: str,
    made: Callable[[Iterable[tuple[Any, ...]]], list[Row]],
    **values: object,
) -> list[Row]:
    """What is `made` of the rows of a query; nothing where the file is missing."""
    duckdb = engine_module()
    with contextlib.ExitStack() as stack:
        try:
            path = stack.enter_context(_table(file, kind))
        except FileNotFoundError:
            return []
        database = stack.enter_context(connect(**ENGINE))
        try:
            database.execute(sql, {"file": path, **values})
            return made(_rows(database))
        except query_errors():
            raise
        except duckdb.OutOfMemoryException as error:
            raise _damaged(file, f"it takes more than {ENGINE['memory_limit']}") from error
        except duckdb.Error as error:
            raise _damaged(file, str(error).splitlines()[0].replace(path, file.name)) from error
        except ValidationError as error:
            raise _damaged(file, error.errors()[0]["msg"]) from error
        except (ValueError, TypeError) as error:
            raise _damaged(file, str(error)) from error


def _rows(database: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    """The rows of an answer, FEW_ROWS at a time: as objects they take ten times the memory."""
    while rows := database.fetchmany(FEW_ROWS):
        yield from rows


@contextlib.contextmanager
def _table(file: Path, kind: _Kind) -> Iterator[str]:
    """A path by which a table of this kind can be read, after what it says of itself was checked.

    Raises FileNotFoundError where there is none, and KneebenchError, which names it, for what is no
    table.
    """
    with opened(file, MOST_TABLE_BYTES, inner=True) as handle:
        try:
            found = footer(handle, MOST_FOOTER_BYTES)
        except ValueError as error:
            raise _damaged(file, str(error)) from error
        if found.rows > kind.most_rows:
            seen = f"it has {found.rows:,} rows, more than the {kind.most_rows:,} that are read"
            raise _damaged(file, seen)
        if lacking := found.lacking(kind.columns):
            raise _damaged(file, lacking)
        yield path_of(handle)


def _damaged(file: Path, what: str) -> KneebenchError:
    return KneebenchError(
        f"cannot read {file}",
        seen=f"the file is damaged ({what})",
        do="restore it from a copy, or remove it",
    )


# What a Parquet file says of itself, read without opening it as a table: its columns and how many
# rows it expands to.
#
# The end of the file is the footer, its length and PAR1; the footer is a struct in Thrift's compact
# protocol (Apache Parquet, parquet.thrift, FileMetaData; Apache Thrift, thrift-compact-
# protocol.md). Equal values cost nothing in Parquet, so a file of a few kilobytes can have billions
# of rows. To look here first takes a tenth of a millisecond; to start a table engine for it takes a
# tenth of a second.

MAGIC = b"PAR1"
PHYSICAL = {"INTEGER": 1, "BIGINT": 2, "DOUBLE": 5, "VARCHAR": 6}
"""parquet.thrift's Type by our columns' types: INT32, INT64, DOUBLE, BYTE_ARRAY."""
SCHEMA, ROWS, GROUPS = 2, 3, 4
"""Fields of FileMetaData."""
KIND, NAME, CHILDREN = 1, 4, 5
"""Fields of SchemaElement."""
CHUNKS, GROUP_ROWS = 1, 3
"""Fields of RowGroup."""
CHUNK_META, COMPRESSED = 3, 7
"""Of ColumnChunk its ColumnMetaData, and of that total_compressed_size."""
DEEPEST = 16
"""Structs and lists within one another; the footer has six."""


class Footer(NamedTuple):
    """Rows, and the physical type of each column by name."""

    rows: int
    columns: Mapping[str, int]

    def lacking(self, columns: Mapping[str, str]) -> str:
        """The first of these columns that is missing or of another type, in words; empty if all
        are there.
        """
        for name, kind in columns.items():
            if self.columns.get(name) != PHYSICAL[kind]:
                return f"no column {name} of type {kind}"
        return ""


def footer(handle: int, most_bytes: int) -> Footer:
    """The footer of an open file. Raises ValueError, in words, for a file that is no Parquet, or no
    longer: one cut off has no footer.
    """
    length = os.fstat(handle).st_size
    if length < 12:
        raise ValueError(f"{length} bytes are too few for a Parquet file")
    if os.pread(handle, 4, 0) != MAGIC:
        raise ValueError("it does not begin as a Parquet file")
    end = os.pread(handle, 8, length - 8)
    if end[4:] != MAGIC:
        raise ValueError("it does not end as a Parquet file")
    (own,) = struct.unpack("<I", end[:4])
    if not 0 < own <= min(length - 12, most_bytes):
        raise ValueError(f"its footer cannot have {own:,} bytes")
    try:
        meta = _Compact(os.pread(handle, own, length - 8 - own)).struct()
        return _footer(meta, length - 12 - own)
    except (IndexError, KeyError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise ValueError("its footer cannot be read") from error


def _footer(meta: dict[int, Any], data_bytes: int) -> Footer:
    groups = meta[GROUPS]
    rows = sum(group[GROUP_ROWS] for group in groups)
    if meta[ROWS] != rows or any(group[GROUP_ROWS] < 0 for group in groups):
        raise ValueError("its numbers of rows contradict each other")
    kept = sum(chunk[CHUNK_META][COMPRESSED] for group in groups for chunk in group[CHUNKS])
    if kept > data_bytes:
        raise ValueError(f"{data_bytes:,} bytes remain of {kept:,}")
    columns = {
        one[NAME].decode(): one[KIND] for one in meta[SCHEMA] if KIND in one and CHILDREN not in one
    }
    return Footer(rows, columns)


class _Compact:
    """A reader of Thrift's compact protocol: structs as dicts by field number."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """A struct; raises IndexError, KeyError or ValueError where the data is none."""
        if depth > DEEPEST:
            raise ValueError("its footer is nested too deeply")
        found: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            delta, kind = head >> 4, head & 15
            number = number + delta if delta else self._zigzag()
            found[number] = self._value(kind, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):  # a field's truth is in its type
            return kind == 1
        if kind in (9, 10):
            return self._list(depth)
        return self._struct_in(depth) if kind == 12 else self._simple(kind)

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        length, kind = head >> 4, head & 15
        if length == 15:
            length = self._varint()
        if length > len(self._data) - self._at:  # each element has a byte at least
            raise IndexError(length)
        if kind == 12:
            return [self._struct_in(depth) for _ in range(length)]
        if kind in (1, 2):
            return [self._byte() == 1 for _ in range(length)]
        if kind in (9, 10):
            if depth > DEEPEST:
                raise ValueError("its footer is nested too deeply")
            return [self._list(depth + 1) for _ in range(length)]
        return [self._simple(kind) for _ in range(length)]

    def _struct_in(self, depth: int) -> dict[int, Any]:
        return self.struct(depth + 1)

    def _simple(self, kind: int) -> Any:
        """A number or binary; KeyError for a map, which no footer has."""
        if kind in (4, 5, 6):
            return self._zigzag()
        if kind == 8:
            return self._take(self._varint())
        if kind == 3:
            return self._byte()
        if kind == 7:
            return self._take(8)
        raise KeyError(kind)

    def _take(self, length: int) -> bytes:
        found = self._data[self._at : self._at + length]
        if len(found) < length:
            raise IndexError(length)
        self._at += length
        return found

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            one = self._byte()
            value |= (one & 127) << shift
            if one < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("its footer has a number that is too large")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
