"""When a warm-up has done its work: MSER-5 on the New-Orders and on the device reads of each
second.

MSER cuts a series where the standard error of the mean of what remains is least: a start that
differs from the rest widens it, and so does throwing good data away. It is applied to means of (at
most) five values, which tames autocorrelation (White, "An effective truncation heuristic for bias
reduction in simulation output", Simulation 69, 1997; White, Cobb and Spratt, "A comparison of five
steady-state truncation heuristics for simulation", WSC 2000).

Two series, because throughput may look flat while a cache is still filling. Two conditions, because
MSER alone accepts a straight slope: the cut is before the last stretch, and the last stretch does
not drift. The stretch is as long as the window that follows, but no longer than half of what there
is.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import ceil, inf, sqrt
from statistics import fmean, linear_regression, stdev
from typing import NamedTuple

from kneebench.records import Moved

NOPM_DRIFT = 0.02
"""Of the mean, over the last stretch."""
READ_DRIFT = 0.10
"""Device reads scatter more than the orders that cause them: the slope that SNIA's storage test
calls steady (PTS 2.0)."""
READ_TIME = 0.02
"""Of the users' time, spent in device reads: below it, their going away altogether moves the
throughput by less than its own limit."""

SHORTEST = 10
"""Values over which a drift can be seen at all beside a scatter of some percent: a shorter last
stretch is judged with more."""


MOST_ALIKE = 0.6
"""Autocorrelation that is believed of a dozen values: beyond it, it may as well be a drift."""


class Settled(NamedTuple):
    """Whether load has become steady: `cut_s` is where the steady part begins, `why` the reason in
    words.
    """

    cut_s: float
    steady: bool
    why: str


class SeriesTrend(NamedTuple):
    """How far a straight line moves across a series, as a share of its mean, and the standard error
    of that.
    """

    share: float
    error: float


def settled(
    nopm: Sequence[float],
    reads: Sequence[float],
    read_time: Sequence[float] = (),
    *,
    minimum_s: float = 10.0,
    stretch_s: float = inf,
) -> Settled:
    """Judge a warm-up so far by its per-second New-Orders (per minute) and device reads (per
    second).

    `read_time` is the share of the users' time that those reads took: where it is hardly any over
    the last stretch (READ_TIME), their course does not matter. Call it again whenever more seconds
    are there; a window that starts after `steady` starts in the steady part. Too short a series,
    one without New-Orders and one whose series differ in length by more than a second's jitter are
    "not steady" or cut to the shorter. An empty `reads` means that no device was measured.

    >>> filling = [200, 700, 950, 1010, 990, 1000, 1005, 995, 1001, 989, 1004, 1000, 990, 1010]
    >>> settled(filling, []).cut_s
    4.0
    >>> settled([1000.0 + 2 * s + 20 * (s % 3) for s in range(40)], []).why
    'New-Orders drift by +3.2% over the last 20 s (limit 2%)'
    >>> settled([1000.0] * 5, []).why
    '5 s is too short to judge (minimum 10 s)'
    """
    seconds = min(len(nopm), len(reads)) if reads else len(nopm)
    if seconds < minimum_s:
        return Settled(0.0, False, f"{seconds} s is too short to judge (minimum {minimum_s:g} s)")
    orders, last = list(nopm[:seconds]), int(min(seconds - seconds // 2, max(stretch_s, SHORTEST)))
    if fmean(orders[-last:]) <= 0:
        return Settled(0.0, False, f"no New-Orders in the last {last} s")
    cut, why = _judged(orders, last, "New-Orders", NOPM_DRIFT)
    if reads and not (read_time and fmean(read_time[:seconds][-last:]) <= READ_TIME):
        read_cut, read_why = _judged(list(reads[:seconds]), last, "device reads", READ_DRIFT)
        cut, why = max(cut, read_cut), why or read_why
    return Settled(
        float(cut),
        not why,
        why or ("New-Orders and device reads are flat" if reads else "New-Orders are flat"),
    )


def moved(
    nopm: Sequence[float], reads: Sequence[float], read_time: Sequence[float], window: int
) -> Moved:
    """How far per-second New-Orders and device reads moved across the last `window` values, at
    least SHORTEST; reads only where they take some of the users' time (READ_TIME).

    >>> filling = [1000.0 + 30 * s for s in range(20)]
    >>> moved(filling, [], [], 10).nopm > 0.15
    True
    """
    last = max(window, SHORTEST)
    matters = bool(reads) and fmean(read_time[-last:] or [1.0]) > READ_TIME
    return Moved(
        nopm=_beyond_chance(nopm[-last:]), reads=_beyond_chance(reads[-last:]) if matters else None
    )


def _beyond_chance(series: Sequence[float]) -> float:
    found = trend(series)
    return found.share if abs(found.share) > 2 * found.error else 0.0


def _judged(series: Sequence[float], last: int, name: str, limit: float) -> tuple[int, str]:
    """(cut, reason) of one series whose last `last` values are the stretch; the reason is empty if
    the series is steady.
    """
    before, cut = len(series) - last, mser(series)
    if cut > before and _differ(series[cut:], series[before:], limit / 2):
        return cut, f"{name} became steady only after {cut} of {len(series)} s"
    seen = series[-max(last, SHORTEST) :]
    cut, moved = min(cut, before), trend(seen)
    if abs(moved.share) > limit and abs(moved.share) > 2 * moved.error:
        return (
            cut,
            (
                f"{name} drift by {100 * moved.share:+.1f}% over the last {len(seen)} s (limit"
                f" {100 * limit:.0f}%)"
            ),
        )
    return cut, ""


def _differ(steady: Sequence[float], stretch: Sequence[float], limit: float) -> bool:
    """Two means differ by more than the limit and by more than chance: MSER also cuts the last
    per mille of a warm-up, and a run of low seconds.
    """
    apart = abs(fmean(steady) - fmean(stretch))
    chance = 2 * stdev(steady) / sqrt(len(steady)) if len(steady) > 1 else 0.0
    return apart > limit * abs(fmean(stretch)) and apart > chance


def mser(series: Sequence[float], batch: int | None = None) -> int:
    """How many leading values to cut: the MSER statistic sum (Y - mean)^2 / k^2 of the k batches
    kept is least.

    Batches are of five values; of fewer where there are less than sixty values, so that there are
    at least twelve. The last quarter (and at least five batches) is always kept: of a handful of
    batches the statistic is small by chance.

    >>> mser([0.0] * 10 + [1.0, 1.1] * 25)
    10
    >>> mser([1.0, 1.1] * 30)
    0
    """
    size = batch or max(1, min(5, len(series) // 12))
    # whole batches counted from the end: the odd values are the first, which are the ones in doubt
    odd = len(series) % size
    means = [fmean(series[i : i + size]) for i in range(odd, len(series), size)]
    kept = max(5, ceil(len(means) / 4))
    if len(means) <= kept:
        return 0
    statistic = _mser_statistics(means)[: len(means) - kept + 1]
    best = min(range(len(statistic)), key=statistic.__getitem__)
    return odd + best * size if best else 0


def widened(residuals: Sequence[float], squares: float) -> float:
    """What the likeness of neighbours (lag 1) does to a standard error: seconds of one load are
    fewer values than they seem.
    """
    alike = sum(a * b for a, b in pairwise(residuals)) / squares if squares else 0.0
    alike = min(max(alike, 0.0), MOST_ALIKE)
    return sqrt((1 + alike) / (1 - alike))


def _mser_statistics(means: Sequence[float]) -> list[float]:
    """The MSER statistic when cutting 0, 1, 2 ... batches."""
    centre = fmean(means)
    tail = [m - centre for m in reversed(means)]
    sums = list(accumulate(tail))
    squares = list(accumulate(t * t for t in tail))
    return [
        max(0.0, q - s * s / k) / k**2
        for k, (s, q) in enumerate(zip(sums, squares, strict=True), start=1)
    ][::-1]


def trend(series: Sequence[float]) -> SeriesTrend:
    """The move of a least-squares line from the first value to the last, over the mean; none for
    fewer than 3 values.

    Compare it with a limit only beyond twice its own standard error: of ten seconds that scatter by
    5% the line moves by 5% for no reason at all.

    >>> trend([100.0, 101.0, 102.0, 103.0, 104.0])
    SeriesTrend(share=0.0392156862745098, error=0.0)
    """
    n, centre = len(series), fmean(series) if series else 0.0
    if n < 3 or centre == 0:
        return SeriesTrend(0.0, 0.0)
    line = linear_regression(range(n), series)
    residuals = [y - line.intercept - line.slope * x for x, y in enumerate(series)]
    squares = sum(r * r for r in residuals)
    # variance of the slope: residual variance / sum (x - mean x)^2, and the latter is n (n^2 - 1) /
    # 12 for x = 0, 1 ... n - 1
    error = sqrt(squares / (n - 2) / (n * (n * n - 1) / 12)) * widened(residuals, squares)
    return SeriesTrend(line.slope * (n - 1) / centre, error * (n - 1) / abs(centre))


# The steady state of a drive: whether its throughput has stopped changing.
#
# The rule is that of the SNIA Solid State Storage Performance Test Specification 2.0: over the last
# five rounds the range is at most 20% of the average, and the least-squares line moves by at most
# 10% of the average.

ROUNDS, MOST_ROUNDS = 5, 25
RANGE, SLOPE = 0.20, 0.10


class Steadiness(NamedTuple):
    """How far the last five rounds differ, as shares of their average: their range, and what their
    line moves from the first to the last.
    """

    range: float
    slope: float

    @property
    def steady(self) -> bool:
        """Whether both are within the limits."""
        return self.range <= RANGE and abs(self.slope) <= SLOPE


def steadiness(iops: Sequence[float]) -> Steadiness | None:
    """That of the last five rounds; None for fewer, or for rounds without any I/O.

    >>> steadiness([9000, 5200, 5000, 5100, 4950, 5050]).steady
    True
    >>> steadiness([9000, 7000, 6000, 5500, 5200]).steady
    False
    """
    last = iops[-ROUNDS:]
    if len(last) < ROUNDS or not (mean := fmean(last)):
        return None
    line = linear_regression(range(ROUNDS), last)
    return Steadiness((max(last) - min(last)) / mean, line.slope * (ROUNDS - 1) / mean)
