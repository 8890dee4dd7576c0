"""Figures as files: SVG and PDF to be set elsewhere, PNG for a slide, CSV of what is drawn."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from kneebench.brief import drawing
from kneebench.brief.section import Figure
from kneebench.results.atomic_write import write_bytes

Format = Literal["svg", "png", "pdf", "csv"]


def write_figures(
    figures: Iterable[Figure], folder: Path, says: str, formats: Sequence[Format]
) -> list[Path]:
    """Write each figure in each format, with its title and what it `says`, by its name; the paths.

    A CSV has the rows that are drawn. A figure that is drawn from several tables has several, the
    largest without a number.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for figure in figures:
        for one in formats:
            for ending, content in _contents(figure, says, one):
                written.append(folder / f"{figure.name}{ending}")
                write_bytes(written[-1], content)
    return written


class Download(NamedTuple):
    """A file that a page carries: its name, what it is called, and where a browser finds it."""

    name: str
    called: str
    href: str


def downloads(figure: Figure, svg: str, says: str) -> list[Download]:
    """The figure as it was drawn, with its title and what it `says`, and all rows that it draws, as
    files within the page. Where there are several tables, a column numbers them.
    """
    tables = _distinct(figure.spec)
    rows = [{"table": number, **row} for number, one in enumerate(tables, 1) for row in one]
    content = as_csv(rows if tables[1:] else [row for one in tables for row in one])
    alone = drawing.standing_alone(figure, svg, says)
    return [
        _download(f"{figure.name}.svg", "SVG", "image/svg+xml", alone.encode()),
        _download(f"{figure.name}.csv", "CSV", "text/csv", content),
    ]


def _download(name: str, called: str, media_type: str, content: bytes) -> Download:
    encoded = base64.b64encode(content).decode()
    return Download(name, called, f"data:{media_type};base64,{encoded}")


def _contents(figure: Figure, says: str, one: Format) -> Iterator[tuple[str, bytes]]:
    """The ends of the files' names, and what is in them."""
    if one == "csv":
        for number, rows in enumerate(_distinct(figure.spec), start=1):
            yield f"{f'-{number}' if number > 1 else ''}.csv", as_csv(rows)
    else:
        draw = {"svg": drawing.titled_svg, "png": drawing.png, "pdf": drawing.titled_pdf}[one]
        yield f".{one}", draw(figure, says)


def _distinct(spec: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Its tables, the largest first, without those whose rows are all in a larger one."""
    kept: list[list[dict[str, Any]]] = []
    for rows in sorted(_tables(spec), key=len, reverse=True):
        if not any(all(row in larger for row in rows) for larger in kept):
            kept.append(rows)
    return kept


def _tables(spec: Any) -> Iterator[list[dict[str, Any]]]:
    """The tables that a specification draws."""
    if isinstance(spec, dict):
        found = [*spec.get("datasets", {}).values()]
        data = spec.get("data")
        found += [data["values"]] if isinstance(data, dict) and "values" in data else []
        yield from (rows for rows in found if rows and isinstance(rows[0], dict))
        spec = [value for key, value in spec.items() if key not in ("datasets", "data")]
    if isinstance(spec, list):
        for part in spec:
            yield from _tables(part)


def as_csv(rows: Sequence[dict[str, Any]]) -> bytes:
    """Rows as CSV, with a column for each name that any of them has.

    >>> as_csv([{"users": 2, "nopm": 10.5}, {"users": 4, "p": "a,b"}])
    b'users,nopm,p\\r\\n2,10.5,\\r\\n4,,"a,b"\\r\\n'
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, names)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()
