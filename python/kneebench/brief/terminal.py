"""Sections in a terminal: no line is cut, and no table is wider than there is room."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table as Drawn
from rich.text import Text

from kneebench.brief.rendering import Page
from kneebench.brief.section import Row, Section, Table, Tone

STYLES: dict[Tone, str] = {
    "plain": "",
    "strong": "bold",
    "light": "dim",
    "good": "green",
    "doubt": "yellow",
    "alarm": "red",
}
SAID = {"alarm": "red", "note": "yellow", "plain": ""}
"""Colours of sentences, by the tone of their section."""
CAVEAT = "CAVEAT  "
GAP = 2
"""Blanks between columns."""
SHORT, LONG, HEAD = 10, 60, 24
"""Cells up to `SHORT` are not broken, and no word up to `LONG`. Columns that name the rows are at
least `HEAD` wide, if they can, where a table is in parts."""


def told(page: Page) -> Iterator[RenderableType]:
    """What a page says, without its charts."""
    yield Text(page.title, style=f"bold {STYLES[page.tone]}".strip())
    yield Text(page.subtitle)
    yield from parts(page.told)
    if page.derived:
        yield Text(f"\n{page.derived}", style="dim")


def parts(sections: Iterable[Section | None]) -> Iterator[RenderableType]:
    """Sections one below the other; caveats (the tone "note") have no heading."""
    for one in sections:
        if one is None:
            continue
        if one.title and one.tone != "note":
            yield Text(f"\n{one.title}", style=f"bold {SAID[one.tone]}".strip())
        for number in one.numbers:
            yield Text(f"{number.value}  {number.says}{f' ({number.sure})' if number.sure else ''}")
        mark = CAVEAT if one.tone == "note" else ""
        yield from (Text(f"{mark}{sentence}", style=SAID[one.tone]) for sentence in one.sentences)
        for table in one.tables:
            yield Text()
            yield Fitted(table)


class Fitted:
    """A table as wide as its cells are, where there is room; else its widest columns are broken
    into lines; else it is in parts one below the other, each with the columns that name the rows.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        columns = [
            (column.number, [column.title, *(row.cells[place] for row in table.rows)])
            for place, column in enumerate(table.columns)
        ]
        self._most = [max(map(_longest_line, cells)) for _, cells in columns]
        self._least = [
            max(_narrowest(cell, number=number) for cell in cells) for number, cells in columns
        ]

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        for number, places in enumerate(self._parts(options.max_width)):
            if number:
                yield Text()
            yield self._drawn(places, options.max_width)
        if self.table.caption:
            yield Text(self.table.caption, style="dim")
        for number, note in enumerate(self.table.notes, start=1):
            yield Text(f"{number}. {note}", style="dim")

    @property
    def width(self) -> int:
        """As wide as it is where there is room."""
        return _whole(self._most)

    def _parts(self, room: int) -> Iterator[list[int]]:
        """The places of the columns of each part."""
        least = dict(enumerate(self._least))
        if _whole([*least.values()]) <= room:
            yield [*least]
            return
        names = self._names
        least |= {place: max(least[place], min(HEAD, self._most[place])) for place in names}
        part = [*names]
        for place in range(len(names), len(least)):
            wide = _whole([least[one] for one in (*part, place)])
            if wide > room and len(part) > len(names):
                yield part
                part = [*names]
            part.append(place)
        yield part

    @property
    def _names(self) -> list[int]:
        """The places of the columns that name the rows: all texts before the first number; one
        where there is no number.
        """
        texts = len([*takewhile(lambda one: not one.number, self.table.columns)])
        return [*range(texts if 0 < texts < len(self.table.columns) else 1)]

    def _drawn(self, places: Sequence[int], room: int) -> Drawn:
        drawn = Drawn(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
        drawn.show_header = any(self.table.columns[place].title for place in places)
        widths = _shrunk(
            [self._most[one] for one in places], [self._least[one] for one in places], room
        )
        for place, width in zip(places, widths, strict=True):
            column = self.table.columns[place]
            drawn.add_column(
                Text(column.title),
                width=width,
                justify="right" if column.number else "left",
                overflow="fold",
            )
        for row in self.table.rows:
            drawn.add_row(*_styled(row, places))
        return drawn


def _styled(row: Row, places: Sequence[int]) -> Iterator[Text]:
    """The cells of a row; those of an answer in its colour at the beginning of the row only."""
    whole = STYLES[row.tone] if row.tone in ("strong", "light") else ""
    for place in places:
        yield Text(row.cells[place], style=whole if place or whole else STYLES[row.tone])


def _whole(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _shrunk(most: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Widths that fit: the widest gives first, none more than it can.

    >>> _shrunk([10, 30, 20], [10, 5, 5], 50)
    [10, 18, 18]
    """
    widths = [*most]
    while _whole(widths) > room:
        can = [place for place, width in enumerate(widths) if width > least[place]]
        if not can:
            break
        widths[max(can, key=widths.__getitem__)] -= 1
    return widths


def _longest_line(cell: str) -> int:
    return max(map(cell_len, cell.splitlines()), default=0)


def _narrowest(cell: str, *, number: bool) -> int:
    """How narrow a cell can be: no word is broken, and each line of a number only once."""
    if (whole := _longest_line(cell)) <= SHORT:
        return whole
    lines = [line.split(" ") for line in cell.splitlines()]
    if number:
        return max(map(_in_two, lines))
    return max(SHORT, min(LONG, max(cell_len(word) for words in lines for word in words)))


def _in_two(words: Sequence[str]) -> int:
    """As wide as words are on two lines.

    >>> _in_two("0.98x (0.97x to 0.99x, n=3)".split())
    14
    """
    ends = range(1, len(words) + 1)
    return min(
        max(cell_len(" ".join(words[:end])), cell_len(" ".join(words[end:]))) for end in ends
    )
