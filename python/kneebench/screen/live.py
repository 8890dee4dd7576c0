"""The live picture of a campaign in a terminal: rungs so far, what is under way, time left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from kneebench.records import Watch
from kneebench.screen import tables
from kneebench.screen.progress import Progress, left

_FEWEST_ROWS = 5


class Picture:
    """What is drawn, four times a second."""

    def __init__(self, progress: Progress, console: Console) -> None:
        self._progress, self._console = progress, console

    def __rich__(self) -> RenderableType:
        """The table's last rows that fit, verdicts and warnings, the line of what is under way."""
        progress = self._progress
        told = [*progress.verdicts, *progress.warnings][-6:]
        room = max(_FEWEST_ROWS, self._console.size.height - len(told) - 7)
        parts: list[RenderableType] = [tables.rungs(progress.lines[-room:])] if progress.lines else []
        parts += [Text(sentence, style="yellow") for sentence in told]
        return Group(*parts, Text(), Text(progress.doing), self._under_way())

    def _under_way(self) -> Table:
        progress = self._progress
        row = Table.grid(padding=(0, 2))
        share = progress.share
        bar = ProgressBar(total=1.0, completed=share, width=20) if share is not None else Text("")
        remaining = f"{left(progress.step_left_s)} left" if progress.step_left_s else ""
        step = ", ".join(part for part in (progress.rate, remaining) if part)
        whole = f"about {left(progress.left_s)} left in all" if progress.left_s > 0 else "longer than expected"
        row.add_row(bar, step, f"[dim]{_clock(progress.elapsed_s)} gone, {whole}[/]")
        return row


@contextmanager
def live(progress: Progress) -> Iterator[Watch]:
    """A watcher that keeps the picture on stderr; at the end the table of rungs stays."""
    console = Console(stderr=True)
    with Live(Picture(progress, console), console=console, refresh_per_second=4, transient=True):
        yield progress.hear
    if progress.lines:
        console.print(tables.rungs(progress.lines))


def _clock(elapsed_s: float) -> str:
    minutes, seconds = divmod(int(elapsed_s), 60)
    return f"{minutes}:{seconds:02d}"
