"""The configurations of sweeps as flat rows, for a notebook or a table."""

from __future__ import annotations

from types import NoneType
from typing import Annotated, NamedTuple, get_args, get_type_hints

from kneebench.analysis.sweep import Sweep, SweptConfiguration, sweeps
from kneebench.errors import PlanError
from kneebench.records import Estimate, Results


class SweepRow(NamedTuple):
    """A configuration of a sweep as a flat row for a notebook or a table: numbers, and None where
    something was not measured. Its fields are also the columns of the file and of the frame.
    """

    sweep: Annotated[str, "Resource that grows: memory_bytes, cores or engine_memory_bytes"]
    storage: Annotated[str, "Storage, as the plan names it"]
    database: Annotated[str | None, "Database, where the plan has several; else empty"]
    configuration: Annotated[str, "Configuration as people read it"]
    reference: Annotated[bool, "Whether it is the one without a limit"]
    memory_bytes: Annotated[
        int | None, "Limit of the memory with the page cache; missing: not limited"
    ]
    engine_memory_bytes: Annotated[
        int | None, "Limit of the database's own cache; missing: not limited"
    ]
    cores: Annotated[int | None, "Number of cores; missing: not limited"]
    users: Annotated[float | None, "Virtual users"]
    nopm: Annotated[float | None, "New-Orders per minute"]
    nopm_low: Annotated[float | None, "lower end of its 95% CI"]
    nopm_high: Annotated[float | None, "upper end of its 95% CI"]
    runs: Annotated[int, "Final runs"]
    relative: Annotated[float | None, "Ratio of NOPM to that of the largest size"]
    relative_low: Annotated[float | None, "lower end of its 95% CI"]
    relative_high: Annotated[float | None, "upper end of its 95% CI"]
    bound: Annotated[str, "What the true ratio is beside it where a size was still warming"]
    read_bytes_per_s: Annotated[float | None, "Bytes read from the devices per second"]
    write_bytes_per_s: Annotated[float | None, "Bytes written to the devices per second"]
    busy: Annotated[float | None, "Busy share of the database's cores, 0 to 1"]
    least_busy_core: Annotated[float | None, "Busy share of the least busy core"]
    cache_hit_share: Annotated[float | None, "Share of hits in the database's own cache"]
    read_bytes_per_transaction: Annotated[
        float | None, "Bytes read from the devices per transaction"
    ]
    still_warming: Annotated[str, "Why its NOPM is a lower bound; empty if it was steady"]


def _kind(hint: object) -> tuple[type, str]:
    """The kind of a field's values, missing ones aside, and what they are."""
    kind, about = get_args(hint)
    return next(one for one in (*get_args(kind), kind) if one is not NoneType), about


COLUMNS = {
    name: _kind(hint) for name, hint in get_type_hints(SweepRow, include_extras=True).items()
}
"""By field of a row: the kind of its values, and what they are; for files and frames."""


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
