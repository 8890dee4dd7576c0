"""Times of TPROC-H's queries: of each configuration, against the baseline's, and what limits them.

A query is run cold, with none of its data in memory, and then once more. As far as the second run
takes less time, reads took the difference: that is what a faster drive can save. Runs are paired by
pass, in which both configurations had the same parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import exp, log
from statistics import fmean, median
from typing import Any, NamedTuple

from kneebench.analysis.comparison import base_climbs, pairs_of, widened
from kneebench.analysis.estimate import estimate, paired_ratio
from kneebench.analysis.final_estimates import inverse
from kneebench.analysis.power import power_w
from kneebench.analysis.wording import (
    FEW_NAMES,
    capital,
    has_interval,
    listed,
    percent,
    times,
    times_another,
    times_with_interval,
)
from kneebench.records import REFRESH, Climb, Estimate, Phase, Results, Rung
from kneebench.units import NOTHING, significant, time

READS_LIMIT = 1.25
"""Times its time with its data in memory: from here on reads are what a query mostly waits for."""
NEAR = 0.8
"""Of what fio reads: from here on the drive is the limit, also where data are never in memory."""
ALL_BUSY = 0.9
"""Of the database's cores, whatever uses them: then a faster drive finds no core."""
STILL_READ = 0.5
"""Of the bytes of the cold run: a second run that reads more has not found its data in memory."""
HOUR_S = 3600.0
EVERY = range(1, 23)


class QueryFigures(NamedTuple):
    """A query on a configuration. `took_s`: as the plan has it, cold or warm; `warm_s`: with what
    the run before it left in memory, None where that still read; `reads`: whether its storage has
    devices whose reads count, None where that is not known; `read_bytes_per_s`: at the
    devices, None without any; `raw_share`: of what fio reads there; `cores`: how many it kept busy;
    `busy`: how busy the database's cores were in all, None where that was not measured;
    `spilled_bytes`: into temporary files, None where the server does not count them; `cancelled`:
    runs beyond the plan's limit.
    """

    number: int
    took_s: Estimate | None
    warm_s: Estimate | None
    reads: bool | None
    read_bytes_per_s: float | None
    raw_share: float | None
    cores: float | None
    busy: float | None
    spilled_bytes: float | None
    cancelled: int

    @property
    def without_reads(self) -> float | None:
        """How many times as fast it is with its data in memory."""
        if not self.took_s or not self.warm_s:
            return None
        return self.took_s.value / self.warm_s.value

    @property
    def limit(self) -> str:
        """What limits it, in a word; empty where that is not known. On a storage in memory nothing
        is read: what a first run takes longer is work of the cores.
        """
        if self.reads is None:
            return ""
        if self.without_reads is None:
            if (self.busy or 0.0) >= ALL_BUSY:
                return "cores"
            return "reads" if (self.raw_share or 0.0) >= NEAR else ""
        return "reads" if self.reads and self.without_reads >= READS_LIMIT else "cores"


def is_cold(results: Results) -> bool:
    """Whether queries begin cold, and are run once more."""
    workload = results.campaign.plan.get("workload")
    return isinstance(workload, dict) and workload.get("cache") == "cold"


def numbers(results: Results) -> tuple[int, ...]:
    """The queries that were run, in their order."""
    every = (rung.order.query for climb in results.climbs for rung in climb.rungs)
    return tuple(sorted({number for number in every if number}))


def answered(results: Results) -> tuple[int, ...]:
    """The queries that have a valid run on every configuration."""
    return tuple(
        number
        for number in numbers(results)
        if all(runs(climb, "query", number) for climb in results.climbs)
    )


def runs(climb: Climb, phase: Phase, number: int) -> list[Rung]:
    """The valid runs of a query."""
    return [one for one in climb.of(phase) if one.order.query == number and not one.invalid]


def _took_s(rung: Rung) -> float:
    return rung.tally.window_s


def _time_of(some: Sequence[Rung]) -> Estimate | None:
    return estimate([*map(_took_s, some)]) if some else None


