"""The course of the rounds: whether a storage did more or less from round to round.

A ratio over rounds in which a storage became half as fast has a wide interval that no further round
narrows: the course is the finding. A line through ln NOPM over time is judged by the 99% interval
of its change from the first round to the last; of noise that lasts longer than a round as many
rounds count as its autocorrelation leaves (rounds.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from math import exp, log, sqrt
from statistics import correlation, fmean, linear_regression
from typing import NamedTuple

from kneebench.analysis.comparison import called
from kneebench.analysis.estimate import student_t
from kneebench.analysis.final_estimates import short
from kneebench.analysis.knee import quoted_rungs
from kneebench.analysis.rounds import independent_rounds
from kneebench.analysis.wording import capital, listed, percent
from kneebench.records import Climb, Results, Rung
from kneebench.units import significant, time

FEWEST = 8
"""Rounds that show a course."""
MOVED = 0.2
"""A smaller change is no finding. A database grows and ages in its rounds."""
LEVEL = 0.995
LOG_WRITE, CPU_PER_TRANSACTION = "log.write_latency", "load_generator.cpu_per_transaction"
WRITES_MOVED = 1.3
"""The same of the mean log write in the last third of the rounds, over that in the first."""


class Course(NamedTuple):
    """NOPM in the first and the last round, by the line, and its log writes' mean latency in the
    first and the last third of the rounds, where that moved the other way.
    """

    climb: Climb
    first: float
    last: float
    log_writes_s: tuple[float, float] | None

    @property
    def words(self) -> str:
        """What the storage did."""
        change = self.last / self.first - 1
        moved = f"{percent(abs(change))} {'more' if change > 0 else 'less'} NOPM"
        ends = f"{significant(self.first)} to {significant(self.last)}"
        writes = " to ".join(map(time, self.log_writes_s or ()))
        return f"{moved} ({ends}{f'; a log write {writes}' if writes else ''})"


def minutes(rungs: Sequence[Rung]) -> list[float]:
    """When each began, from the first on."""
    began = [datetime.fromisoformat(rung.started_at).timestamp() for rung in rungs]
    return [(at - min(began)) / 60 for at in began]


def rounds_in_order(climb: Climb) -> list[Rung]:
    """The valid short rounds at the knee; empty with long runs."""
    rungs = [rung for rung in quoted_rungs(climb) if rung.tally.nopm > 0]
    return sorted(rungs, key=lambda rung: rung.started_at) if short(rungs) else []


def cpu_speeds(rungs: Sequence[Rung]) -> list[float]:
    """The speed of the machine's CPU in each window, with a mean of 1, by the load generator's CPU
    time per transaction, whose work is always the same; empty where it was not measured.

    A faster storage changes that time, too: the speeds of two configurations are not compared.
    """
    used_s = [used for rung in rungs if (used := rung.quantity(CPU_PER_TRANSACTION))]
    return [fmean(used_s) / one for one in used_s] if len(used_s) == len(rungs) else []


def speed_correlation(rungs: Sequence[Rung]) -> float | None:
    """How far NOPM went with the speed of the CPU: the correlation of their logarithms; None where
    that is unknown.
    """
    speeds = [log(one) for one in cpu_speeds(rungs)]
    logs = [log(rung.tally.nopm) for rung in rungs]
    known = len(speeds) >= FEWEST and min(speeds) < max(speeds) and min(logs) < max(logs)
    return correlation(speeds, logs) if known else None


def course(climb: Climb) -> Course | None:
    """How a configuration moved over its rounds; None where that is within the noise or small."""
    rungs = rounds_in_order(climb)
    if len(rungs) < FEWEST:
        return None
    at, logs = minutes(rungs), [log(rung.tally.nopm) for rung in rungs]
    if not max(at):
        return None
    slope, level = linear_regression(at, logs)
    off = [one - level - slope * x for x, one in zip(at, logs, strict=True)]
    n = independent_rounds(off) if any(off) else len(off)
    middle = fmean(at)
    spread = sqrt(sum((x - middle) ** 2 for x in at) * n / len(at))
    scatter = sqrt(sum(one * one for one in off) / (len(off) - 2))
    change = slope * max(at)
    half = student_t(max(n - 2, 1.0), LEVEL) * scatter / spread * max(at)
    if abs(exp(change) - 1) < MOVED or abs(change) <= half:
        return None
    return Course(climb, exp(level), exp(level + change), _log_writes(rungs, change))


def _log_writes(rungs: Sequence[Rung], change: float) -> tuple[float, float] | None:
    third = len(rungs) // 3
    means = [
        fmean(found) if (found := [s for rung in some if (s := rung.quantity(LOG_WRITE))]) else 0.0
        for some in (rungs[:third], rungs[-third:])
    ]
    if not all(means):
        return None
    times = means[1] / means[0]
    moved = times > WRITES_MOVED if change < 0 else times < 1 / WRITES_MOVED
    return (means[0], means[1]) if moved else None


def course_caveats(results: Results) -> tuple[str, ...]:
    """The storages that moved over the rounds, in one sentence; none with long runs."""
    found = [one for climb in results.climbs if (one := course(climb))]
    if not found:
        return ()
    each = listed([f"{called(one.climb)} had {one.words}" for one in found])
    measured = [climb for climb in results.climbs if rounds_in_order(climb)]
    same = len({one.last > one.first for one in found}) == 1
    if len(measured) > 1 and len(found) == len(measured) and same:
        why = "All configurations moved the same way, so it was more likely the machine"
    elif len(measured) > 1 and not same:
        why = "They moved in opposite directions, and no further round makes a ratio more precise"
    elif len(measured) > 1:
        why = "Not all configurations did, and no further round makes their ratio more precise"
    else:
        why = "No further round makes it more precise"
    return (f"{capital(each)} in the last round than in the first. {why}",)
