"""The rows that a figure draws, as tables for a spreadsheet: their columns are called as the axes
are, with the unit, and what only steers the drawing is left out.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kneebench.visible import spreadsheet_cell

Row = dict[str, Any]
LOW, HIGH = "95% CI low", "95% CI high"
ENDS = {"low": LOW, "left": LOW, "high": HIGH, "right": HIGH}
"""Fields with the ends of an interval."""
DRAWING = {
    *("label", "iops_label", "mb_label", "text", "ink", "width", "order", "place", "drawn_at"),
    *("from", "to", "end", "tip", "beyond", "top", "boxed", "circled", "middle", "nines"),
}
"""Fields that say how a row is drawn: texts beside it, colours, whiskers cut at the frame."""


class Encoded(NamedTuple):
    """A field along an axis, "x" or "y", and the title that the axis has for it; empty for none."""

    axis: str
    field: str
    title: str


Known = Mapping[tuple[str, str], str]
"""The titles of a figure's axes, by axis and field."""


class _Drawn(NamedTuple):
    """Rows, and by field what it is called: the title of its axis, or its own name with the title
    where the axis has that for another field.
    """

    rows: Sequence[Row]
    called: dict[str, str]


def tables(spec: dict[str, Any]) -> list[list[Row]]:
    """Its tables, the largest first, without those whose rows are all in a larger one."""
    kept: list[_Drawn] = []
    known = {(one.axis, one.field): one.title for one in _encoded(spec) if one.title}
    for one in sorted(_drawn(spec, {}, known), key=lambda one: len(one.rows), reverse=True):
        if larger := next((two for two in kept if _within(one.rows, two.rows)), None):
            larger.called.update({**one.called, **larger.called})
        else:
            kept.append(one)
    published = ([_published(row, one.called) for row in one.rows] for one in kept)
    return [rows for rows in published if len(rows[0]) > 1]


def _within(rows: Sequence[Row], others: Sequence[Row]) -> bool:
    """Whether each of the rows is, or is a part of, one of the others."""
    return all(any(row.items() <= other.items() for other in others) for row in rows)


def as_csv(rows: Sequence[Row]) -> bytes:
    """Rows as CSV, with a column for each name that any of them has.

    >>> as_csv([{"users": 2, "nopm": 10.5}, {"users": 4, "p": "a,b"}])
    b'users,nopm,p\\r\\n2,10.5,\\r\\n4,,"a,b"\\r\\n'
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    for row in (dict(zip(names, names, strict=True)), *rows):
        writer.writerow(spreadsheet_cell(row.get(name, "")) for name in names)
    return text.getvalue().encode()


def _published(row: Row, called: Mapping[str, str]) -> Row:
    """A row for readers.

    >>> _published({"name": "disk", "ms": 2.1, "low": 2.0, "high": 2.2},
    ...     {"ms": "Mean, ms", "low": "Mean, ms: 95% CI low"})
    {'name': 'disk', 'Mean, ms': 2.1, 'Mean, ms: 95% CI low': 2.0, 'Mean, ms: 95% CI high': 2.2}
    """
    if "low" in called:  # a whisker is drawn to where the frame ends, not to its field
        called = {"high": called["low"].replace(LOW, HIGH), **called}
    return {called.get(field, field): value for field, value in row.items()}


def _drawn(spec: Any, axes: dict[str, str], known: Known) -> Iterator[_Drawn]:
    """Every table within a part of a specification; `axes`: what the axes around it are called."""
    if isinstance(spec, list):
        for part in spec:
            yield from _drawn(part, axes, known)
        return
    if not isinstance(spec, dict):
        return
    encoded = [*_encoded(spec)]
    axes = {**axes, **_axes(encoded)}
    data = spec.get("data")
    rows = data.get("values") if isinstance(data, dict) else None
    if rows and isinstance(rows[0], dict):
        drawn = [{key: row[key] for key in row if key not in DRAWING} for row in rows]
        if rows[1:] or "ink" not in rows[0]:  # that is a text beside a line
            yield _Drawn(drawn, _called(encoded, axes, known))
    for key, part in spec.items():
        if key != "data":
            yield from _drawn(part, axes, known)


def _called(encoded: Sequence[Encoded], axes: Mapping[str, str], known: Known) -> dict[str, str]:
    """Each field that is drawn along an axis, by what readers call it."""
    titled = {one.field: one.title for one in encoded if one.title}
    inherited = {
        one.field: known.get((one.axis, one.field))
        or f"{axes[one.axis]}: {ENDS.get(one.field, one.field)}"
        for one in encoded
        if one.axis in axes
    }
    return {**inherited, **titled}


def _axes(encoded: Sequence[Encoded]) -> dict[str, str]:
    """The first title of each axis within a part."""
    return {one.axis: one.title for one in reversed(encoded) if one.title}


def _encoded(spec: Any) -> Iterator[Encoded]:
    """What is drawn along an axis within a part."""
    if isinstance(spec, list):
        for part in spec:
            yield from _encoded(part)
    elif isinstance(spec, dict):
        encoding = spec.get("encoding", {})
        for channel in ("x", "x2", "y", "y2"):
            if "field" in (one := encoding.get(channel, {})):
                title = one.get("title") or (one.get("axis") or {}).get("title") or ""
                yield Encoded(channel[0], one["field"], title)
        for key, part in spec.items():
            if key not in ("data", "encoding"):
                yield from _encoded(part)