def figures(climb: Climb, number: int) -> QueryFigures:
    """Those of one query on one configuration."""
    some, again = (runs(climb, phase, number) for phase in ("query", "warm_query"))
    every = [one for one in climb.of("query") if one.order.query == number]
    read, raw = (
        _median(some, lambda one: one.quantity("device.read_bytes")),
        _raw_bytes_per_s(climb),
    )
    in_memory = any(one.kind == "memory_backed" for rung in some for one in rung.remarks)
    return QueryFigures(
        number,
        _time_of(some),
        _time_of(again) if _in_memory(some, again) else None,
        False if in_memory else None if read is None else True,
        read,
        read / raw if raw and read is not None else None,
        _median(some, _cores),
        _median(some, lambda one: one.quantity("cores.busy")),
        _median(some, _spilled_bytes),
        sum(any(remark.kind == "cancelled" for remark in one.remarks) for one in every),
    )


def _median(some: Sequence[Rung], pick: Callable[[Rung], float | None]) -> float | None:
    found = [value for one in some if (value := pick(one)) is not None]
    return median(found) if found else None


def _spilled_bytes(rung: Rung) -> float | None:
    per_s = rung.quantity("tables.spilled")
    return None if per_s is None else per_s * rung.tally.window_s


def _cores(rung: Rung) -> float | None:
    """Cores that the server kept busy."""
    used = rung.quantities.get("processes.cpu")
    return used.sources.get("server") if used else None


def _in_memory(cold: Sequence[Rung], again: Sequence[Rung]) -> bool:
    """Whether the runs after the cold ones found their data in memory."""
    if not cold or not again:
        return False
    return median(map(_read_bytes, again)) <= STILL_READ * median(map(_read_bytes, cold))


def _read_bytes(rung: Rung) -> float:
    return (rung.quantity("device.read_bytes") or 0.0) * rung.tally.window_s


def _raw_bytes_per_s(climb: Climb) -> float | None:
    """What fio reads there in sequence; None where that was not measured."""
    rows = climb.raw.profile.rows if climb.raw else ()
    scans = [row.iops * row.block_bytes for row in rows if row.kind == "scan" and not row.invalid]
    return max(scans, default=None)


def query_speed(climb: Climb, against: Climb, number: int) -> Estimate | None:
    """How many times as fast a query was as on another configuration, by pass."""
    return ratio_by_pass(runs(against, "query", number), runs(climb, "query", number), _took_s)


def ratio_by_pass(
    of: Sequence[Rung], to: Sequence[Rung], pick: Callable[[Rung], float]
) -> Estimate | None:
    """The ratio of a figure over pairs of rungs of the same pass; None without any."""
    other = {one.order.repeat: one for one in to}
    pairs = [(one, other[one.order.repeat]) for one in of if one.order.repeat in other]
    if not pairs:
        return None
    return paired_ratio(*([pick(pair[side]) for pair in pairs] for side in (0, 1)))


def speed(climb: Climb, against: Climb) -> Estimate | None:
    """The same over all queries: the geometric mean of their ratios in each pass, so that every
    query counts alike.
    """
    ratios = [*_by_pass(climb.of("query"), against.of("query"))]
    return estimate(ratios) if ratios else None


def _by_pass(some: Sequence[Rung], others: Sequence[Rung]) -> Iterator[float]:
    """The geometric mean of the ratios of each whole pass."""
    own, other = (
        {(one.order.repeat, one.order.query): _took_s(one) for one in side if not one.invalid}
        for side in (some, others)
    )
    both = own.keys() & other.keys()
    every = {query for _, query in both}
    for repeat in sorted({repeat for repeat, _ in both}):
        here = [key for key in both if key[0] == repeat]
        if len(here) == len(every):
            yield exp(fmean(log(other[key] / own[key]) for key in here))


def pass_s(climb: Climb, of: Sequence[int]) -> float | None:
    """The time of a pass, as the sum of its queries' means; None where one has no time."""
    found = _means_s(climb, of)
    return sum(found) if found else None


def power_per_hour(climb: Climb, of: Sequence[int]) -> float | None:
    """Queries per hour, by the geometric mean of their times; None where one has no time."""
    found = _means_s(climb, of)
    return HOUR_S / exp(fmean(map(log, found))) if found else None


def energy_j(climb: Climb, of: Sequence[int]) -> Estimate | None:
    """The energy of a pass over these queries, by the meter or sum that the plan names; None where
    its power was not measured.
    """
    found = [*_energies_j(climb, of).values()]
    return estimate(found) if found else None


def energy_ratio(climb: Climb, against: Climb, of: Sequence[int]) -> Estimate | None:
    """That of another configuration's, by pass."""
    own, other = _energies_j(climb, of), _energies_j(against, of)
    both = sorted(own.keys() & other.keys())
    return paired_ratio([own[one] for one in both], [other[one] for one in both]) if both else None


