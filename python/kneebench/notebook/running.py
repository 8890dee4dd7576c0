"""Running a campaign from Python, with its progress where people can see it."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from kneebench.analysis.wording import plural
from kneebench.campaign import flow
from kneebench.campaign.machines.machine import DatabaseMachine
from kneebench.campaign.preflight import as_study
from kneebench.notebook.loaded import LoadedResults, loaded
from kneebench.plan import Plan
from kneebench.plan.duration import Expected
from kneebench.plan.study import Study
from kneebench.records import Event, Watch, WholeDrive, unwatched
from kneebench.screen.progress import Progress, message_of
from kneebench.screen.watching import watching
from kneebench.units import count, rough_time
from kneebench.visible import visible


def run(
    plan: Plan | str | Path,
    folder: str | Path | None = None,
    *,
    watch: Watch = unwatched,
    fresh: bool = False,
    progress: bool | None = None,
    erase: Sequence[WholeDrive] = (),
    reliefs: Sequence[str] | None = None,
) -> LoadedResults:
    """Measure a whole campaign, by a plan or the path of its file, and give its results.

    `folder` holds campaigns, `kneebench-results` unless it is given; an unfinished one of the same
    plan, image and kneebench is resumed unless `fresh`. `watch` receives each event. `progress`:
    shown in one line of a notebook, or on stderr as the command line shows it; unless given, only
    in a notebook. `erase`: drives agreed to be erased. `reliefs`: what to relieve at each knee to
    prove what limits it, none for what looks short; None for what the plan's `prove` says.

    Raises PlanError or Refused before any change; InvalidMeasurement for a lost database. Whatever
    ends it, the machine is put back; what was measured stays.

    >>> from kneebench import preset, run
    >>> results = run(preset("simulated"), folder="kneebench-results")
    >>> results.finished, results.campaign.simulated
    (True, True)
    """
    study = as_study(plan)
    shown = in_notebook() if progress is None else progress
    with flow.machine_of(study) as machine, _shown(machine, study, wanted=shown) as screen:
        asked = flow.RunOptions(folder, fresh, erase=erase, reliefs=reliefs)
        return loaded(flow.run(machine, study, asked, _to_both(watch, screen)))


@contextlib.contextmanager
def _shown(machine: DatabaseMachine, study: Study, *, wanted: bool) -> Iterator[Watch]:
    """A watcher that shows progress, or nothing where it is not wanted."""
    if not wanted:
        yield unwatched
        return
    expected = machine.expected_duration(study)
    with progress_line(study, expected) if in_notebook() else watching(study, expected) as watch:
        yield watch


def _to_both(one: Watch, other: Watch) -> Watch:
    def watch(event: Event) -> None:
        one(event)
        other(event)

    return watch


# Progress in a notebook: one line, which is updated in place.

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
        self.show(f"{plural(len(self._progress.lines), 'rung')} measured")


@contextmanager
def progress_line(study: Study, expected: Expected) -> Iterator[Watch]:
    """A watcher that shows what is under way in one line of a notebook."""
    line = _Line(Progress(study.configurations, study.ladder, expected))
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
