"""Sweeps: one storage measured with more and more memory, cores, or databases with users.

A sweep is the climbs of one storage whose configurations differ in exactly one resource: the
database's memory with its page cache, its number of cores, the memory of its own setting, or how
many databases of the server have users. A
reference configuration, which has no constraint, is apart. The throughput of each configuration is
compared with that of the largest, paired by repeat if the runs were interleaved. A configuration
that was still warming (still_warming.py) has at least the throughput that was measured, and its
ratio is a bound too. Where the resource stops paying: levelling.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from kneebench import units
from kneebench.analysis.comparison import ratio_estimate
from kneebench.analysis.cpu_utilization import CpuUtilization, cpu_utilization
from kneebench.analysis.knee import final_rungs, knee, metered, quoted_rungs
from kneebench.analysis.knee_readings import KneeReadings
from kneebench.analysis.still_warming import colder, still_warming
from kneebench.analysis.wording import capital, plural
from kneebench.records import Climb, Configuration, Estimate, Results

Resource = Literal["memory_bytes", "cores", "engine_memory_bytes", "databases"]
Bound = Literal["", "at least", "at most", "either"]
"""What the true ratio is beside the measured one; "": the same, but for noise."""
RESOURCES: tuple[Resource, ...] = ("memory_bytes", "cores", "engine_memory_bytes", "databases")
COUNTED: dict[Resource, str] = {"cores": "core", "databases": "database"}
"""Resources that are counted, by the word for one."""


class SweptConfiguration(NamedTuple):
    """One configuration of a sweep; None where it was not measured.

    `relative`: its NOPM as a ratio to the largest configuration's, which `bound` qualifies. Device
    rates are means over the windows at the knee. `warming`: why its NOPM is a lower bound; empty if
    it was steady. `spare_bytes`: what its limit on memory left unused, where the limit was not
    reached once in the windows.
    """

    climb: Climb
    users: Estimate | None
    nopm: Estimate | None
    relative: Estimate | None
    read_bytes_per_s: Estimate | None
    write_bytes_per_s: Estimate | None
    cpu: CpuUtilization | None
    cache_hit_share: Estimate | None
    read_bytes_per_transaction: Estimate | None
    warming: str = ""
    bound: Bound = ""
    spare_bytes: float | None = None

    @property
    def configuration(self) -> Configuration:
        """Its storage and constraint."""
        return self.climb.configuration


class Sweep(NamedTuple):
    """The configurations of one storage and database over one resource, the smallest first;
    `reference` is apart.

    `name`: the storage, and what else limits the configurations where it has several such sweeps.
    `target`: NOPM that the plan asks the resource for; 0 for none.
    """

    name: str
    resource: Resource
    configurations: tuple[SweptConfiguration, ...]
    reference: SweptConfiguration | None = None
    target: float = 0.0

    @property
    def storage(self) -> str:
        """The storage of all configurations."""
        return self.configurations[0].configuration.storage

    @property
    def values(self) -> tuple[int, ...]:
        """The sizes (bytes) or numbers, as `configurations` has them."""
        return tuple(value_of(one.configuration, self.resource) or 0 for one in self.configurations)


def sweeps(results: Results) -> tuple[Sweep, ...]:
    """The sweeps of a campaign, by resource and then by storage and database as measured; empty
    without one.
    """
    found = []
    for resource in RESOURCES:
        groups = list(_groups(results.climbs, resource))
        places = [climbs[0].configuration.unlimited_name for climbs in groups]
        for climbs, place in zip(groups, places, strict=True):
            apart = _others(climbs[0].configuration, resource) if places.count(place) > 1 else ""
            name = f"{place}, {apart}" if apart else place
            sweep = _sweep(name, climbs, resource, _reference(results, climbs[0].configuration))
            found.append(sweep._replace(target=results.campaign.resolved.target))
    return tuple(found)


def swept_configurations(results: Results) -> dict[str, SweptConfiguration]:
    """Every configuration of a sweep, references too, by id."""
    return {
        one.configuration.id: one
        for sweep in sweeps(results)
        for one in (*sweep.configurations, *((sweep.reference,) if sweep.reference else ()))
    }


def amount(value: int, resource: Resource) -> str:
    """A size or a number for people.

    >>> amount(2**29, "memory_bytes"), amount(1, "cores")
    ('512 MiB', '1 core')
    """
    return plural(value, COUNTED[resource]) if resource in COUNTED else units.size(value)


def value_of(configuration: Configuration, resource: Resource) -> int | None:
    """What a configuration has of a resource; None if it is not limited."""
    found: int | None = getattr(configuration, resource)
    return found


SHARES = (0.5, 0.75, 0.9)
"""Of the NOPM of a sweep's largest configuration, for which `needs` are given without a target."""


