"""Watchers: a live table in a terminal, plain lines elsewhere, JSON lines for programs.

Progress goes to stderr, JSON to stdout.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from kneebench import units
from kneebench.analysis.wording import FEW, FEW_MEANS, number_of_users
from kneebench.plan.duration import Expected
from kneebench.plan.study import Study
from kneebench.records import Event, Rung, Watch
from kneebench.screen.progress import Progress, RungLine, message_of, rung_line
from kneebench.units import rough_time
from kneebench.visible import visible

_PLAIN_EVERY_S = 10.0
"""Plain lines tell of progress no more often than this."""


@contextmanager
def watching(
    study: Study, expected: Expected, *, as_json: bool = False, quiet: bool = False
) -> Iterator[Watch]:
    """The watcher that fits: JSON lines or only warnings where that is wanted, else live where
    stderr is a terminal, else plain lines.
    """
    progress = Progress(study.configurations, study.ladder, expected)
    if as_json:
        yield JsonLines(progress, sys.stdout)
    elif quiet:
        yield print_warning
    elif sys.stderr.isatty():
        from kneebench.screen.live import live

        with live(progress) as watch:
            yield watch
    else:
        yield PlainLines(progress, sys.stderr)


def print_warning(event: Event) -> None:
    """Write a warning to stderr; of other events nothing."""
    if event.kind == "warning":
        sys.stderr.write(visible(f"{message_of(event)}\n"))


class JsonLines:
    """One JSON object a line: an event, with its time; a rung's histogram stays in the results
    folder.
    """

    def __init__(self, progress: Progress, out: TextIO) -> None:
        self._progress, self._out = progress, out

    def __call__(self, event: Event) -> None:
        import json

        self._progress.receive(event)
        if event.kind == "rung":
            rung = Rung.model_validate(event.data["rung"])
            event = event.model_copy(
                update={
                    "data": {
                        "key": rung.order.key,
                        **rung_line(rung, self._progress.configurations)._asdict(),
                    }
                }
            )
        left = self._progress.left
        times = {
            "elapsed_s": round(self._progress.elapsed_s, 3),
            "campaign_left_s": round(left.s, 1),
            "campaign_left_low_s": round(left.low_s, 1),
            "campaign_left_high_s": round(left.high_s, 1),
        }
        self._out.write(
            json.dumps(
                {"at": time.time(), **times, **event.model_dump(mode="json", exclude_none=True)}
            )
            + "\n"
        )
        self._out.flush()


class PlainLines:
    """A line for each thing begun, each rung and each stop result; for progress in between, one
    every ten seconds.
    """

    def __init__(self, progress: Progress, out: TextIO) -> None:
        self._progress, self._out = progress, out
        self._doing, self._told_s = "", 0.0

    def __call__(self, event: Event) -> None:
        """Write a line, or none."""
        self._progress.receive(event)
        text = self._text(event)
        if text:
            self._told_s = self._progress.elapsed_s
            self._out.write(visible(f"{self._stamp()} {text}\n"))
            self._out.flush()

    def _stamp(self) -> str:
        minutes, seconds = divmod(int(self._progress.elapsed_s), 60)
        return f"{minutes:3d}:{seconds:02d}"

    def _text(self, event: Event) -> str:
        if event.kind == "rung":
            return plain(self._progress.lines[-1]) + (
                f"\n       {FEW_MEANS}" if self._progress.first_doubt else ""
            )
        if event.kind in ("stop", "warning"):
            return message_of(event)
        if event.kind == "progress" and self._progress.elapsed_s - self._told_s < _PLAIN_EVERY_S:
            return ""
        if event.kind != "progress" and event.doing == self._doing:
            return ""
        self._doing = event.doing
        share = f" {100 * event.share:.0f}%" if event.share is not None else ""
        pace = f", {self._progress.rate}" if self._progress.rate else ""
        remaining = f", {rough_time(event.left_s)} remaining" if event.left_s else ""
        return f"{event.doing}{share}{pace}{remaining}"


def plain(rung: RungLine) -> str:
    """A rung in one line.

    >>> plain(RungLine("disk", "search", 8, 81234.0, 0.0025, 0.0123, 0.0005, ""))
    'disk: search, 8 users: 81,234 NOPM, mean 2.5 ms, P99.9 12.3 ms, log write 500 µs'
    """
    if rung.took_s is not None:
        note = f" ({rung.note})" if rung.note else ""
        return f"{rung.name}: {rung.called}: {units.time(rung.took_s)}{note}"
    doubt = "" if rung.p999_certain else f" ({FEW})"
    times = [
        ("mean", rung.mean_s, ""),
        ("P99.9", rung.p999_s, doubt),
        ("log write", rung.log_write_s, ""),
    ]
    latencies = "".join(
        f", {name} {units.time(value)}{mark}" for name, value, mark in times if value is not None
    )
    return (
        f"{rung.name}: {rung.called}, {number_of_users(rung.users)}:"
        f" {units.count(rung.nopm)} NOPM{latencies}" + (f" ({rung.note})" if rung.note else "")
    )
