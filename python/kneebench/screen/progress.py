"""How far a campaign is: what a watcher has heard, kept as plain state for whatever shows it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kneebench.analysis.quoted_load import REPEATED
from kneebench.analysis.wording import named, plural
from kneebench.plan.duration import Expected
from kneebench.plan.ladder import Ladder
from kneebench.records import (
    Configuration,
    Event,
    LiveSecond,
    Order,
    Phase,
    Rung,
    StopResult,
    configuration_name,
)
from kneebench.units import NOTHING, count


class RungLine(NamedTuple):
    """One rung as the table of rungs shows it; None where it was not measured.

    `p999_certain`: at least 100 samples lie beyond it. `took_s`: of queries; `query`: which.
    """

    storage: str
    phase: Phase
    users: int
    nopm: float
    mean_s: float | None
    p999_s: float | None
    log_write_s: float | None
    note: str
    p999_certain: bool = True
    constraint: str = ""
    database: str = ""
    invalid: bool = False
    level: str = ""
    took_s: float | None = None
    query: str = ""

    @property
    def called(self) -> str:
        """Its phase; of a load level also which; a query by its number."""
        return self.query or f"{named(self.phase)}{self.level}"

    @property
    def throughput(self) -> str:
        """NOPM for people; a dash for queries."""
        return NOTHING if self.took_s is not None else count(self.nopm)

    @property
    def name(self) -> str:
        """The configuration as people read it."""
        return configuration_name(self.storage, self.constraint, self.database)


def rung_line(rung: Rung, configurations: Mapping[str, Configuration]) -> RungLine:
    """A rung's line; `configurations` by id."""
    configuration = configurations.get(rung.order.configuration) or Configuration(
        id="", storage=rung.order.configuration
    )
    latency = rung.tally.latency
    took_s = rung.tally.window_s if rung.queries else None
    failed = [check.name for check in rung.checks if not check.passed]
    notes = [
        f"invalid: {rung.invalid}" if rung.invalid else "",
        f"failed: {', '.join(failed)}" if failed else "",
        "" if rung.steady else "not steady",
    ]
    return RungLine(
        storage=configuration.storage,
        constraint=configuration.constraint,
        database=configuration.database,
        phase=rung.order.phase,
        users=rung.users,
        nopm=rung.tally.nopm,
        mean_s=latency.mean_s if latency else took_s,
        p999_s=latency.p999_s if latency else None,
        log_write_s=rung.quantity("log.write_latency"),
        note="; ".join(note for note in notes if note),
        invalid=bool(rung.invalid),
        p999_certain=latency is None or latency.p999_is_certain,
        level=rung.order.nth if rung.order.phase == "load_level" else "",
        took_s=took_s,
        query=rung.order.of_query or (_streams(rung) if rung.queries else ""),
    )


def _streams(rung: Rung) -> str:
    return f"{named(rung.order.phase)}, {plural(rung.users, 'stream')}"


def rate(event: Event) -> str:
    """The speed of a step that reports one (loading); empty for any other.

    >>> rate(Event(kind="progress", doing="loading", data={"warehouses_per_min": 431.8}))
    '432 warehouses/min'
    >>> rate(Event(kind="start", doing="restoring"))
    ''
    """
    found = event.data.get("warehouses_per_min")
    if not isinstance(found, float):
        return ""
    return f"{found:.3g} warehouses/min" if found < 100 else f"{found:,.0f} warehouses/min"


def message_of(event: Event) -> str:
    """A warning, or a stop result that fired or is flagged; empty for every other event.

    >>> message_of(Event(kind="warning", doing="the clock jumped"))
    'warning: the clock jumped'
    >>> message_of(Event(kind="start", doing="restoring"))
    ''
    """
    if event.kind == "stop":
        result = StopResult.model_validate(event.data)
        return f"{event.doing}: {result.sentence}" if result.worth_saying else ""
    return f"warning: {event.doing}" if event.kind == "warning" else ""


