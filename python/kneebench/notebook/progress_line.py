"""Progress in a notebook: one line, which is updated in place."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import Any

from kneebench.analysis.wording import plural
from kneebench.plan import Plan
from kneebench.plan.duration import Expected
from kneebench.plan.resolve import campaign_plan
from kneebench.records import Event, Watch
from kneebench.screen.progress import Progress, message_of
from kneebench.units import count, rough_time
from kneebench.visible import visible

_EVERY_S = 0.5
"""The line is updated no more often than this: each update is a message to the browser."""


class _Line:
    """The line: warnings are kept above it, and flagged stop conditions too."""

    def __init__(self, progress: Progress) -> None:
        ipython: Any = import_module("IPython.display")
        self._progress, self._html = progress, ipython.HTML
        self._kept: list[str] = []
        self._shown_s = time.monotonic()
        self._handle = ipython.display(ipython.HTML(""), display_id=True)

    def receive(self, event: Event) -> None:
        """Take in what happened; show it, unless that was done just before."""
        self._progress.receive(event)
        if message := message_of(event):
            self._kept.append(message)
        if time.monotonic() - self._shown_s >= _EVERY_S:
            self._shown_s = time.monotonic()
            self.show(" · ".join(filter(None, _parts(self._progress))))

    def show(self, text: str) -> None:
        """Show a text in place of the one before."""
        lines = (escape(visible(one)) for one in (*self._kept, text) if one)
        self._handle.update(self._html("<br>".join(lines)))

    def end(self) -> None:
        """Leave what was measured."""
        self.show(f"{plural(len(self._progress.lines), 'rung')} measured")


@contextmanager
def progress_line(plan: Plan, expected: Expected) -> Iterator[Watch]:
    """A watcher that shows what is under way in one line of a notebook."""
    line = _Line(Progress(campaign_plan(plan), expected))
    try:
        yield line.receive
    finally:
        line.end()


def in_notebook() -> bool:
    """Whether this runs in a cell of a notebook: IPython is there, and has a kernel."""
    ipython: Any = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None


def _parts(progress: Progress) -> Iterator[str]:
    yield progress.doing
    yield progress.position
    yield f"{count(progress.second.nopm)} NOPM now" if progress.second else ""
    left = progress.left
    yield f"about {rough_time(left.s)} remaining" if left.s > 0 else ""