def with_few_readings(climb: Climb, of: Sequence[int]) -> list[int]:
    """The queries that lasted for too few readings of a meter for a figure of their own."""
    return [
        number
        for number in of
        if any(
            "few_periods" in meter.kinds
            for rung in runs(climb, "query", number)
            for meter in (rung.power.meters if rung.power else ())
        )
    ]


def _energies_j(climb: Climb, of: Sequence[int]) -> dict[int, float]:
    """By pass; of those in which every query has its power."""
    found: dict[int, list[float]] = {}
    for rung in (one for number in of for one in runs(climb, "query", number)):
        if (watts := power_w(rung)) > 0:
            found.setdefault(rung.order.repeat, []).append(watts * _took_s(rung))
    return {repeat: sum(some) for repeat, some in found.items() if len(some) == len(of)}


def _means_s(climb: Climb, of: Sequence[int]) -> list[float]:
    """The mean time of each query, geometric as an estimate's; empty where one has none."""
    every = [[*map(_took_s, runs(climb, "query", number))] for number in of]
    return [exp(fmean(map(log, some))) for some in every] if all(every) else []


def precise(rungs: Sequence[Rung], bases: Mapping[str, str], wanted: float) -> tuple[bool, str]:
    """(whether each configuration is compared with its base as precisely as wanted, the widest
    half-width so far in words). `bases`: by configuration the one that it is compared with.
    """
    sides: dict[str, list[Rung]] = {}
    for one in rungs:
        if one.order.phase == "query":
            sides.setdefault(one.order.configuration, []).append(one)
    pairs = [(one, base) for one, base in bases.items() if one != base]
    ratios = [[*_by_pass(sides[one], sides[base])] for one, base in pairs]
    found = [estimate(one) for one in ratios if one]
    passes = max((one.order.repeat for one in rungs), default=0)
    if not pairs or len(found) < len(ratios) or not all(map(has_interval, found)):
        return not pairs, f"pass {passes} measured"
    widest = max((one.high / one.low) ** 0.5 - 1 for one in found)
    return widest <= wanted, f"after {passes} passes: half-width {percent(round(widest, 3))}"


# In words.


def of_queries(of: Sequence[int]) -> str:
    """The queries of a campaign within a sentence.

    >>> of_queries((1, 6)), of_queries(range(1, 23)), of_queries((6, 23, 24))
    ('queries 1 and 6', 'the 22 queries', 'query 6, RF1 and RF2')
    """
    plain = [str(one) for one in of if one not in REFRESH]
    functions = [REFRESH[one] for one in of if one in REFRESH]
    said = f"{'queries' if len(plain) > 1 else 'query'} {listed(plain)}" if plain else ""
    if len(plain) > FEW_NAMES:
        said = f"the {len(plain)} queries" if len(plain) == len(EVERY) else f"{len(plain)} queries"
    return listed([one for one in (said, *functions) if one])


def query_name(number: int) -> str:
    """The name of a query or refresh function in a column."""
    return REFRESH.get(number, str(number))


JOINT = "by an interval that holds for all pairs"


class Compared(NamedTuple):
    """A configuration, the one that it is compared with, and its speed over that one's."""

    climb: Climb
    base: Climb
    ratio: Estimate

    @property
    def differs(self) -> bool:
        """Whether a difference is shown; not without an interval."""
        return has_interval(self.ratio) and 1 not in self.ratio

    @property
    def turned(self) -> Compared:
        """The other one over this one."""
        return Compared(self.base, self.climb, inverse(self.ratio))


def compared(results: Results) -> dict[str, Compared]:
    """By configuration: over that of the baseline's storage under the same constraint and with the
    same database.
    """
    bases, found = base_climbs(results), {}
    for climb in results.climbs:
        base = bases.get(climb.id)
        if base and base is not climb and (ratio := speed(climb, base)):
            found[climb.id] = Compared(climb, base, ratio)
    return found


def compared_pairs(results: Results) -> tuple[Compared, ...]:
    """Every storage over every one before it, of three or more, with intervals that hold for all of
    these pairs together.
    """
    found = [(*pair, ratio) for pair in pairs_of(results) if (ratio := speed(*pair))]
    return tuple(Compared(climb, base, widened(ratio, len(found))) for climb, base, ratio in found)


