"""How far a campaign is: what a watcher has heard, kept as plain state for whatever shows it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from kneebench.plan import Plan
from kneebench.plan.cells import cells
from kneebench.records import Event, Rung, Verdict


class Line(NamedTuple):
    """One rung as the table of rungs shows it; None where it was not measured."""

    storage: str
    phase: str
    users: int
    nopm: float
    mean_s: float | None
    p999_s: float | None
    log_write_s: float | None
    note: str


def line(rung: Rung, storages: Mapping[str, str]) -> Line:
    """A rung's line; `storages` has the name of each cell's storage."""
    latency = rung.tally.latency
    failed = [check.name for check in rung.checks if not check.passed]
    notes = [f"invalid: {rung.invalid}" if rung.invalid else "", f"failed: {', '.join(failed)}" if failed else "", "" if rung.steady else "not steady"]
    return Line(
        storage=storages.get(rung.order.cell, rung.order.cell),
        phase=rung.order.phase,
        users=rung.users,
        nopm=rung.tally.nopm,
        mean_s=latency.mean_s if latency else None,
        p999_s=latency.p999_s if latency else None,
        log_write_s=rung.quantity("log.write_latency"),
        note="; ".join(note for note in notes if note),
    )


def left(duration_s: float) -> str:
    """A time still to go, no finer than it is known.

    >>> left(0.4), left(59), left(200), left(9000)
    ('1 s', '59 s', '4 min', '2.5 h')
    """
    if duration_s < 100:
        return f"{math.ceil(duration_s)} s"
    return f"{math.ceil(duration_s / 60)} min" if duration_s < 5400 else f"{duration_s / 3600:.1f} h"


class Progress:
    """The state: feed it events, read its fields."""

    def __init__(self, plan: Plan, expected_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.storages = {cell.id: cell.storage for cell in cells(plan)}
        self.expected_s, self._clock, self._began_s = expected_s, clock, clock()
        self.doing, self.share, self.step_left_s = "starting", None, None  # type: tuple[str, float | None, float | None]
        self.lines: list[Line] = []
        self.verdicts: list[str] = []
        self.warnings: list[str] = []

    def hear(self, event: Event) -> None:
        """Take in what happened."""
        if event.kind in ("start", "progress", "end"):
            self.doing, self.share, self.step_left_s = event.doing, 1.0 if event.kind == "end" else event.share, event.left_s
        elif event.kind == "rung":
            self.lines.append(line(Rung.model_validate(event.data["rung"]), self.storages))
        elif event.kind == "verdict":
            verdict = Verdict.model_validate(event.data)
            self.verdicts += [f"{event.doing}: {verdict.sentence}"] if verdict.fired else []
        elif event.kind == "warning":
            self.warnings.append(event.doing)

    @property
    def elapsed_s(self) -> float:
        """Since the campaign was started."""
        return self._clock() - self._began_s

    @property
    def left_s(self) -> float:
        """Of the whole campaign, by what was expected beforehand; never below what the step under way still takes."""
        return max(self.expected_s - self.elapsed_s, self.step_left_s or 0.0)