class Need(NamedTuple):
    """What so much NOPM needs of the resource. `share`: of the NOPM of the largest steady
    configuration; None for the plan's target. `between`: the largest value that surely had less,
    and the smallest that surely had as much, None where there is none; `value`: interpolated, if
    these are next to each other. `outside`: all had as much, or all had less.
    """

    nopm: float
    share: float | None
    value: float | None
    between: tuple[int | None, int | None]
    outside: bool = False


def needs(sweep: Sweep) -> tuple[Need, ...]:
    """What the plan's target needs, or else SHARES of the largest NOPM, by the configurations that
    were steady; empty where the largest had no more than the smallest, unless there is a target.
    """
    known = [
        (value, one.nopm)
        for value, one in zip(sweep.values, sweep.configurations, strict=True)
        if one.nopm and not one.warming
    ]
    if len(known) > 1 and sweep.target:
        return (_need(known, sweep.target, None),)
    if len(known) < 2 or known[0][1].high >= known[-1][1].low:
        return ()
    return tuple(_need(known, share * known[-1][1].value, share) for share in SHARES)


def _need(known: Sequence[tuple[int, Estimate]], nopm: float, share: float | None) -> Need:
    at = next((n for n, (_, found) in enumerate(known) if found.value >= nopm), len(known))
    if at in (0, len(known)):
        outside = (known[-1][0], None) if at else (None, known[0][0])
        return Need(nopm, share, None, outside, outside=True)
    (low, less), (high, more) = known[at - 1 : at + 1]
    if less.high < nopm <= more.low:
        value = low + (high - low) * (nopm - less.value) / (more.value - less.value)
        return Need(nopm, share, value, (low, high))
    fewer = (value for value, found in known[:at] if found.high < nopm)
    enough = (value for value, found in known[at:] if found.low >= nopm)
    return Need(nopm, share, None, (max(fewer, default=None), next(enough, None)))


def rising_reads(results: Results) -> Iterator[str]:
    """The configurations of sweeps of memory that read more per transaction than the next smaller
    one, as sentences; those that count as still warming have their own caveat.
    """
    for sweep in sweeps(results):
        steady = [one for one in sweep.configurations if not one.warming]
        for less, more in pairwise(() if sweep.resource in COUNTED else steady):
            if said := colder(more.climb, less.climb):
                yield (
                    f"{capital(more.configuration.name)}: {said}. Reads should fall as memory"
                    " grows, so its NOPM may be too low."
                )


# --- which climbs -----------------------------------------------------------------------------


def _groups(climbs: Sequence[Climb], resource: Resource) -> Iterator[list[Climb]]:
    """Climbs that differ in a resource alone, in at least two values, in their order."""
    alike: dict[tuple[object, ...], dict[int, Climb]] = {}
    for climb in climbs:
        value = value_of(climb.configuration, resource)
        if value is not None and not climb.configuration.reference:
            others = (
                value_of(climb.configuration, other) for other in RESOURCES if other != resource
            )
            key = (
                climb.configuration.storage,
                climb.configuration.database,
                climb.configuration.other_limits,
                *others,
            )
            alike.setdefault(key, {}).setdefault(value, climb)
    for found in alike.values():
        if len(found) > 1:
            yield [climb for _, climb in sorted(found.items())]


