"""Whatever rich draws, without the control characters that texts from outside may hold: only rich's own reach the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from kneebench.visible import visible


class Filtered:
    """A table or text whose every piece is made visible after it was laid out."""

    def __init__(self, part: RenderableType) -> None:
        self._part = part

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for text, style, control in console.render(self._part, options):
            yield Segment(text if control else visible(text), style, control)
