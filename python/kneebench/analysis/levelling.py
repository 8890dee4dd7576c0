"""Where a sweep levels off: the smallest cell whose throughput is within 5% of the best, and what
more of the resource buys below it.

Runs scatter, so the answer has a confidence. The logarithm of a run's NOPM is the sum of its cell,
its repeat (if the runs were interleaved) and noise. The noise is pooled over all cells: three runs
of one cell say little of it. Cells are drawn around their means with that noise, Student's t for
its degrees of freedom, and with what equal storages differ by on this machine, if A/A pairs were
measured. The confidence of a cell is the share of draws in which it is the smallest one within 5%.
Below 90% the answer is "cannot say", with the cells that are possible. Rounds of one restore count
as one run, as they are alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, log1p
from statistics import fmean
from typing import TYPE_CHECKING, Literal, NamedTuple

from kneebench.analysis.comparison import machine_floor
from kneebench.analysis.estimate import RESAMPLES, SEED
from kneebench.analysis.final_estimates import by_restore, short
from kneebench.analysis.knee import quoted_rungs
from kneebench.analysis.rounds import unit_rounds
from kneebench.analysis.sweep import (
    Resource,
    Sweep,
    SweepCell,
    took_turns,
    value_of,
)
from kneebench.records import Climb, Estimate

if TYPE_CHECKING:
    import numpy as np

    Draws = np.ndarray[tuple[int, int], np.dtype[np.float64]]

WITHIN = 0.05
"""Of the best: a cell this close is as good."""
SURE = 0.9
"""Share of draws from which a cell is named. Of simulated sweeps of six cells with three runs,
flat, rising or levelling off, with noise of 1% to 30%, at most 5% name a wrong one (0.8: 9%)."""
POSSIBLE = 0.99
"""Of the draws, that the named range of cells holds where none is sure."""
Z_975 = 1.96
GIB, LARGE = 2**30, 4 * 2**30
"""From a largest cell of so many bytes on, a GiB is the step of which the gain is given."""
Answer = Literal["levels off", "still pays", "makes no difference", "cannot say"]


class Gain(NamedTuple):
    """What more of the resource buys below the cell where it stops paying: the slope of NOPM by
    least squares, per `step` of bytes or cores."""

    nopm: Estimate
    step: int


class Levelling(NamedTuple):
    """Where a sweep levels off; in words: levelling_words.py.

    `at`: the cell; the largest one where more still pays, the smallest where it makes no
    difference; None if that cannot be said. `between`: the first and last cell that are possible
    then; None with too few runs. `confidence`: share of the draws that agree.
    """

    sweep: Sweep
    answer: Answer
    at: SweepCell | None = None
    confidence: float = 0.0
    gain: Gain | None = None
    between: tuple[SweepCell, SweepCell] | None = None


def levelling(sweep: Sweep) -> Levelling:
    """Where a sweep levels off, of the cells that can be compared."""
    cells = [one for one in sweep.cells if one.nopm and not one.not_compared]
    logs = [_log_runs(one.climb) for one in cells]
    if len(cells) < 2 or min(map(len, logs)) < 2:
        return Levelling(sweep, "cannot say")
    drawn = _drawn(cells, logs)
    shares = _shares(drawn)
    at = max(range(len(cells)), key=shares.__getitem__)
    if shares[at] < SURE:
        first, last = _possible(shares)
        held = sum(shares[first : last + 1])
        between = (cells[first], cells[last])
        return Levelling(sweep, "cannot say", confidence=held, between=between)
    gain = _gain(sweep.resource, cells[: at + 1], drawn[:, : at + 1]) if at else None
    answer: Answer = "levels off" if at else "makes no difference"
    if at == len(cells) - 1:
        answer = "still pays"
    return Levelling(sweep, answer, cells[at], shares[at], gain)


def _possible(shares: Sequence[float]) -> tuple[int, int]:
    """The shortest run of cells that holds nearly all draws."""
    ends = range(len(shares))
    runs = [(a, b) for a in ends for b in ends[a:] if sum(shares[a : b + 1]) >= POSSIBLE]
    return min(runs, key=lambda run: run[1] - run[0])


# --- draws ------------------------------------------------------------------------------------


def _log_runs(climb: Climb) -> dict[int, float]:
    """ln NOPM of each final run by repeat; the means of short rounds by restores."""
    rungs = [rung for rung in quoted_rungs(climb) if rung.tally.nopm > 0]
    if not short(rungs):
        return {rung.order.repeat: log(rung.tally.nopm) for rung in rungs}
    restores = by_restore(rungs, lambda rung: log(rung.tally.nopm))
    return dict(enumerate(map(fmean, unit_rounds(restores))))


def _drawn(cells: Sequence[SweepCell], logs: Sequence[dict[int, float]]) -> Draws:
    """ln NOPM of each cell (a column) in each draw (a row)."""
    import numpy as np

    shared = set.intersection(*map(set, logs))
    paired = len(shared) > 1 and took_turns([one.climb for one in cells])
    if paired:
        logs = [{repeat: one[repeat] for repeat in sorted(shared)} for one in logs]
    runs = np.array([len(one) for one in logs])
    means = np.array([fmean(one.values()) for one in logs])
    rng = np.random.default_rng(SEED)
    variance, freedom = _noise(logs, paired=paired)
    each = variance * freedom / rng.chisquare(freedom, (RESAMPLES, 1))
    machine = log1p(machine_floor([one.climb for one in cells], "nopm")) / Z_975
    scatter = np.sqrt(each / runs + machine**2 / 2)
    drawn: Draws = means + scatter * rng.standard_normal((RESAMPLES, len(cells)))
    return drawn


def _noise(logs: Sequence[dict[int, float]], *, paired: bool) -> tuple[float, int]:
    """(variance, degrees of freedom) of a run around its cell's mean, and around its repeat's."""
    left = [{repeat: x - fmean(one.values()) for repeat, x in one.items()} for one in logs]
    freedom = sum(len(one) - 1 for one in logs)
    if paired:
        repeats = {repeat: fmean(one[repeat] for one in left) for repeat in logs[0]}
        left = [{repeat: x - repeats[repeat] for repeat, x in one.items()} for one in left]
        freedom -= len(repeats) - 1
    return sum(x * x for one in left for x in one.values()) / freedom, freedom


def _shares(drawn: Draws) -> list[float]:
    """Share of draws in which each cell is the smallest one within 5% of the best."""
    import numpy as np

    near = drawn >= drawn.max(axis=1, keepdims=True) + log(1 - WITHIN)
    first = np.argmax(near, axis=1)
    return [float(share) for share in np.bincount(first, minlength=drawn.shape[1]) / len(drawn)]


def _gain(resource: Resource, cells: Sequence[SweepCell], drawn: Draws) -> Gain:
    """Least squares through NOPM over the resource, in every draw."""
    import numpy as np

    values = [float(value_of(one.cell, resource) or 0) for one in cells]
    step = 1 if resource == "cores" else GIB if values[-1] >= LARGE else GIB // 8
    x = np.array(values) / step
    weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    slopes = np.exp(drawn) @ weights
    low, high = (float(end) for end in np.percentile(slopes, [2.5, 97.5]))
    found = [one.nopm.value for one in cells if one.nopm]
    return Gain(
        Estimate(
            value=float(np.array(found) @ weights),
            low=low,
            high=high,
            n=min(one.nopm.n for one in cells if one.nopm),
            method=f"least squares over {len(cells)} configurations, draws of their means",
        ),
        step,
    )
