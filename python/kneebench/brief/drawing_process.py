"""Figures drawn by a process of their own, while the page they stand in is still being made.

vl-convert keeps Python's lock while it draws, so that a thread would gain nothing. Its JavaScript
engine takes half a second to start and as much memory as all the rest of a brief.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from html import escape

from kneebench.brief import drawing
from kneebench.brief.drawing import PROGRAM
from kneebench.brief.section import Figure


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


def _started() -> subprocess.Popen[bytes] | None:
    """None where no process can be started. It has its own session: keys of the terminal are ours
    to answer.
    """
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
