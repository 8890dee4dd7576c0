"""Output: tables for people and JSON for programs on stdout, a brief in a file."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kneebench.errors import PlanError
from kneebench.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    from kneebench.brief.campaigns.campaigns_page import CampaignsPage
    from kneebench.brief.pdf import Paper
    from kneebench.brief.rendering import Page
    from kneebench.records import Event, Results

EVERY_S = 2.0


def print_line(text: str, *, err: bool = False) -> None:
    """Print a line; what it holds of plans and results reaches the terminal without control
    characters.
    """
    typer.echo(visible(text), err=err)


def print_text(text: str) -> None:
    """Print lines as they are, without control characters."""
    for line in text.splitlines():
        print_line(line)


class ReadingProgress:
    """Prints, every two seconds, how far a drive has been read, and how long that still takes."""

    def __init__(self) -> None:
        self._printed_s = time.monotonic()

    def __call__(self, event: Event) -> None:
        from kneebench.units import rough_time

        now_s = time.monotonic()
        if event.left_s is not None and event.share and now_s - self._printed_s > EVERY_S:
            self._printed_s = now_s
            left = f"{100 * event.share:.0f}%, about {rough_time(event.left_s)} remaining"
            print_line(f"{event.doing}: {left}", err=True)


class Filtered:
    """A table or text whose every piece is made visible after it was laid out: only rich's own
    control characters reach the terminal.
    """

    def __init__(self, part: RenderableType) -> None:
        self._part = part

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        from rich.segment import Segment

        for text, style, control in console.render(self._part, options):
            yield Segment(text if control else visible(text), style, control)


def show_parts(*parts: Any, file_columns: int = 160) -> None:
    """Print what rich can draw; as wide as the terminal, or so many columns into a file, without
    blanks at the ends of its lines.
    """
    from rich.console import Console
    from rich.text import Text

    console = Console()
    terminal = console.is_terminal
    if not terminal:
        console = Console(width=file_columns)
    for part in parts:
        with nullcontext() if terminal else console.capture() as drawn:
            console.print(Filtered(part), soft_wrap=isinstance(part, Text))
        if drawn:
            sys.stdout.write("".join(f"{line.rstrip()}\n" for line in drawn.get().splitlines()))


def show_page(page: Page, *, as_json: bool = False) -> None:
    """Print what a page says, without its charts; or all of it as JSON."""
    from kneebench.brief.terminal import told

    if as_json:
        show_json(page.document())
    else:
        show_parts(*told(page))


def show_campaigns(page: CampaignsPage, file: Path | None, *, as_csv: bool, as_json: bool) -> None:
    """Write a page over several campaigns to the file, if one is wanted; print what it says."""
    if file:
        page.write(file)
        print_line(f"page: {file}", err=True)
    if as_csv:
        print_text(page.csv())
    else:
        show_page(page, as_json=as_json)


def show_json(document: Any) -> None:
    """Print one JSON document, to be read by people too."""
    import json

    print_line(json.dumps(document, indent=2, ensure_ascii=False))


def show_csv(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as CSV, with a column for each name that any of them has."""
    from kneebench.brief.drawn_rows import as_csv

    print_text(as_csv([dict(row) for row in rows]).decode())


def show_json_line(document: Any) -> None:
    """Print one JSON document on one line."""
    import json

    print_line(json.dumps(document, ensure_ascii=False))


def write(
    results: Results,
    out: Path | None = None,
    *,
    paper: Paper = "a4",
    appendix: bool = False,
) -> Path:
    """Write the brief of a campaign as HTML, or by the end of the file's name as JSON, PDF or
    Markdown; return its path. `paper` and `appendix` are of a PDF.
    """
    from kneebench.brief import Brief
    from kneebench.results.atomic_write import write_text

    path = _checked(out or brief_file(results))
    if path.suffix == ".json":
        write_text(path, Brief(results).json())
    elif path.suffix == ".md":
        from kneebench.brief.markdown import markdown

        write_text(path, markdown(Brief(results)))
    elif path.suffix == ".pdf":
        from kneebench.brief.pdf import write_pdf

        write_pdf(Brief(results), path, paper=paper, appendix=appendix)
    else:
        Brief(results).write(path)
    return path


def open_page(path: Path) -> None:
    """Open a page in the user's browser ($BROWSER, or the desktop's); where there is none, print
    what to open.
    """
    import webbrowser

    if not webbrowser.open(path.absolute().as_uri()):
        print_line(f"no browser was found: open {path.absolute()}", err=True)


def brief_file(results: Results) -> Path:
    """Where a campaign's brief is written: into its folder, or beside its result archive."""
    from kneebench.results.campaign_folders import BRIEF

    archive, folder = results.archive, results.folder or Path()
    return archive.with_suffix(".html") if archive else folder / BRIEF


def write_figures(results: Results, folder: Path) -> list[Path]:
    """Write the figures of a campaign's brief in every format; return their paths."""
    from kneebench.brief import Brief
    from kneebench.results.atomic_write import require_no_drive

    require_no_drive(folder)
    return Brief(results).figures(folder, ("svg", "png", "pdf", "csv"))


def write_sweep_table(results: Results, out: Path) -> Path:
    """Write the sweeps of a campaign as a table, .csv or .parquet; return its path."""
    from kneebench.analysis.sweep_rows import required_sweep_rows
    from kneebench.results.parquet import write_sweep

    path = _checked(out, (".csv", ".parquet"))
    write_sweep(path, required_sweep_rows(results, f"cannot write {path}"))
    return path


def checked_page(path: Path | None) -> None:
    """Before anything is measured: raises PlanError where such a page cannot be
    written.
    """
    if path:
        _checked(path, (".html", ".pdf", ".md", ".csv"))


def _checked(path: Path, allowed: tuple[str, ...] = (".html", ".pdf", ".md", ".json")) -> Path:
    from kneebench.extras import require_extra
    from kneebench.results.atomic_write import require_no_drive

    require_no_drive(path)
    if path.suffix not in allowed:
        raise PlanError(
            f"cannot write {path}",
            seen=f"unsupported format {path.suffix!r}",
            do=f"use {', '.join(allowed[:-1])} or {allowed[-1]}",
        )
    require_directory(path)
    if path.suffix == ".pdf":
        require_extra("pdf", f"cannot write {path}")
    return path


def require_one(forms: Mapping[str, object], out: Path | None = None) -> None:
    """Raises PlanError where one call would have to write several forms, by their options."""
    named = [name for name, given in forms.items() if given]
    same = named == ["--pdf", "--out"] and out is not None and out.suffix == ".pdf"
    if len(named) > 1 and not same:
        raise PlanError(" with ".join(named), seen="each is another form", do="use one at a time")


def require_directory(path: Path) -> None:
    """Raises PlanError where the directory that a file is to be written to is missing."""
    if not path.absolute().parent.is_dir():
        raise PlanError(
            f"cannot write {path}",
            seen=f"no directory {path.parent}",
            do="create it, or choose another path",
        )