class Progress:
    """The state: feed it events, read its fields."""

    def __init__(
        self,
        configurations: Sequence[Configuration],
        ladder: Ladder,
        expected: Expected,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.configurations = {one.id: one for one in configurations}
        self._work = Work([one.name for one in configurations], ladder, expected)
        self._clock, self._began_s = clock, clock()
        self._told_s = 0.0
        self.doing = "starting"
        self.share: float | None = None
        self.step_left_s: float | None = None
        self.rate = ""
        self.rounds = ""
        """How far the rounds are; empty before the first."""
        self.order: Order | None = None
        """What is measured now, or was last."""
        self.second: LiveSecond | None = None
        """The latest second of the rung under way; None between rungs."""
        self.lines: list[RungLine] = []
        self.climbed: dict[str, int] = {}
        """Rungs of each climb so far, by the configuration's id, in the order begun."""

    def receive(self, event: Event) -> None:
        if event.kind in ("start", "progress", "end"):
            self.doing = event.doing
            self.share = 1.0 if event.kind == "end" else event.share
            self.step_left_s = event.left_s
            self.rate = rate(event)
            self._take_second(event)
        elif event.kind == "rung":
            rung = Rung.model_validate(event.data["rung"])
            self._take_rung(rung, kept=bool(event.data.get("kept")))
        elif event.kind == "round":
            self.rounds = event.doing
            if isinstance(left := event.data.get("rounds_left"), list | tuple):
                self._work.end_round(RoundsLeft(*left))
        elif event.kind == "stop":
            self._work.end_climb(event.doing)

    def _take_rung(self, rung: Rung, *, kept: bool) -> None:
        self.lines.append(rung_line(rung, self.configurations))
        self._count(self.lines[-1], kept=kept)
        self.order, self.second = rung.order, None
        if self._climbs(rung.order):
            id = rung.order.configuration
            self.climbed[id] = self.climbed.get(id, 0) + 1

    def _take_second(self, event: Event) -> None:
        self.second = None
        if (order := event.data.get("order")) and (second := event.data.get("second")):
            self.order = Order.model_validate(order)
            self.second = LiveSecond.model_validate(second)
            if self._climbs(self.order):
                self.climbed.setdefault(self.order.configuration, 0)

    def _climbs(self, order: Order) -> bool:
        """Whether it is part of a climb, and no try before the first one."""
        climbs = order.phase not in REPEATED and not order.restore and not order.query
        return climbs and order.configuration in self.configurations

    @property
    def position(self) -> str:
        """Where the campaign is: which configuration and rung of the climbs, or which final run;
        empty before the first rung.
        """
        if self.order is None or self.order.configuration not in self.configurations:
            return ""
        if self.order.phase == "load_level":
            return f"load level{self.order.nth}"
        if self.order.query:
            return self.rounds or f"pass {self.order.repeat}"
        if not self._climbs(self.order):
            runs = sum(line.phase in REPEATED for line in self.lines) + bool(self.second)
            number = max(1, runs)
            most = max(self._work.final_runs, number)
            return self.rounds or f"final run {number} of about {most}"
        id = self.order.configuration
        number, rung = [*self.climbed, id].index(id) + 1, self.climbed.get(id, 0)
        rung += bool(self.second)
        return (
            f"configuration {number} of {len(self.configurations)},"
            f" rung {rung} of about {max(self._work.climb_rungs, rung)}"
        )

    @property
    def names(self) -> Sequence[str]:
        """The configurations as people read them."""
        return [configuration.name for configuration in self.configurations.values()]

    @property
    def first_doubt(self) -> bool:
        """True where the newest rung is the first whose percentile is uncertain: there the mark is
        explained.
        """
        return (
            not self.lines[-1].p999_certain
            and [line.p999_certain for line in self.lines].count(False) == 1
        )

    @property
    def elapsed_s(self) -> float:
        """Since the campaign was started."""
        return self._clock() - self._began_s

    @property
    def left(self) -> TimeLeft:
        """Of the whole campaign: what was expected of the work still to do, at the pace of the
        rungs measured so far.
        """
        return self._work.left(self.elapsed_s - self._told_s, self.step_left_s or 0.0)

    def _count(self, line: RungLine, *, kept: bool) -> None:
        """A rung is done: it sets the pace, unless it was kept, or the first (which the loading may
        have gone before).
        """
        first, took_s = len(self.lines) == 1, self.elapsed_s - self._told_s
        self._work.rung(line.name, line.phase, None if kept or first else took_s)
        self._told_s = self.elapsed_s


# How long a campaign still takes: what was expected of the work still to do, at the pace of what
# was measured so far.

OF_QUERIES = ("query", "warm_query")
_FORESEEN = 0.1
"""As much of the whole as counts for the expected pace: the first rungs change it little by little,
so that the time left does not jump with each."""
_AT_FIRST, _LATER = 0.6, 0.2
"""How far off the pace may be before anything was measured, and what stays."""


class TimeLeft(NamedTuple):
    """Seconds until the end: about `s`, and between `low_s` and `high_s` with what is not known yet
    (the pace, and how many rounds are needed).
    """

    s: float
    low_s: float
    high_s: float


class RoundsLeft(NamedTuple):
    """Rounds still to come: at the least, probably, at the most."""

    least: float
    likely: float
    most: float


class Work:
    """What was expected of a campaign, and how much of it is done: loading, each configuration's
    climb with its drives before it, the final runs' rungs.
    """

    def __init__(self, names: Sequence[str], ladder: Ladder, expected: Expected) -> None:
        self._load_s, self._climb_s = expected.load_s, expected.climbs_s / len(names)
        self.climb_rungs = expected.climb_rungs
        self._climb_rung_s = self._climb_s / self.climb_rungs
        runs = expected.final_runs or ladder.final_rungs * len(names)
        self.final_runs = round(runs)
        """Final runs, at the least, those at the fixed rate included."""
        self._report_rung_s = expected.final_runs_s / max(1.0, runs)
        self._levels_s = len(ladder.levels) * len(names) * self._report_rung_s
        """Of the final runs, what follows the last round."""
        with_drives_s = self._climb_s + expected.drives_s / len(names)
        self._climbs_left_s = dict.fromkeys(names, with_drives_s)
        self._report_left_s = expected.final_runs_s
        self._round_s, self._fewer, self._more = 0.0, 0.0, 0.0
        """What a round takes; rounds that may be saved, or needed beyond those expected."""
        if ladder.rounds == "short":
            fewest, most = ladder.fewest_rounds, ladder.most_repeats
            self._round_s = (expected.final_runs_s - self._levels_s) / max(1, fewest)
            self.end_round(RoundsLeft(fewest, (fewest + most) / 2, most))
        self._done_s, self._took_s = 0.0, 0.0
        self._foreseen_s = _FORESEEN * expected.total_s

    @property
    def _left_s(self) -> float:
        """As long as what is still to do was expected to take."""
        return self._load_s + sum(self._climbs_left_s.values()) + self._report_left_s

    def left(self, since_s: float, step_left_s: float) -> TimeLeft:
        """The time left, so long after the last rung ended; never below what the step under way
        still takes.
        """
        known_s = self._foreseen_s + self._done_s
        pace = (self._foreseen_s + self._took_s) / known_s if known_s else 1.0
        off = _LATER + _AT_FIRST * (self._foreseen_s / known_s if known_s else 1.0)
        least_s = self._left_s - self._fewer * self._round_s
        most_s = self._left_s + self._more * self._round_s
        return TimeLeft(
            *(
                max(one * pace - since_s, step_left_s)
                for one in (self._left_s, least_s * (1 - off), most_s * (1 + off))
            )
        )

    def rung(self, configuration: str, phase: str, took_s: float | None) -> None:
        """Count a rung as done. What it took sets the pace; None for one that says nothing of it.

        The last part of a climb is left until its stop results are known.
        """
        self._load_s = 0.0
        if phase in (*REPEATED, *OF_QUERIES):
            self._report_left_s = max(0.0, self._report_left_s - self._report_rung_s)
            expected_s = self._report_rung_s
        else:
            expected_s = self._climb_rung_s
            if left_s := self._climbs_left_s.get(configuration, 0.0):
                rest_s = min(left_s, self._climb_s) - expected_s
                self._climbs_left_s[configuration] = max(expected_s, rest_s)
        if took_s is not None:
            self._done_s += expected_s
            self._took_s += took_s

    def end_climb(self, configuration: str) -> None:
        """Count a whole climb as done."""
        self._climbs_left_s[configuration] = 0.0

    def end_round(self, rounds: RoundsLeft) -> None:
        """Count a round as done, when it is known how many are left."""
        self._report_left_s = rounds.likely * self._round_s + self._levels_s
        self._fewer, self._more = rounds.likely - rounds.least, rounds.most - rounds.likely