def step_up(results: Results) -> Compared | None:
    """The fastest of three or more storages over the next one, which is the step that costs money,
    as it is among all pairs; None where that one is the baseline.
    """
    ahead = sorted(compared(results).values(), key=lambda one: -one.ratio.value)
    best = ahead[:1]
    beside = [one for one in ahead[1:] if one.base is best[0].base and one.ratio.value > 1]
    two = {one.climb.id for one in (*best, *beside[:1])}
    pairs = (one for one in compared_pairs(results) if {one.climb.id, one.base.id} == two)
    pair = next(pairs, None)
    if len(two) < 2 or not pair or not has_interval(pair.ratio):
        return None
    return pair if pair.climb is best[0].climb else pair.turned


def query_title(results: Results) -> str:
    """The answer: of the speeds that differ the one farthest from 1, or the time of a pass."""
    of = answered(results)
    if not of:
        return "No query has a time on every storage"
    found = [*compared(results).values()]
    differing = [one for one in found if one.differs]
    if best := max(differing, key=lambda one: abs(log(one.ratio.value)), default=None):
        said = times_another(times(best.ratio.value), best.base.configuration.name, "speed")
        return f"{capital(best.climb.configuration.name)}: {said} over {of_queries(of)}"
    if found:
        names = listed([one.climb.configuration.name for one in found])
        base = found[0].base.configuration.name
        if not all(has_interval(one.ratio) for one in found):
            return f"Too few passes to compare {names} with {base} over {of_queries(of)}"
        return f"No difference shown between {names} and {base} over {of_queries(of)}"
    climb = results.climbs[0]
    took_s = pass_s(climb, of) or 0.0
    return f"{capital(climb.configuration.name)}: {of_queries(of)} in {time(took_s)}"


def query_subtitle(results: Results) -> str:
    """The intervals of all speeds, and what limits the queries."""
    cold = "each query begins with none of its data in memory" if is_cold(results) else ""
    sure = [
        f"{one.climb.configuration.name}: {times_with_interval(one.ratio)} by the geometric mean"
        for one in compared(results).values()
    ]
    step = step_up(results)
    names = [one.configuration.name for one in (step.climb, step.base)] if step else []
    sure += [f"{' over '.join(names)}: {times_with_interval(step.ratio)} {JOINT}"] if step else []
    return ". ".join(capital(one) for one in (*sure, cold, *limits_said(results)) if one)


def limits_said(results: Results) -> Iterator[str]:
    """What limits the queries, of configurations with the same limits at once."""
    of, found = numbers(results), dict[str, list[str]]()
    for climb in results.climbs:
        each = [figures(climb, number) for number in of]
        parts = [
            f"{word} limit {of_queries([one.number for one in each if one.limit == word])}"
            for word in ("reads", "cores")
            if any(one.limit == word for one in each)
        ]
        if parts:
            found.setdefault(" and ".join(parts), []).append(climb.configuration.name)
    for limits, names in found.items():
        yield f"on {listed(names)}, {limits}"


def query_line(results: Results) -> str:
    """The finding in a line, with its interval."""
    said = [
        f"{one.climb.configuration.name}: {times_with_interval(one.ratio)}"
        for one in compared(results).values()
    ]
    return "; ".join(said) or query_title(results)


def query_document(results: Results) -> dict[str, Any]:
    """The figures of all queries by configuration, for programs; empty for TPROC-C."""
    of, found = numbers(results), compared(results)
    return {
        climb.id: {
            "pass_s": pass_s(climb, of),
            "queries_per_hour": power_per_hour(climb, of),
            "energy_j": energy_j(climb, of),
            "speed": found[climb.id].ratio if climb.id in found else None,
            "queries": [
                {**one._asdict(), "without_reads": one.without_reads, "limit": one.limit}
                for one in (figures(climb, number) for number in of)
            ],
        }
        for climb in results.climbs
        if of
    }


def query_pairs_document(results: Results) -> list[dict[str, Any]]:
    """Every pair of three or more storages, for programs."""
    return [
        {
            "configuration": one.climb.id,
            "baseline": one.base.id,
            "quantity": "speed",
            "ratio": one.ratio,
        }
        for one in compared_pairs(results)
    ]


def megabytes(bytes_per_s: float | None) -> str:
    """A rate for people; a dash where there is none.

    >>> megabytes(423e6), megabytes(None)
    ('423', '–')
    """
    return NOTHING if bytes_per_s is None else significant(bytes_per_s / 1e6)
