"""What a title says of sweeps: where more stops paying, and what one storage has of another's
throughput at every size.
"""

from __future__ import annotations

from collections.abc import Iterator

from kneebench.analysis.comparison import compare
from kneebench.analysis.levelling import Levelling, levelling
from kneebench.analysis.levelling_words import answer
from kneebench.analysis.quantity_ratio import NOPM
from kneebench.analysis.sweep import sweeps
from kneebench.analysis.wording import capital, times, times_another
from kneebench.records import Climb, Estimate, Results


def first_sweep(results: Results) -> Levelling | None:
    """Where the first sweep levels off; None without a sweep."""
    return next((levelling(sweep) for sweep in sweeps(results)), None)


def where_sweeps_level_off(results: Results) -> list[str]:
    """The answer of each sweep of several storages, with its confidence."""
    return [answer(levelling(sweep)) for sweep in sweeps(results)]


def at_every_size(results: Results, climb: Climb, base: Climb) -> Iterator[str]:
    """What the climb's storage has of the base's NOPM at each size of a sweep, where all differ:
    one size alone would be the one that noise has made the largest.
    """
    if every := _at_every_size(results, climb):
        of, to = climb.configuration.storage, base.configuration.storage
        low, high = (times(end(one.value for one in every), 2) for end in (min, max))
        ratio = times_another(f"{low} to {high}", to, "NOPM")
        yield f"{capital(of)}: {ratio} at each of {len(every)} {_steps(results)}"


def intervals_at_every_size(results: Results, climb: Climb, base: Climb) -> str:
    """How far the intervals of these ratios reach; empty where the title is none of them."""
    if not (every := _at_every_size(results, climb)):
        return ""
    low, high = (times(end, 2) for end in (min(e.low for e in every), max(e.high for e in every)))
    of, to = climb.configuration.storage, base.configuration.storage
    return f"NOPM of {of} over {to}: 95% CIs within {low} to {high}, n={min(e.n for e in every)}"


def _at_every_size(results: Results, climb: Climb) -> list[Estimate]:
    swept = [one for one in sweeps(results) if one.storage == climb.configuration.storage]
    if len(swept) != 1:
        return []
    sizes = {one.configuration.id for one in swept[0].configurations}
    ratios = [
        one.ratio
        for one in compare(results)
        if one.quantity == NOPM.name and one.differs and one.configuration in sizes
    ]
    return ratios if len(ratios) == len(sizes) > 1 else []


def _steps(results: Results) -> str:
    """What the configurations of a sweep differ in."""
    cores = sweeps(results)[0].resource == "cores"
    return "numbers of cores" if cores else "sizes"
