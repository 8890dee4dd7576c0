"""Sweeps: one storage measured with more and more memory, or with more and more cores.

A sweep is the climbs of one storage whose cells differ in exactly one resource: the database's
memory with its page cache, its number of cores, or the memory of its own setting. A reference cell,
which has no constraint, is apart. The throughput of each cell is compared with that of the largest,
paired by repeat if the runs were interleaved. Where the resource stops paying: levelling.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Literal, NamedTuple

from kneebench import units
from kneebench.analysis.comparison import NOPM, ratio_of
from kneebench.analysis.final_estimates import estimate_of
from kneebench.analysis.knee import final_rungs, knee, metered, quoted_rungs
from kneebench.analysis.still_warming import still_warming
from kneebench.analysis.wording import plural
from kneebench.records import Cell, Climb, Estimate, Results, Rung

Resource = Literal["memory_bytes", "cores", "engine_memory_bytes"]
RESOURCES: tuple[Resource, ...] = ("memory_bytes", "cores", "engine_memory_bytes")


class SweepCell(NamedTuple):
    """One cell of a sweep; None where it was not measured.

    `relative`: its NOPM as a ratio to the largest cell's. `busy`: mean share of the database's
    cores. Device rates are means over the windows at the knee. `not_compared`: why it has no ratio,
    though it was measured.
    """

    climb: Climb
    users: Estimate | None
    nopm: Estimate | None
    relative: Estimate | None
    read_bytes_per_s: Estimate | None
    write_bytes_per_s: Estimate | None
    busy: Estimate | None
    cache_hit_share: Estimate | None
    read_bytes_per_transaction: Estimate | None
    not_compared: str = ""

    @property
    def cell(self) -> Cell:
        """Its storage and constraint."""
        return self.climb.cell


class Sweep(NamedTuple):
    """The cells of one storage and database over one resource, the smallest first; `reference` is
    apart.

    `name`: the storage, and what else limits the cells where it has several such sweeps.
    """

    name: str
    resource: Resource
    cells: tuple[SweepCell, ...]
    reference: SweepCell | None = None

    @property
    def storage(self) -> str:
        """The storage of all cells."""
        return self.cells[0].cell.storage

    @property
    def values(self) -> tuple[int, ...]:
        """The sizes (bytes) or numbers of cores, as `cells` has them."""
        return tuple(value_of(one.cell, self.resource) or 0 for one in self.cells)


class SweepRow(NamedTuple):
    """A cell of a sweep as a flat row for a notebook or a table: numbers, and None where something
    was not measured.

    `sweep`: the resource that grows; `database`: None where the plan has only one. Sizes and rates
    are in bytes, shares from 0 to 1; `low` and `high` are the ends of 95% intervals, of `runs`
    final runs; `relative` is the ratio of NOPM to that of the largest cell.
    """

    sweep: str
    storage: str
    database: str | None
    cell: str
    reference: bool
    memory_bytes: int | None
    engine_memory_bytes: int | None
    cores: int | None
    users: float | None
    nopm: float | None
    nopm_low: float | None
    nopm_high: float | None
    runs: int
    relative: float | None
    relative_low: float | None
    relative_high: float | None
    read_bytes_per_s: float | None
    write_bytes_per_s: float | None
    busy: float | None
    cache_hit_share: float | None
    read_bytes_per_transaction: float | None
    not_compared: str


def sweeps(results: Results) -> tuple[Sweep, ...]:
    """The sweeps of a campaign, by resource and then by storage and database as measured; empty
    without one.
    """
    found = []
    for resource in RESOURCES:
        groups = list(_groups(results.climbs, resource))
        places = [climbs[0].cell.unlimited_name for climbs in groups]
        for climbs, place in zip(groups, places, strict=True):
            apart = _others(climbs[0].cell, resource) if places.count(place) > 1 else ""
            name = f"{place}, {apart}" if apart else place
            found.append(_sweep(name, climbs, resource, _reference(results, climbs[0].cell)))
    return tuple(found)


def amount(value: int, resource: Resource) -> str:
    """A size or a number of cores for people.

    >>> amount(2**29, "memory_bytes"), amount(1, "cores")
    ('512 MiB', '1 core')
    """
    return plural(value, "core") if resource == "cores" else units.size(value)


def value_of(cell: Cell, resource: Resource) -> int | None:
    """What a cell has of a resource; None if it is not limited."""
    found: int | None = getattr(cell, resource)
    return found


def sweep_rows(results: Results) -> list[SweepRow]:
    """All sweeps of a campaign as flat rows: the smallest cell first, the reference last."""
    return [
        _row(one, sweep)
        for sweep in sweeps(results)
        for one in (*sweep.cells, *((sweep.reference,) if sweep.reference else ()))
    ]


# --- which climbs -----------------------------------------------------------------------------


def _groups(climbs: Sequence[Climb], resource: Resource) -> Iterator[list[Climb]]:
    """Climbs that differ in a resource alone, in at least two values, in their order."""
    alike: dict[tuple[object, ...], dict[int, Climb]] = {}
    for climb in climbs:
        value = value_of(climb.cell, resource)
        if value is not None and not climb.cell.reference:
            others = (value_of(climb.cell, other) for other in RESOURCES if other != resource)
            key = (climb.cell.storage, climb.cell.database, climb.cell.other_limits, *others)
            alike.setdefault(key, {}).setdefault(value, climb)
    for found in alike.values():
        if len(found) > 1:
            yield [climb for _, climb in sorted(found.items())]


def _others(cell: Cell, resource: Resource) -> str:
    """What else a cell of a sweep is limited to."""
    held = [
        amount(value, other)
        for other in RESOURCES
        if other != resource and (value := value_of(cell, other)) is not None
    ]
    return ", ".join(held)


def _reference(results: Results, cell: Cell) -> Climb | None:
    place = (cell.storage, cell.database)
    cells = ((one.cell, one) for one in results.climbs if one.cell.reference)
    return next((one for own, one in cells if (own.storage, own.database) == place), None)


# --- their figures ----------------------------------------------------------------------------


def _sweep(
    name: str, climbs: Sequence[Climb], resource: Resource, reference: Climb | None
) -> Sweep:
    steady = [climb for climb in climbs if not still_warming(climb)]
    largest = (steady or climbs)[-1]
    return Sweep(
        name,
        resource,
        tuple(_cell(climb, largest) for climb in climbs),
        _cell(reference, largest) if reference else None,
    )


def _cell(climb: Climb, largest: Climb) -> SweepCell:
    found, rungs = knee(climb), final_rungs(climb)
    return SweepCell(
        climb,
        found.users if found else None,
        found.nopm if found else None,
        _relative(climb, largest),
        metered(rungs, "device.read_bytes"),
        metered(rungs, "device.write_bytes"),
        _busy(rungs),
        metered(rungs, "cache.hit_ratio"),
        metered(rungs, "device.read_bytes_per_transaction"),
        still_warming(climb),
    )


def _relative(climb: Climb, largest: Climb) -> Estimate | None:
    """The ratio to the largest cell that can be compared; its own is 1 by definition."""
    if climb is not largest:
        found = ratio_of(climb, largest, NOPM, interleaved=took_turns((climb, largest)))
        return found.ratio if found else None
    runs = len(quoted_rungs(climb))
    if not runs or still_warming(climb):
        return None
    return Estimate(value=1.0, low=1.0, high=1.0, n=runs, method="the largest cell")


def took_turns(climbs: Sequence[Climb]) -> bool:
    """Whether the final runs took turns: every run of a repeat began before any of a later one."""
    began: dict[int, list[str]] = {}
    for climb in climbs:
        for rung in quoted_rungs(climb):
            began.setdefault(rung.order.repeat, []).append(rung.started_at)
    blocks = [began[repeat] for repeat in sorted(began)]
    return all(max(one) <= min(following) for one, following in pairwise(blocks))


def _busy(rungs: Sequence[Rung]) -> Estimate | None:
    """Mean over the database's cores; the quantity's own value is the least busy one."""
    shares = {
        rung.order.key: fmean(found.sources.values())
        for rung in rungs
        if (found := rung.quantities.get("database.busy")) and found.sources
    }
    measured = [rung for rung in rungs if rung.order.key in shares]
    return estimate_of(measured, lambda rung: shares[rung.order.key]) if measured else None


def _row(one: SweepCell, sweep: Sweep) -> SweepRow:
    cell, nopm, relative = one.cell, one.nopm, one.relative
    return SweepRow(
        sweep=sweep.resource,
        storage=cell.storage,
        database=cell.database or None,
        cell=cell.name,
        reference=cell.reference,
        memory_bytes=cell.memory_bytes,
        engine_memory_bytes=cell.engine_memory_bytes,
        cores=cell.cores,
        users=_value(one.users),
        nopm=_value(nopm),
        nopm_low=nopm.low if nopm else None,
        nopm_high=nopm.high if nopm else None,
        runs=nopm.n if nopm else 0,
        relative=_value(relative),
        relative_low=relative.low if relative else None,
        relative_high=relative.high if relative else None,
        read_bytes_per_s=_value(one.read_bytes_per_s),
        write_bytes_per_s=_value(one.write_bytes_per_s),
        busy=_value(one.busy),
        cache_hit_share=_value(one.cache_hit_share),
        read_bytes_per_transaction=_value(one.read_bytes_per_transaction),
        not_compared=one.not_compared,
    )


def _value(of: Estimate | None) -> float | None:
    return of.value if of else None
