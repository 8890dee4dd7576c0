"""What a Parquet file says of itself, read without opening it as a table: its columns and how many
rows it expands to.

The end of the file is the footer, its length and PAR1; the footer is a struct in Thrift's compact
protocol (Apache Parquet, parquet.thrift, FileMetaData; Apache Thrift, thrift-compact-protocol.md).
Equal values cost nothing in Parquet, so a file of a few kilobytes can have billions of rows. To
look here first takes a tenth of a millisecond; to start a table engine for it takes a tenth of a
second.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

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
