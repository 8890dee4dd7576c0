"""The configurations of sweeps as flat rows, for a notebook or a table."""

from __future__ import annotations

from typing import NamedTuple

from kneebench.analysis.sweep import Sweep, SweptConfiguration, sweeps
from kneebench.errors import PlanError
from kneebench.records import Estimate, Results


class SweepRow(NamedTuple):
    """A configuration of a sweep as a flat row for a notebook or a table: numbers, and None where
    something was not measured.

    `sweep`: the resource that grows; `database`: None where the plan has only one. Sizes and rates
    are in bytes, shares from 0 to 1; `low` and `high` are the ends of 95% intervals, of `runs`
    final runs; `relative` is the ratio of NOPM to that of the largest configuration, and `bound`
    what the true one is beside it. `busy`: CPU utilization, with that of the least busy core.
    `still_warming`: why NOPM is a lower bound.
    """

    sweep: str
    storage: str
    database: str | None
    configuration: str
    reference: bool
    memory_bytes: int | None
    engine_memory_bytes: int | None
    cores: int | None
    databases: int | None
    users: float | None
    nopm: float | None
    nopm_low: float | None
    nopm_high: float | None
    runs: int
    relative: float | None
    relative_low: float | None
    relative_high: float | None
    bound: str
    read_bytes_per_s: float | None
    write_bytes_per_s: float | None
    busy: float | None
    least_busy_core: float | None
    cache_hit_share: float | None
    read_bytes_per_transaction: float | None
    still_warming: str


def sweep_rows(results: Results) -> list[SweepRow]:
    """All sweeps of a campaign as flat rows: the smallest configuration first, the reference
    last.
    """
    return [
        _row(one, sweep)
        for sweep in sweeps(results)
        for one in (*sweep.configurations, *((sweep.reference,) if sweep.reference else ()))
    ]


def required_sweep_rows(results: Results, what: str) -> list[SweepRow]:
    """The same; raises PlanError without a sweep, with `what` failed."""
    if found := sweep_rows(results):
        return found
    raise PlanError(
        what,
        seen="no storage was measured with several sizes of memory or numbers of cores",
        do="name a campaign whose plan has a sweep under [constraints]",
    )


def _row(one: SweptConfiguration, sweep: Sweep) -> SweepRow:
    configuration, nopm, relative = one.configuration, one.nopm, one.relative
    return SweepRow(
        sweep=sweep.resource,
        storage=configuration.storage,
        database=configuration.database or None,
        configuration=configuration.name,
        reference=configuration.reference,
        memory_bytes=configuration.memory_bytes,
        engine_memory_bytes=configuration.engine_memory_bytes,
        cores=configuration.cores,
        databases=configuration.databases,
        users=_value(one.users),
        nopm=_value(nopm),
        nopm_low=nopm.low if nopm else None,
        nopm_high=nopm.high if nopm else None,
        runs=nopm.n if nopm else 0,
        relative=_value(relative),
        relative_low=relative.low if relative else None,
        relative_high=relative.high if relative else None,
        bound=one.bound,
        read_bytes_per_s=_value(one.read_bytes_per_s),
        write_bytes_per_s=_value(one.write_bytes_per_s),
        busy=_value(one.cpu.mean if one.cpu else None),
        least_busy_core=_value(one.cpu.least_busy if one.cpu else None),
        cache_hit_share=_value(one.cache_hit_share),
        read_bytes_per_transaction=_value(one.read_bytes_per_transaction),
        still_warming=one.warming,
    )


def _value(of: Estimate | None) -> float | None:
    return of.value if of else None
