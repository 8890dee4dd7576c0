"""Equivalence: a ratio to a baseline judged better, same within a margin, or worse.

The rule has exactly one answer for every ratio. With x the ratio, turned so that more is better,
and m the margin:

- same: the 90% interval is within 1 / (1 + m) and 1 + m. That is two one-sided tests at 5%
  (Schuirmann, "A comparison of the two one-sided tests procedure and the power approach for
  assessing the equivalence of average bioavailability", J. Pharmacokin. Biopharm. 15, 1987).
- worse: the 95% interval excludes 1 on the bad side, and x is beyond the margin.
- better: the same on the good side.
- same or better: only the lower of the two tests rejects: x is not worse by more than the margin.
- cannot say: anything else.

A significant difference alone is not enough for "worse": with enough runs every difference is
significant, also one that the margin allows. So with more and more runs the answer tends to the
true one. docs/method/acceptance.md has the simulated error rates.
"""

from __future__ import annotations

from math import ceil, hypot, inf, log, log1p, sqrt
from typing import Literal, NamedTuple

from kneebench.analysis.estimate import estimate, student_t
from kneebench.analysis.final_estimates import quotient
from kneebench.records import Estimate

Judgement = Literal["better", "same", "same or better", "worse", "cannot say"]
NARROWER = 0.8392
"""Half-width of a 90% interval over that of a 95% interval, from the normal distribution.

Student's t with few runs would allow less (0.68 at three), so this is on the safe side."""
MOST_ROUNDS = 50
"""The most rounds that a plan may order (plan/ladder.py)."""
AT_THE_EDGE = 0.1
"""A ratio this close to the bad edge of the margin, as a share of the margin, is at it: which side
the truth is on, no number of rounds promises to show."""


class MoreRounds(NamedTuple):
    """Rounds that would probably allow an answer; `of_both`: the baseline needs as many in all."""

    rounds: int
    of_both: bool


def ratio_to_baseline(of: Estimate, to: Estimate) -> Estimate:
    """The ratio of two estimates of different campaigns, with its 95% interval.

    Where either is from one run, the ratio has the interval of one value.

    >>> print(ratio_to_baseline(*[Estimate(value=8.0, low=0.0, high=85.0, n=1)] * 2))
    1 (0 to 10.68, n=1)
    """
    return quotient(of, to) if min(of.low, to.low) > 0 else estimate([of.value / to.value])


def narrowed(ratio: Estimate) -> Estimate:
    """The same ratio with its 90% interval.

    >>> print(narrowed(Estimate(value=1.0, low=0.9, high=1 / 0.9, n=9)))
    1 (0.9154 to 1.092, n=9)
    """
    low, high = (ratio.value * (end / ratio.value) ** NARROWER for end in (ratio.low, ratio.high))
    return ratio.model_copy(update={"low": low, "high": high, "method": f"90%: {ratio.method}"})


def judgement(ratio: Estimate, margin: float, *, more_is_better: bool) -> Judgement:
    """The answer for a ratio with its 95% interval.

    >>> ratio = Estimate(value=0.90, low=0.88, high=0.92, n=9)
    >>> [judgement(ratio, margin, more_is_better=True) for margin in (0.05, 0.2)]
    ['worse', 'same']
    >>> judgement(ratio, 0.05, more_is_better=False)
    'better'
    """
    edge = log1p(margin)
    value, low, high = _gain(ratio, more_is_better)
    _, low_90, high_90 = _gain(narrowed(ratio), more_is_better)
    if low_90 >= -edge and high_90 <= edge:
        return "same"
    if value < -edge and high < 0:
        return "worse"
    if value > edge and low > 0:
        return "better"
    return "same or better" if low_90 >= -edge else "cannot say"


def more_rounds(
    of: Estimate, to: Estimate, margin: float, rounds: int, *, more_is_better: bool
) -> MoreRounds | None:
    """Rounds that would decide a ratio of which the answer is "cannot say"; None for more than a
    plan may order, at the margin's edge, and of one run against one.

    `rounds` is the number of final runs of the campaign now. Half-widths shrink by t / sqrt(n), of
    the campaign alone if that is enough, else of both. One run alone is taken to scatter as the
    other campaign's do. The ratio is taken for the truth, which it is not: so "about".

    >>> of, to = (Estimate(value=v, low=v / 1.1, high=v * 1.1, n=8) for v in (100.0, 101.0))
    >>> more_rounds(of, to, 0.15, 8, more_is_better=True)
    MoreRounds(rounds=1, of_both=False)
    """
    ratio = ratio_to_baseline(of, to)
    known = [_deviation(one) for one in (of, to) if one.n > 1 and one.low > 0]
    if not known or at_the_edge(ratio, margin, more_is_better=more_is_better):
        return None
    needed = _needed(ratio.value, margin, more_is_better)
    own, base = known[0], known[-1]
    most = int(MOST_ROUNDS * of.n / max(rounds, 1))
    for of_both in (False, True):
        for n in range(of.n + 1, most + 1):
            n_base = max(n, to.n) if of_both else to.n
            if hypot(own * _half_of_deviation(n), base * _half_of_deviation(n_base)) <= needed:
                return MoreRounds(max(1, ceil((n - of.n) * rounds / of.n)), of_both)
    return None


def at_the_edge(ratio: Estimate, margin: float, *, more_is_better: bool) -> bool:
    """Whether a ratio is so close to the bad edge of the margin that rounds hardly help."""
    edge = log1p(margin)
    return abs(_gain(ratio, more_is_better)[0] + edge) < AT_THE_EDGE * edge


def _needed(ratio: float, margin: float, more_is_better: bool) -> float:
    """The half-width of a 95% interval that decides: beyond the margin it excludes 1; else the 90%
    interval excludes the margin's bad edge.
    """
    gain, edge = log(ratio) * (1 if more_is_better else -1), log1p(margin)
    return -gain if gain < -edge else (gain + edge) / NARROWER


def _deviation(one: Estimate) -> float:
    """The standard deviation of one run, on logarithms, behind an estimate from several."""
    return log(one.high / one.low) / 2 / _half_of_deviation(one.n)


def _half_of_deviation(n: int) -> float:
    """The half-width of the 95% interval of n runs, over their standard deviation."""
    return student_t(n - 1) / sqrt(n) if n > 1 else inf


def _gain(ratio: Estimate, more_is_better: bool) -> tuple[float, float, float]:
    """(value, low, high) on logarithms, above 0 for better."""
    value, low, high = (
        log(one) if one > 0 else -inf for one in (ratio.value, ratio.low, ratio.high)
    )
    return (value, low, high) if more_is_better else (-value, -high, -low)
