"""Every pair of storages compared, not only with the baseline: is four drives worth it over two?

With more pairs one of them is off by chance more often. So each interval is as much wider as
Student's t of a confidence of 1 - 5% / pairs is than that of 95% (Bonferroni): all of them together
hold with 95%. Its degrees of freedom are those of the runs, and never more than FREEDOM, since
short rounds have fewer than their number says: too few only widen an interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import exp, log

from kneebench.analysis.comparison import measured_ratio, stated
from kneebench.analysis.quantity_ratio import NOPM
from kneebench.analysis.student import student_t
from kneebench.records import Climb, Comparison, Estimate, Results

FREEDOM = 3


def all_pairs(results: Results) -> tuple[Comparison, ...]:
    """NOPM of each storage over that of each one measured before it, under one constraint and with
    one database; empty for fewer than three storages, whose only pair is the comparison itself.

    A pair of which one is still warming, or that shares no valid run, is left out.
    """
    found = [(*pair, ratio) for pair in _pairs(results) if (ratio := _ratio(results, *pair))]
    return tuple(
        stated(climb, against, NOPM, widened(ratio, len(found))) for climb, against, ratio in found
    )


def _ratio(results: Results, climb: Climb, against: Climb) -> Estimate | None:
    interleaved = results.campaign.interleaved(climb.id, against.configuration.id)
    return measured_ratio(climb, against, NOPM, interleaved=interleaved)


def _pairs(results: Results) -> Iterator[tuple[Climb, Climb]]:
    groups: dict[tuple[str, str], list[Climb]] = {}
    for climb in results.climbs:
        of = climb.configuration
        groups.setdefault((of.database, of.constraint), []).append(climb)
    for climbs in groups.values():
        if len(climbs) > 2:
            yield from ((later, before) for before, later in combinations(climbs, 2))


def widened(ratio: Estimate, pairs: int) -> Estimate:
    """A ratio of which there are so many, with an interval for all of them together.

    >>> print(widened(Estimate(value=2.0, low=1.9, high=2.1, n=4), 3))
    2 (1.849 to 2.155, n=4)
    >>> widened(Estimate(value=2.0, low=1.9, high=2.1, n=4), 1).low
    1.9
    """
    if pairs < 2 or ratio.n < 2 or ratio.low <= 0:
        return ratio
    freedom = min(ratio.n - 1, FREEDOM)
    times = student_t(freedom, 1 - 0.025 / pairs) / student_t(freedom)
    low, high = (
        ratio.value * exp(times * log(end / ratio.value)) for end in (ratio.low, ratio.high)
    )
    method = f"{ratio.method}, widened for {pairs} pairs"
    return ratio.model_copy(update={"low": low, "high": high, "method": method})
