"""Rendering: sections become one self-contained page that reads offline and prints well."""

from __future__ import annotations

import base64
import contextlib
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from html import escape
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from kneebench.analysis.wording import DERIVED
from kneebench.brief import drawing
from kneebench.brief.drawing import PROGRAM
from kneebench.brief.drawn_rows import as_csv, tables
from kneebench.brief.section import Figure, Part, Section, Tone
from kneebench.directories import make_directory
from kneebench.errors import PlanError
from kneebench.results.atomic_write import write_bytes, write_text, writing
from kneebench.visible import visible


class Page(ABC):
    """A page: its title, and its sections in order."""

    @property
    def derived(self) -> str:
        """With what no figure compares; empty where that is not said."""
        return ""

    @property
    @abstractmethod
    def title(self) -> str:
        """The finding."""

    @property
    @abstractmethod
    def subtitle(self) -> str:
        """What was measured, or compared with what."""

    @property
    def tone(self) -> Tone:
        """The colour of the title in a terminal."""
        return "plain"

    @property
    def told(self) -> tuple[Section, ...]:
        """What a terminal shows: the answer, and nothing that must be drawn."""
        return self.sections

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """All of it for programs."""

    @property
    @abstractmethod
    def version(self) -> str:
        """The kneebench that measured."""

    @property
    @abstractmethod
    def sections(self) -> tuple[Section, ...]:
        """All that the page says below its title."""

    def each_section(self) -> Iterable[Section]:
        """The sections in order, each as soon as it is made."""
        return self.sections

    @property
    def says(self) -> str:
        """What goes wherever one of its figures goes."""
        return DERIVED

    @abstractmethod
    def html(self) -> str:
        """The page: no script, no font, nothing from elsewhere."""

    @property
    def parts(self) -> dict[Part, list[tuple[bool, list[Section]]]]:
        """The page in its parts; in each, neighbouring sections of nothing but figures together,
        to be set in two columns.
        """
        calm = [section for section in self.sections if section.tone != "alarm"]
        found = {part: [one for one in calm if one.part == part] for part in get_args(Part)}
        return {
            part: [(figured, list(some)) for figured, some in groupby(every, key=_only_figures)]
            for part, every in found.items()
            if every
        }

    @property
    def contents(self) -> list[Section]:
        """What stands behind the front."""
        return [section for section in self.sections if section.part != "front"]

    @property
    def alarms(self) -> list[Section]:
        """What stands above everything else, the title included."""
        return [section for section in self.sections if section.tone == "alarm"]

    def write(self, path: str | Path) -> Path:
        """Write the page to a file that ends in .html, whole or not at all. Raises PlanError for
        another ending, and where it cannot be written.
        """
        path = Path(path)
        if path.suffix != ".html":
            do = "use .html; `kneebench brief --out` also writes .pdf, .md and .json"
            raise PlanError(
                f"cannot write {path}", seen=f"a page is HTML, not {path.suffix!r}", do=do
            )
        with writing(path):
            make_directory(path.parent)
            write_text(path, self.html())
        return path

    def render_page(self, template: str, **values: Any) -> str:
        """The page by a template of this package, which calls it `brief`."""
        from jinja2 import Environment, PackageLoader, StrictUndefined

        shelf = Environment(
            loader=PackageLoader("kneebench.brief", "."),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=lambda value: visible(value) if type(value) is str else value,
        )
        shelf.trim_blocks = shelf.lstrip_blocks = shelf.keep_trailing_newline = True
        style = (files("kneebench.brief") / "page.css").read_text(encoding="utf-8")
        with DrawingProcess() as process:
            for section in self.each_section():
                process.begin(section.figures)
            return shelf.get_template(template).render(
                brief=self,
                style=style,
                svg=process.svg,
                downloads=partial(downloads, says=self.says),
                **values,
            )


def _only_figures(section: Section) -> bool:
    others = section.sentences or section.tables or section.part == "appendix"
    return bool(section.figures) and not others


# Figures drawn by a process of their own, while the page they stand in is still being made.
#
# vl-convert keeps Python's lock while it draws, so that a thread would gain nothing. Its JavaScript
# engine takes half a second to start and as much memory as all the rest of a brief.


class DrawingProcess:
    """Draws figures as SVG, in the order in which they were begun.

    Where the process cannot be started, ends, or cannot draw a figure, the figure is drawn here, so
    that an error is raised where it can be read. To be used with `with`: the process ends at its
    end, or with this one.
    """

    def __init__(self) -> None:
        self._asking = ThreadPoolExecutor(1, "drawing")
        self._begun: dict[str, Future[str]] = {}
        self._process = _started()

    def begin(self, figures: Iterable[Figure]) -> None:
        """Have these drawn; `svg` has them later."""
        for figure in figures:
            self._begun[figure.name] = self._asking.submit(self._drawn, drawing.complete(figure))

    def svg(self, figure: Figure) -> str:
        """The figure as SVG to stand within a page, as soon as it is drawn; a sentence in its place
        where no process can draw it.
        """
        begun = self._begun.get(figure.name)
        drawn = begun.result() if begun else ""
        try:
            return drawing.within_page(figure, drawn) if drawn else drawing.svg(figure)
        except drawing.Undrawn as error:
            return f"<p>{escape(f'Not drawn: {error.seen}; {error.do}')}.</p>"

    def _drawn(self, specification: str) -> str:
        """What the process makes of it; empty where it makes nothing."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return ""
        try:
            process.stdin.write(f"{specification}\n".encode())
            process.stdin.flush()
            length = int(process.stdout.readline() or 0)
            drawn = process.stdout.read(length)
        except (OSError, ValueError):
            return ""
        return drawn.decode() if len(drawn) == length else ""

    def __enter__(self) -> DrawingProcess:
        return self

    def __exit__(self, *error: object) -> None:
        process = self._process
        if process:
            process.kill()
            process.wait()
        self._asking.shutdown(cancel_futures=True)
        for pipe in (process.stdin, process.stdout) if process else ():
            with contextlib.suppress(OSError):  # what it no longer reads
                pipe and pipe.close()


_ahead: list[subprocess.Popen[bytes]] = []


def start_ahead() -> None:
    """Start the process for the next page now, before there is anything to draw: its engine takes
    as long to start as a campaign to read. Unused, it ends with this process.
    """
    if process := _started():
        _ahead.append(process)


def _started() -> subprocess.Popen[bytes] | None:
    """None where no process can be started. It has its own session: keys of the terminal are ours
    to answer.
    """
    if _ahead:
        return _ahead.pop()
    if not sys.executable:
        return None
    try:
        return subprocess.Popen(
            [sys.executable, "-P", str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None


# Figures as files: SVG and PDF to be set elsewhere, PNG for a slide, CSV of what is drawn.

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
