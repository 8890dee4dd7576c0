"""Figures as files: SVG and PDF to be set elsewhere, PNG for a slide, CSV of what is drawn."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from kneebench.brief import drawing
from kneebench.brief.drawn_rows import as_csv, tables
from kneebench.brief.section import Figure
from kneebench.directories import make_directory
from kneebench.results.atomic_write import write_bytes

Format = Literal["svg", "png", "pdf", "csv"]


def write_figures(
    figures: Iterable[Figure], folder: Path, says: str, formats: Sequence[Format]
) -> list[Path]:
    """Write each figure in each format, with its title and what it `says`, by its name; the paths.

    A CSV has the rows that are drawn. A figure that is drawn from several tables has several, the
    largest without a number.
    """
    make_directory(folder)
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
    drawn = tables(figure.spec)
    rows = [{"table": number, **row} for number, one in enumerate(drawn, 1) for row in one]
    content = as_csv(rows if drawn[1:] else [row for one in drawn for row in one])
    found = [_download(f"{figure.name}.csv", "CSV", "text/csv", content)]
    if svg.startswith("<svg"):
        alone = drawing.standing_alone(figure, svg, says).encode()
        found.insert(0, _download(f"{figure.name}.svg", "SVG", "image/svg+xml", alone))
    return found


def _download(name: str, called: str, media_type: str, content: bytes) -> Download:
    encoded = base64.b64encode(content).decode()
    return Download(name, called, f"data:{media_type};base64,{encoded}")


def _contents(figure: Figure, says: str, one: Format) -> Iterator[tuple[str, bytes]]:
    """The ends of the files' names, and what is in them."""
    if one == "csv":
        for number, rows in enumerate(tables(figure.spec), start=1):
            yield f"{f'-{number}' if number > 1 else ''}.csv", as_csv(rows)
    else:
        draw = {"svg": drawing.titled_svg, "png": drawing.png, "pdf": drawing.titled_pdf}[one]
        yield f".{one}", draw(figure, says)
