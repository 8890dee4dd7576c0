"""The live picture of a campaign in a terminal: what is under way stays at the bottom, what is done
scrolls up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.cells import cell_len, set_cell_size
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from kneebench.records import Event, Watch
from kneebench.screen import tables
from kneebench.screen.progress import Progress, RungLine, TimeLeft, message_of
from kneebench.screen.tables import times_of
from kneebench.units import count, rough_time
from kneebench.visible import visible


class Picture:
    """What is drawn again four times a second.

    Each of its lines is cut at the terminal's width, so that none is pushed out of sight.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def __rich__(self) -> RenderableType:
        """An empty line, what is under way, how far it is, where that is, and the times of the
        whole.
        """
        progress = self._progress
        times = f"elapsed {_clock(progress.elapsed_s)}, {_remaining(progress.left)}"
        return Group(
            Text(),
            _cut(progress.doing),
            self._step(),
            _cut(progress.position, "dim"),
            _cut(times, "dim"),
        )

    def _step(self) -> Table:
        progress = self._progress
        row = Table.grid(padding=(0, 2))
        bar = (
            ProgressBar(total=1.0, completed=progress.share, width=20)
            if progress.share is not None
            else Text("")
        )
        remaining = f"{rough_time(progress.step_left_s)} remaining" if progress.step_left_s else ""
        now = f"{count(progress.second.nopm)} NOPM now" if progress.second else ""
        row.add_row(bar, _cut(", ".join(filter(None, (now, progress.rate, remaining)))))
        return row


class Scrolling:
    """Prints each rung, stop result and warning once, above the picture: the terminal keeps them
    all.
    """

    def __init__(self, progress: Progress, console: Console) -> None:
        self._progress, self._console = progress, console
        self._rows = RungRows(progress.names, console.width)

    def receive(self, event: Event) -> None:
        """Take in what happened, and print what is done."""
        self._progress.receive(event)
        if event.kind == "rung":
            rung = self._progress.lines[-1]
            self._console.print(*self._rows.row(rung), *self._below(rung.note), sep="\n")
        elif sentence := message_of(event):
            self._console.print(Text(visible(sentence), style="yellow"))

    def _below(self, note: str) -> Iterator[Text]:
        if note:
            yield Text(f"  {visible(note)}", style="yellow")
        if self._progress.first_doubt:
            yield Text(f"  {tables.MARK_MEANS}")


@contextmanager
def live(progress: Progress) -> Iterator[Watch]:
    """A watcher that keeps the picture on stderr; what it printed above stays when the picture
    goes.
    """
    console = Console(stderr=True)
    with Live(Picture(progress), console=console, refresh_per_second=4, transient=True):
        yield Scrolling(progress, console).receive


def _cut(text: str, style: str = "") -> Text:
    return Text(visible(text), style=style, no_wrap=True, overflow="ellipsis")


def _remaining(left: TimeLeft) -> str:
    """The time left, and between what it is, where that differs as people read it.

    >>> _remaining(TimeLeft(480, 350, 640)), _remaining(TimeLeft(50, 50, 50))
    ('about 8 min remaining (6 min to 11 min)', 'about 50 s remaining')
    """
    if left.s <= 0:
        return "longer than expected"
    low, high = rough_time(left.low_s), rough_time(left.high_s)
    between = f" ({low} to {high})" if low != high else ""
    return f"about {rough_time(left.s)} remaining{between}"


def _clock(elapsed_s: float) -> str:
    minutes, seconds = divmod(int(elapsed_s), 60)
    return f"{minutes}:{seconds:02d}"


# The rungs of a campaign under way, a row each, for a terminal that scrolls.

_RUNG_COLUMNS = (
    ("<phase", 11),
    ("users", 5),
    ("NOPM", 7),
    ("mean", 7),
    ("<P99.9", 10),
    ("log write", 9),
)
"""Those beside the storage, with their widths, so that a row fits 80 columns; one that begins with
< is aligned to the left.
"""


class RungRows:
    """The rows; their widths are fixed before the rungs are known. Notes stand elsewhere."""

    def __init__(self, storages: Iterable[str], columns: int) -> None:
        rest = sum(width + 2 for _, width in _RUNG_COLUMNS)
        self._storage_width = min(
            max(map(cell_len, ("storage", *storages))), max(len("storage"), columns - rest)
        )
        self._headed = False

    def row(self, line: RungLine) -> Iterator[Text]:
        """The rung's row; above the first of all, the heading.

        A terminal that is too narrow wraps it and drops nothing.
        """
        if not self._headed:
            self._headed = True
            yield Text(
                self._aligned("storage", [name.lstrip("<") for name, _ in _RUNG_COLUMNS]),
                style="bold",
            )
        yield Text(
            self._aligned(
                line.name,
                [
                    line.called.removeprefix("load "),
                    str(line.users),
                    line.throughput,
                    *times_of(line),
                ],
            )
        )

    def _aligned(self, storage: str, cells: Sequence[str]) -> str:
        """A storage's name that is too long has a line of its own."""
        width = self._storage_width
        first = (
            set_cell_size(storage, width)
            if cell_len(storage) <= width
            else f"{storage}\n{' ' * width}"
        )
        aligned = (
            cell.ljust(width) if name.startswith("<") else cell.rjust(width)
            for cell, (name, width) in zip(cells, _RUNG_COLUMNS, strict=True)
        )
        return "  ".join([first, *aligned])
