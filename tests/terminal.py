"""What Rich draws, as text."""

from __future__ import annotations

from io import StringIO

from rich.console import Console, RenderableType


def drawn(*parts: RenderableType, width: int = 160) -> str:
    """The parts as a terminal of so many columns shows them, without colours."""
    console = Console(width=width, file=StringIO())
    for part in parts:
        console.print(part)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()
