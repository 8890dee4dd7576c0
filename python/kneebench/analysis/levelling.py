"""Where a sweep levels off: the smallest configuration whose throughput is within 5% of the best,
and what more of the resource buys below it.

Runs scatter, so the answer has a confidence. The logarithm of a run's NOPM is the sum of its
configuration, its repeat (if the runs were interleaved) and noise. The noise is pooled over all
configurations: three runs of one configuration say little of it. Configurations are drawn around
their means with that noise, Student's t for its degrees of freedom, and with what equal storages
differ by on this machine, if A/A pairs were measured. The confidence of a configuration is the
share of draws in which it is the smallest one within 5%. Below 90% the answer is "cannot say", with
the range of configurations that are possible. Rounds of one restore count as one run, as they are
alike.

A configuration that was still warming would have done more. So its draw is a lower bound, and a
configuration is named in a draw only if it is the smallest within 5% of the best wherever that
configuration really is: from its draw up to the next larger configuration that was steady. Without
a larger steady one there is no upper bound. The answer then has an open end: more pays beyond the
largest steady configuration, or it stops paying at some configuration or above.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import log, log1p
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from kneebench.analysis.comparison import machine_floor
from kneebench.analysis.estimate import RESAMPLES, SEED
from kneebench.analysis.final_estimates import by_restore, short
from kneebench.analysis.knee import quoted_rungs
from kneebench.analysis.rounds import unit_rounds
from kneebench.analysis.sweep import (
    COUNTED,
    Sweep,
    SweptConfiguration,
    ratio_between,
    took_turns,
    value_of,
)
from kneebench.records import Climb, Estimate

if TYPE_CHECKING:
    import numpy as np

    Draws = np.ndarray[tuple[int, int], np.dtype[np.float64]]
    Places = np.ndarray[tuple[int], np.dtype[np.int64]]

WITHIN = 0.05
"""Of the best: a configuration this close is as good."""
SURE = 0.9
"""Share of draws from which a configuration is named. Of simulated sweeps of six configurations
with three runs, flat, rising or levelling off, with noise of 1% to 30%, warm or some still warming,
at most 5% name a wrong one (tests/sweeps_simulated.py).
"""
POSSIBLE, RANGE_SURE = 0.998, 0.95
"""Share of draws that the range of configurations holds where none is sure, and its confidence: of
the same simulated sweeps at least 95% have the true configuration in their range (0.99 of the
draws: 91%).
"""
Z_975 = 1.96
GIB, LARGE = 2**30, 4 * 2**30
"""From a largest configuration of so many bytes on, a step is given per GiB, else per 128 MiB."""
BEND = 2.0
"""A step of more than this factor from the slope of a line is no part of it."""
Answer = Literal["levels off", "still pays", "pays beyond", "makes no difference", "cannot say"]


class Warming(NamedTuple):
    """A configuration that was still warming, and its NOPM as a ratio to a smaller configuration's:
    a lower bound.
    """

    configuration: SweptConfiguration
    ratio: Estimate | None


class Levelling(NamedTuple):
    """Where a sweep levels off; in words: levelling_words.py.

    `at`: the configuration; the largest one where more still pays, the smallest where it makes no
    difference, the largest steady one where more pays beyond it; None if that cannot be said.
    `between`: the first and last configuration that are possible then (no last one: the end is
    open); None with too few runs. `confidence`: share of the draws that agree; of a range
    RANGE_SURE. `beyond`: of the configurations above `at` that were still warming, the one with the
    most NOPM. `steps`: by configuration, the NOPM that it has more than the next smaller steady one
    for each `unit` of bytes or cores. `line`: the slope of a straight line through the steady ones
    up to `at`; None unless it describes each of these steps.
    """

    sweep: Sweep
    answer: Answer
    at: SweptConfiguration | None = None
    confidence: float = 0.0
    between: tuple[SweptConfiguration, SweptConfiguration | None] | None = None
    beyond: Warming | None = None
    steps: Mapping[str, Estimate] = MappingProxyType({})
    line: Estimate | None = None

    @property
    def unit(self) -> int:
        """The bytes, cores or databases that steps are given for."""
        if self.sweep.resource in COUNTED:
            return 1
        return GIB if self.sweep.values[-1] >= LARGE else GIB // 8


def levelling(sweep: Sweep) -> Levelling:
    """Where a sweep levels off, of the configurations that have a figure."""
    configurations = [one for one in sweep.configurations if one.nopm]
    logs = [_log_runs(one.climb) for one in configurations]
    if len(configurations) < 2 or min(map(len, logs)) < 2:
        return Levelling(sweep, "cannot say")
    drawn = _drawn(configurations, logs)
    steady = [n for n, one in enumerate(configurations) if not one.warming]
    above = steady[-1] + 1 if steady else 0
    first, last = _answers(drawn, steady)
    if above < len(configurations):
        found = _open(sweep, configurations, drawn, first, above)
    else:
        found = _closed(sweep, configurations, first, last)
    return _with_steps(found, configurations, drawn)


def _closed(
    sweep: Sweep,
    configurations: Sequence[SweptConfiguration],
    first: Places,
    last: Places,
) -> Levelling:
    """The answer where the largest configuration was steady."""
    ends = range(len(configurations))
    shares = [_share((first == n) & (last == n)) for n in ends]
    at = max(ends, key=shares.__getitem__)
    if shares[at] < SURE:
        held = {(a, b): _share((first >= a) & (last <= b)) for a in ends for b in ends[a:]}
        a, b = min((run for run in held if held[run] >= POSSIBLE), key=lambda run: run[1] - run[0])
        between = (configurations[a], configurations[b])
        return Levelling(sweep, "cannot say", confidence=RANGE_SURE, between=between)
    answer: Answer = "levels off" if at else "makes no difference"
    if at == len(configurations) - 1:
        answer = "still pays"
    return Levelling(sweep, answer, configurations[at], shares[at])


def _open(
    sweep: Sweep,
    configurations: Sequence[SweptConfiguration],
    drawn: Draws,
    first: Places,
    above: int,
) -> Levelling:
    """The answer where the configurations from `above` on were still warming, and none is
    larger.
    """
    share = _share(first >= above)
    if above and share >= SURE:
        at, best = configurations[above - 1], above + int(drawn[:, above:].mean(axis=0).argmax())
        beyond = Warming(configurations[best], ratio_between(configurations[best].climb, at.climb))
        return Levelling(sweep, "pays beyond", at, share, beyond=beyond)
    lowest = max(n for n in range(above + 1) if _share(first >= n) >= POSSIBLE)
    return Levelling(
        sweep, "cannot say", confidence=RANGE_SURE, between=(configurations[lowest], None)
    )


# --- draws ------------------------------------------------------------------------------------


def _log_runs(climb: Climb) -> dict[int, float]:
    """ln NOPM of each final run by repeat; the means of short rounds by restores."""
    rungs = [rung for rung in quoted_rungs(climb) if rung.tally.nopm > 0]
    if not short(rungs):
        return {rung.order.repeat: log(rung.tally.nopm) for rung in rungs}
    restores = by_restore(rungs, lambda rung: log(rung.tally.nopm))
    return dict(enumerate(map(fmean, unit_rounds(restores))))


def _drawn(configurations: Sequence[SweptConfiguration], logs: Sequence[dict[int, float]]) -> Draws:
    """ln NOPM of each configuration (a column) in each draw (a row)."""
    import numpy as np

    shared = set.intersection(*map(set, logs))
    paired = len(shared) > 1 and took_turns([one.climb for one in configurations])
    if paired:
        logs = [{repeat: one[repeat] for repeat in sorted(shared)} for one in logs]
    runs = np.array([len(one) for one in logs])
    means = np.array([fmean(one.values()) for one in logs])
    rng = np.random.default_rng(SEED)
    variance, freedom = _noise(logs, paired=paired)
    each = variance * freedom / rng.chisquare(freedom, (RESAMPLES, 1))
    machine = log1p(machine_floor([one.climb for one in configurations], "nopm")) / Z_975
    scatter = np.sqrt(each / runs + machine**2 / 2)
    drawn: Draws = means + scatter * rng.standard_normal((RESAMPLES, len(configurations)))
    return drawn


def _noise(logs: Sequence[dict[int, float]], *, paired: bool) -> tuple[float, int]:
    """(variance, degrees of freedom) of a run around its configuration's mean, and around its
    repeat's.
    """
    left = [{repeat: x - fmean(one.values()) for repeat, x in one.items()} for one in logs]
    freedom = sum(len(one) - 1 for one in logs)
    if paired:
        repeats = {repeat: fmean(one[repeat] for one in left) for repeat in logs[0]}
        left = [{repeat: x - repeats[repeat] for repeat, x in one.items()} for one in left]
        freedom -= len(repeats) - 1
    return sum(x * x for one in left for x in one.values()) / freedom, freedom


def _answers(drawn: Draws, steady: Sequence[int]) -> tuple[Places, Places]:
    """The first and the last configuration of each draw that may be the smallest one within 5% of
    the best, wherever the configurations really are that were still warming (those not in
    `steady`). The last one is right only if the largest configuration is steady.
    """
    import numpy as np

    limit = drawn.max(axis=1, keepdims=True) + log(1 - WITHIN)
    most = drawn.copy()
    for n in {*range(drawn.shape[1])} - {*steady}:
        larger = next((one for one in steady if one > n), None)
        ceiling = np.inf if larger is None else drawn[:, larger]
        most[:, n] = np.maximum(drawn[:, n], ceiling)
    return np.argmax(most >= limit, axis=1), np.argmax(drawn >= limit, axis=1)


def _share(agree: np.ndarray[Any, np.dtype[np.bool_]]) -> float:
    """Of the draws."""
    return float(agree.mean())


def _with_steps(
    of: Levelling, configurations: Sequence[SweptConfiguration], drawn: Draws
) -> Levelling:
    """The answer with what each step buys, and with one line where that describes all of them."""
    steady = [n for n, one in enumerate(configurations) if not one.warming]
    steps = {
        configurations[n].configuration.id: _slope(of, configurations, drawn, [before, n])
        for before, n in pairwise(steady)
    }
    end = next((n for n in steady if configurations[n] is of.at), -1)
    fitted = [n for n in steady if n <= end]
    line = _slope(of, configurations, drawn, fitted) if len(fitted) > 2 else None
    own = [steps[configurations[n].configuration.id] for n in fitted[1:]]
    return of._replace(steps=steps, line=line if line and _fits(line, own) else None)


def _slope(
    of: Levelling,
    configurations: Sequence[SweptConfiguration],
    drawn: Draws,
    through: Sequence[int],
) -> Estimate:
    """Least squares through NOPM over the resource, in every draw, of some configurations; of two
    the step between them.
    """
    import numpy as np

    some = [configurations[n] for n in through]
    x = np.array([value_of(one.configuration, of.sweep.resource) or 0 for one in some]) / of.unit
    weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    slopes = np.exp(drawn[:, through]) @ weights
    low, high = (float(end) for end in np.percentile(slopes, [2.5, 97.5]))
    found = [nopm for one in some if (nopm := one.nopm)]
    return Estimate(
        value=float(np.array([one.value for one in found]) @ weights),
        low=low,
        high=high,
        n=min(one.n for one in found),
        method=f"least squares over {len(some)} configurations, draws of their means",
    )


def _fits(line: Estimate, steps: Sequence[Estimate]) -> bool:
    """Whether its slope is in the interval of each step, and within BEND of its value."""
    return all(
        line.value in one and 1 / BEND < line.value / (one.value or 1) < BEND for one in steps
    )
