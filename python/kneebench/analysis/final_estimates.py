"""Estimates over final runs: long runs on restores of their own, or rounds that share one.

Long runs are independent, so a run is the unit (analysis/estimate.py). Rounds of one restore are
not, so their intervals know both scatters (analysis/rounds.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, groupby
from math import ceil, exp, hypot, inf, isfinite, log
from typing import Literal, NamedTuple

from kneebench.analysis.estimate import estimate, paired_ratio
from kneebench.analysis.rounds import (
    Restores,
    are_enough,
    half_width,
    paired,
    rounds_estimate,
    rounds_ratio,
    unit_rounds,
)
from kneebench.analysis.wording import percent, plural
from kneebench.records import Estimate, Results, Rung

Pick = Callable[[Rung], float]
Pairs = Sequence[tuple[Rung, Rung]]


def estimate_of(rungs: Sequence[Rung], pick: Pick, *, adds: bool = False) -> Estimate:
    """The geometric mean of a figure over the rungs of one configuration, and its 95% interval; the
    arithmetic mean of a figure that adds up.

    Raises ValueError for no rungs.
    """
    if short(rungs):
        return rounds_estimate(by_restore(rungs, pick), _spacing(rungs), adds=adds)
    return estimate([pick(rung) for rung in rungs], adds=adds)


def ratio_of_pairs(pairs: Pairs, pick: Pick) -> Estimate:
    """The geometric mean of the ratio of a figure over pairs of rungs, and its 95% interval.

    Raises ValueError unless all figures are above 0.
    """
    of, to = ([pair[side] for pair in pairs] for side in (0, 1))
    if short(of):
        return rounds_ratio(by_restore(of, pick), by_restore(to, pick), _spacing(of))
    return paired_ratio([pick(rung) for rung in of], [pick(rung) for rung in to])


def inverse(of: Estimate) -> Estimate:
    """The ratio the other way round; its interval is above 0."""
    ends = {"value": 1 / of.value, "low": 1 / of.high, "high": 1 / of.low}
    return of.model_copy(update=ends)


def quotient(of: Estimate, to: Estimate) -> Estimate:
    """The ratio of two estimates that were not measured in turn: both half-widths count.

    Raises ValueError unless both intervals are above 0.

    >>> one, other = (Estimate(value=v, low=v / 1.1, high=v * 1.1, n=9) for v in (300.0, 100.0))
    >>> print(quotient(one, other))
    3 (2.622 to 3.433, n=9)
    """
    if min(of.low, to.low) <= 0:
        raise ValueError(f"a ratio needs intervals above 0, not {of} and {to}")
    value = of.value / to.value
    below = exp(hypot(log(of.value / of.low), log(to.high / to.value)))
    above = exp(hypot(log(of.high / of.value), log(to.value / to.low)))
    method = f"not interleaved; {of.method} over {to.method}"
    low, high = value / below, value * above
    return Estimate(value=value, low=low, high=high, n=min(of.n, to.n), method=method)


def short(rungs: Sequence[Rung]) -> bool:
    """Whether the rungs are short rounds."""
    return bool(rungs) and all(rung.order.restore for rung in rungs)


def by_restore(rungs: Sequence[Rung], pick: Pick) -> tuple[tuple[float, ...], ...]:
    """A figure of rounds, by restore, in the order of measurement."""
    return tuple(
        tuple(pick(rung) for rung in of_restore)
        for _, of_restore in groupby(rungs, lambda rung: rung.order.restore)
    )


def _spacing(rungs: Sequence[Rung]) -> float:
    """Rounds from one of these rungs to the next, on average: two of four have the fixed rate."""
    repeats = [rung.order.repeat for rung in rungs]
    return (max(repeats) - min(repeats)) / max(1, len(repeats) - 1) or 1.0


# When the rounds of a campaign end: as soon as the comparison is as precise as the plan wants, or
# after the plan's most repeats.

EndedBy = Literal["", "precision", "repeats"]
"""Empty while another round is needed."""


class Wanted(NamedTuple):
    """What a plan wants of its rounds: the half-width of the throughput ratio's interval, as a
    fraction of the ratio, and the fewest and most rounds.
    """

    half_width: float
    least: int
    most: int


class RoundsSoFar(NamedTuple):
    """The rounds measured so far, and what ended them.

    `half_width` is that of the widest ratio's interval; None while there are too few rounds, or,
    until they end, too few units: two of them agree by chance, and the next one may differ.
    """

    rounds: int
    half_width: float | None
    wanted: Wanted
    ended_by: EndedBy

    @property
    def missed(self) -> bool:
        """Whether they ended with a wider interval than the plan wants."""
        wants = self.ended_by == "repeats" and self.wanted.least < self.wanted.most
        width = inf if self.half_width is None else self.half_width
        return wants and width > self.wanted.half_width

    def left(self, fewest: int) -> tuple[int, int, int]:
        """Rounds still to come: at the least, probably, at the most; `fewest`: that may be precise
        enough. An interval's width falls with the square root of the number of rounds.

        >>> wanted = Wanted(0.1, 4, 14)
        >>> [RoundsSoFar(n, width, wanted, "").left(5) for n, width in ((2, None), (6, 0.12))]
        [(3, 7, 12), (1, 3, 8)]
        """
        if self.ended_by:
            return (0, 0, 0)
        least = max(1, fewest - self.rounds)
        most = max(least, self.wanted.most - self.rounds)
        if self.half_width is None:
            return (least, (least + most) // 2, most)
        wider = self.half_width / self.wanted.half_width
        needed = ceil(self.rounds * wider**2) - self.rounds
        return (least, min(max(least, needed), most), most)

    @property
    def sentence(self) -> str:
        """How far the rounds are, or why they ended."""
        known = self.half_width is not None
        measured = f"NOPM half-width {percent(self.half_width) if known else 'unknown'}"
        compared = f"{measured} (wanted {percent(self.wanted.half_width)})"
        most = self.wanted.most
        if not self.ended_by:
            return f"round {self.rounds} of at most {most}" + (f": {compared}" if known else "")
        if self.wanted.least == most:
            return f"{most} rounds, as planned: {measured}"
        if self.ended_by == "precision":
            done = plural(self.rounds, "round")
            return f"precise enough after {done} of at most {most}: {compared}"
        return f"stopped after {most} rounds, the plan's limit: {compared}"


def rounds_so_far(rungs: Sequence[Rung], wanted: Wanted) -> RoundsSoFar:
    """What the rounds say so far, from the rungs of all configurations.

    The throughput of every configuration over the first configuration's decides, the widest
    interval of them; of one configuration, its throughput. Rounds in which a configuration was
    invalid are left out.
    """
    runs = [rung for rung in rungs if rung.order.phase == "final_run"]
    compared = _compared(runs)
    rounds = len({rung.order.repeat for rung in runs})
    width = max((_half_width(restores) for restores in compared), default=inf)
    agree = bool(compared) and all(are_enough(unit_rounds(one)) for one in compared)
    ended = [ended_by(restores, wanted) for restores in compared]
    if compared and all(ended):
        how: EndedBy = "repeats" if "repeats" in ended else "precision"
    else:
        how = "repeats" if rounds >= wanted.most else ""
    known = isfinite(width) and (how or agree)
    return RoundsSoFar(rounds, width if known else None, wanted, how)


def rounds_of(results: Results) -> RoundsSoFar | None:
    """The rounds of a campaign with every configuration at its quoted load; None without any, or
    with long runs.
    """
    runs = [found for climb in results.climbs if (found := climb.of("final_run"))]
    first = max((some[0].order.repeat for some in runs), default=1)
    rungs = [rung for some in runs for rung in some if rung.order.repeat >= first]
    plan = results.campaign.resolved
    if not short(rungs) or not plan.most_rounds:
        return None
    return rounds_so_far(rungs, Wanted(plan.precision, plan.fewest_rounds, plan.most_rounds))


def ended_by(restores: Restores, wanted: Wanted) -> EndedBy:
    """What ends the rounds of one ratio; asked after each round.

    "precision": the half-width of the interval is at most the wanted one, from at least the fewest
    rounds and enough units. "repeats": not precise enough after the most rounds.

    >>> restore = [1.0, 1.01, 0.99, 1.0]
    >>> [ended_by([restore] * n, Wanted(0.10, 5, 30)) for n in (1, 2, 3)]
    ['', '', 'precision']
    >>> ended_by([[1.0, 2.0, 0.5, 1.0]] * 8, Wanted(0.10, 5, 30))
    'repeats'
    """
    n = sum(len(rounds) for rounds in restores)
    enough = n >= wanted.least and are_enough(unit_rounds(restores))
    if enough and _half_width(restores) <= wanted.half_width:
        return "precision"
    return "repeats" if n >= wanted.most else ""


def _half_width(restores: Restores) -> float:
    few = len(list(chain.from_iterable(restores))) < 2
    return inf if few else half_width(rounds_estimate(restores))


def _compared(runs: Sequence[Rung]) -> list[Restores]:
    if not runs:
        return []
    first, *others = (
        {
            rung.order.repeat: rung
            for rung in runs
            if rung.order.configuration == configuration and _counts(rung)
        }
        for configuration in dict.fromkeys(rung.order.configuration for rung in runs)
    )
    if not others:
        return [by_restore(list(first.values()), _nopm)]
    return [_ratios(other, first) for other in others]


def _ratios(of: Mapping[int, Rung], to: Mapping[int, Rung]) -> Restores:
    repeats = sorted(of.keys() & to.keys())
    sides = [[side[repeat] for repeat in repeats] for side in (of, to)]
    return paired(*(by_restore(side, _nopm) for side in sides)) if repeats else ()


def _counts(rung: Rung) -> bool:
    return not rung.invalid and rung.tally.nopm > 0


def _nopm(rung: Rung) -> float:
    return rung.tally.nopm
