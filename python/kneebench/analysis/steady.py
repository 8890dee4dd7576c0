"""When a warm-up has done its work: MSER-5 on the New-Orders and on the device reads of each second.

MSER cuts a series where the standard error of the mean of what remains is least: a start that differs from the rest widens
it, and so does throwing good data away. It is applied to means of (at most) five values, which tames autocorrelation
(White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69, 1997; White, Cobb and
Spratt, "A comparison of five steady-state truncation heuristics for simulation", WSC 2000).

Two series, because throughput may look flat while a cache is still filling. Two conditions, because MSER alone is content
with a straight slope: the cut lies in the first half, and the last half does not drift.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import ceil, sqrt
from statistics import fmean, linear_regression
from typing import NamedTuple

NOPM_DRIFT = 0.02
"""Of the mean, over the last half."""
READ_DRIFT = 0.10
"""Device reads scatter more than the orders that cause them: the slope that SNIA's storage test calls steady (PTS 2.0)."""
HARDLY_ANY_READS = 0.1
"""Device reads per New-Order below which their course cannot move the throughput."""

SHORTEST = 10
"""Values over which a drift can be seen at all beside a scatter of some per cent: a shorter last half is judged with more."""


class Settled(NamedTuple):
    """Whether load has become steady: `cut_s` is where the steady part begins, `why` the reason in words."""

    cut_s: float
    steady: bool
    why: str


class Drift(NamedTuple):
    """How far a straight line moves across a series, as a share of its mean, and the standard error of that."""

    share: float
    error: float


def settled(nopm: Sequence[float], reads: Sequence[float], *, second_s: float = 1.0, minimum_s: float = 10.0) -> Settled:
    """Judge a warm-up so far by its per-second New-Orders (per minute) and device reads (per second).

    Call it again whenever more seconds are there; a window that starts after `steady` starts in the steady part. Too short
    a series, one without New-Orders and one whose two series differ in length by more than a second's jitter are "not
    steady" or cut to the shorter. An empty `reads` means that no device was measured.

    >>> settled([200, 700, 950, 1010, 990, 1000, 1005, 995, 1001, 989, 1004, 1000, 990, 1010], []).cut_s
    4.0
    >>> settled([1000.0 + 2 * s + 20 * (s % 3) for s in range(40)], []).why
    'New-Orders drift by +3.2 % over the last half (limit 2 %)'
    >>> settled([1000.0] * 5, []).why
    '5 s are too short to judge (at least 10 s)'
    """
    seconds = min(len(nopm), len(reads)) if reads else len(nopm)
    if seconds * second_s < minimum_s:
        return Settled(0.0, False, f"{seconds * second_s:g} s are too short to judge (at least {minimum_s:g} s)")
    orders = list(nopm[:seconds])
    if fmean(orders[seconds // 2 :]) <= 0:
        return Settled(0.0, False, "no New-Orders in the last half")
    cut, why = _judged(orders, "New-Orders", NOPM_DRIFT)
    if reads and 60 * fmean(reads[seconds // 2 : seconds]) > HARDLY_ANY_READS * fmean(orders[seconds // 2 :]):
        read_cut, read_why = _judged(list(reads[:seconds]), "device reads", READ_DRIFT)
        cut, why = max(cut, read_cut), why or read_why
    return Settled(cut * second_s, not why, why or "New-Orders and device reads are flat" if reads else why or "New-Orders are flat")


def _judged(series: Sequence[float], name: str, limit: float) -> tuple[int, str]:
    """(the cut, what speaks against steadiness or nothing) of one series."""
    half = len(series) // 2
    cut, moved = mser(series), drift(series[-max(half, SHORTEST) :])
    # in a series with hardly any scatter MSER also cuts the last per mille of a warm-up: harmless, as long as the means agree
    if cut > half and abs(fmean(series[cut:]) / fmean(series[half:]) - 1) > limit / 2:
        return cut, f"{name} became steady only after {cut} of {len(series)} s"
    cut = min(cut, half)
    if abs(moved.share) > limit and abs(moved.share) > 2 * moved.error:
        return cut, f"{name} drift by {100 * moved.share:+.1f} % over the last half (limit {100 * limit:.0f} %)"
    return cut, ""


def mser(series: Sequence[float], batch: int | None = None) -> int:
    """How many leading values to cut: the MSER statistic sum (Y - mean)^2 / k^2 of the k batches kept is least.

    Batches are of five values; of fewer where there are less than sixty values, so that there are at least twelve. The last
    quarter (and at least five batches) is always kept: of a handful of batches the statistic is small by chance.

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


def _mser_statistics(means: Sequence[float]) -> list[float]:
    """The MSER statistic when cutting 0, 1, 2 ... batches."""
    centre = fmean(means)
    tail = [m - centre for m in reversed(means)]
    sums = list(accumulate(tail))
    squares = list(accumulate(t * t for t in tail))
    return [max(0.0, q - s * s / k) / k**2 for k, (s, q) in enumerate(zip(sums, squares, strict=True), start=1)][::-1]


def drift(series: Sequence[float]) -> Drift:
    """The move of a least-squares line from the first value to the last, over the mean; none for fewer than 3 values.

    Compare it with a limit only beyond twice its own standard error: of ten seconds that scatter by 5 % the line moves by
    5 % for no reason at all.

    >>> drift([100.0, 101.0, 102.0, 103.0, 104.0])
    Drift(share=0.0392156862745098, error=0.0)
    """
    n, centre = len(series), fmean(series) if series else 0.0
    if n < 3 or centre == 0:
        return Drift(0.0, 0.0)
    line = linear_regression(range(n), series)
    residual = sum((y - line.intercept - line.slope * x) ** 2 for x, y in enumerate(series))
    # variance of the slope: residual variance / sum (x - mean x)^2, and the latter is n (n^2 - 1) / 12 for x = 0, 1 ... n - 1
    error = sqrt(residual / (n - 2) / (n * (n * n - 1) / 12))
    return Drift(line.slope * (n - 1) / centre, error * (n - 1) / abs(centre))
