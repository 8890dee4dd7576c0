"""What a title says of sweeps: where more stops paying, and what one storage has of another's
throughput at every size.
"""

from __future__ import annotations

from collections.abc import Iterator

from kneebench.analysis.comparison import NOPM, compare
from kneebench.analysis.levelling import Levelling, levelling
from kneebench.analysis.levelling_words import finding
from kneebench.analysis.sweep import sweeps
from kneebench.analysis.wording import capital, times, times_another
from kneebench.records import Climb, Results


def first_sweep(results: Results) -> Levelling | None:
    """Where the first sweep levels off; None without a sweep."""
    return next((levelling(sweep) for sweep in sweeps(results)), None)


def where_sweeps_level_off(results: Results) -> list[str]:
    """The answer of each sweep."""
    return [finding(levelling(sweep)) for sweep in sweeps(results)]


def at_every_size(results: Results, climb: Climb, base: Climb) -> Iterator[str]:
    """What the climb's storage has of the base's NOPM at each size of a sweep, where all differ:
    one size alone would be the one that noise has made the largest.
    """
    of, to = climb.configuration.storage, base.configuration.storage
    storages = {one.id: one.configuration.storage for one in results.climbs}
    ratios = [
        one.ratio.value
        for one in compare(results)
        if one.quantity == NOPM.name and one.differs and storages[one.configuration] == of
    ]
    swept = [one for one in sweeps(results) if one.storage == of]
    if len(swept) == 1 and len(ratios) == len(swept[0].configurations) > 1:
        low, high = times(min(ratios), 2), times(max(ratios), 2)
        ratio = times_another(f"{low} to {high}", to, "NOPM")
        yield f"{capital(of)}: {ratio} at each of {len(ratios)} sizes"