def _others(configuration: Configuration, resource: Resource) -> str:
    """What else a configuration of a sweep is limited to."""
    held = [
        amount(value, other)
        for other in RESOURCES
        if other != resource and (value := value_of(configuration, other)) is not None
    ]
    return ", ".join(held)


def _reference(results: Results, configuration: Configuration) -> Climb | None:
    place = (configuration.storage, configuration.database)
    configurations = (
        (one.configuration, one) for one in results.climbs if one.configuration.reference
    )
    return next((one for own, one in configurations if (own.storage, own.database) == place), None)


# --- their figures ----------------------------------------------------------------------------


def _sweep(
    name: str, climbs: Sequence[Climb], resource: Resource, reference: Climb | None
) -> Sweep:
    largest = climbs[-1]
    return Sweep(
        name,
        resource,
        tuple(_configuration(climb, largest, still_warming(climb)) for climb in climbs),
        _reference_configuration(reference, largest, resource) if reference else None,
    )


def _reference_configuration(
    reference: Climb, largest: Climb, resource: Resource
) -> SweptConfiguration:
    """The reference; it is colder than the largest configuration if it read more. With a limit on
    the database's own cache alone it may need to.
    """
    warming = still_warming(reference)
    if resource != "engine_memory_bytes":
        warming = warming or colder(reference, largest)
    return _configuration(reference, largest, warming)


def _configuration(climb: Climb, largest: Climb, warming: str) -> SweptConfiguration:
    found, rungs = knee(climb), final_rungs(climb)
    return SweptConfiguration(
        climb,
        found.users if found else None,
        found.nopm if found else None,
        _relative(climb, largest),
        metered(rungs, "device.read_bytes", adds=True),
        metered(rungs, "device.write_bytes", adds=True),
        cpu_utilization(rungs),
        metered(rungs, "cache.hit_ratio"),
        metered(rungs, "device.read_bytes_per_transaction"),
        warming,
        _bound(warming=bool(warming), largest=bool(still_warming(largest)))
        if climb is not largest
        else "",
        _spare_bytes(climb.configuration, KneeReadings(rungs)),
    )


def _spare_bytes(configuration: Configuration, readings: KneeReadings) -> float | None:
    """What a limit on memory left unused; None where it was reached, or that was not measured."""
    hits, used = readings.value("group.limit_hits"), readings.value("group.memory")
    if configuration.memory_bytes is None or hits is None or hits > 0 or used is None:
        return None
    return max(configuration.memory_bytes - used, 0.0)


def _bound(*, warming: bool, largest: bool) -> Bound:
    """That of a ratio to the largest configuration, by which of the two was still warming.

    >>> _bound(warming=False, largest=True), _bound(warming=True, largest=False)
    ('at most', 'at least')
    """
    if warming and largest:
        return "either"
    return "at least" if warming else "at most" if largest else ""


def _relative(climb: Climb, largest: Climb) -> Estimate | None:
    """The ratio to the largest configuration; its own is 1 by definition."""
    if climb is not largest:
        return ratio_between(climb, largest)
    runs = len(quoted_rungs(climb))
    if not runs:
        return None
    return Estimate(value=1.0, low=1.0, high=1.0, n=runs, method="the largest configuration")


def ratio_between(climb: Climb, against: Climb) -> Estimate | None:
    """The ratio of NOPM of two configurations, warm or not; None if either has no final run."""
    return ratio_estimate(climb, against, interleaved=took_turns((climb, against)))


def took_turns(climbs: Sequence[Climb]) -> bool:
    """Whether the final runs took turns: every run of a repeat began before any of a later one."""
    began: dict[int, list[str]] = {}
    for climb in climbs:
        for rung in quoted_rungs(climb):
            began.setdefault(rung.order.repeat, []).append(rung.started_at)
    blocks = [began[repeat] for repeat in sorted(began)]
    return all(max(one) <= min(following) for one, following in pairwise(blocks))
