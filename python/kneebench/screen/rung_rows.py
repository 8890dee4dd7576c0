"""The rungs of a campaign under way, a row each, for a terminal that scrolls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from kneebench import units
from kneebench.analysis.wording import named
from kneebench.screen.progress import RungLine
from kneebench.screen.tables import times_of

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
                [named(line.phase), str(line.users), units.count(line.nopm), *times_of(line)],
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
