"""What Rich draws, as text; and a terminal of so many rows and columns, with what scrolled off
it.
"""

from __future__ import annotations

import re
from io import StringIO

from rich.console import Console, RenderableType

_PIECE = re.compile(r"\x1b\[(\??\d*(?:;\d+)*)([A-Za-z])|[\s\S]")
_DRAWN_OVER = ("m", "h", "l")
"""Colours, and the cursor shown or hidden."""


def drawn(*parts: RenderableType, width: int = 160) -> str:
    """The parts as a terminal of so many columns shows them, without colours."""
    console = Console(width=width, file=StringIO())
    for part in parts:
        console.print(part)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


class Terminal(StringIO):
    """A terminal to write to: wraps, scrolls, and knows the few sequences by which a live display
    is drawn again.
    """

    def __init__(self, columns: int, rows: int) -> None:
        super().__init__()
        self.columns, self.rows = columns, rows
        self.scrolled: list[str] = []
        self._screen = [""]
        self._row, self._column = 0, 0

    @property
    def screen(self) -> list[str]:
        """The lines that can be seen now."""
        return [line.rstrip() for line in self._screen]

    @property
    def whole(self) -> str:
        """All that was ever shown and not drawn over, as one scrolls back to it."""
        return "\n".join([*self.scrolled, *self.screen])

    def console(self) -> Console:
        """A console that draws into it."""
        return Console(
            file=self, width=self.columns, height=self.rows, force_terminal=True, _environ={}
        )

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        for piece in _PIECE.finditer(text):
            if piece[2]:
                self._obey(piece[2], piece[1])
            elif piece[0] == "\n":
                self._next_line()
            elif piece[0] == "\r":
                self._column = 0
            else:
                self._put(piece[0])
        return len(text)

    def _put(self, character: str) -> None:
        assert character >= " ", (
            f"a control character that this terminal does not know: {character!r}"
        )
        if self._column == self.columns:
            self._next_line()
        line = self._screen[self._row].ljust(self._column)
        self._screen[self._row] = line[: self._column] + character + line[self._column + 1 :]
        self._column += 1

    def _next_line(self) -> None:
        self._row, self._column = self._row + 1, 0
        if self._row == len(self._screen):
            self._screen.append("")
        if self._row == self.rows:
            self.scrolled.append(self._screen.pop(0).rstrip())
            self._row -= 1

    def _obey(self, command: str, number: str) -> None:
        if command == "A":
            self._row = max(0, self._row - int(number or 1))
        elif command == "K":
            assert number == "2"
            self._screen[self._row] = ""
        else:
            assert command in _DRAWN_OVER, (
                f"a sequence that this terminal does not know: {number}{command}"
            )
