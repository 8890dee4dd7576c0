"""Preflight checks of `check` and `run`: missing prerequisites, paths to be written, disk space,
duration.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from kneebench import units
from kneebench.analysis.wording import number_of_users, plural
from kneebench.campaign.expected_duration import cell_findings, duration_finding, is_loaded
from kneebench.databases.engine import Engine
from kneebench.databases.several import of_each_database
from kneebench.errors import Named, PlanError, Refused, require_kind
from kneebench.lab.drives import drive_of, mount_of, whole_devices
from kneebench.lab.erase_findings import erase_findings
from kneebench.lab.host import host
from kneebench.lab.journal import Journal
from kneebench.lab.journal_findings import left_over, others
from kneebench.lab.kernel_findings import kernel_findings
from kneebench.lab.limit_findings import constraint_findings
from kneebench.lab.preparation import Shares
from kneebench.lab.programs import found
from kneebench.lab.volumes import volume_findings
from kneebench.ladder.stop_findings import stop_findings
from kneebench.measurement.load_findings import load_findings
from kneebench.measurement.log_trace import PROGRAM_NAME, missing
from kneebench.measurement.meters import log_histogram
from kneebench.measurement.present_load import present_load
from kneebench.plan import Plan, reader
from kneebench.plan.duration import rungs
from kneebench.plan.ladder import WAREHOUSES_PER_USER
from kneebench.plan.preset import preset_text
from kneebench.records import Cell, Finding, Host, Watch, WholeDrive, unwatched
from kneebench.shelf import ENGINES, METERS

_CORES_SHOWN = 16
"""Most cores that a finding lists."""


def preflight_checks(
    plan: Plan,
    engine: Engine,
    journal: Journal,
    *,
    erase: Sequence[WholeDrive] = (),
    watch: Watch = unwatched,
) -> tuple[Finding, ...]:
    """All findings on a plan before it runs; changes nothing. The engine's findings come first.

    `erase`: drives that this run may erase; `watch`: receives how far a drive has been read.
    """
    machine, real = host(), plan.engine.measures_real_hardware
    each = partial(of_each_database, plan)
    loaded = is_loaded(of_engine := tuple(engine.findings()))
    return (
        *of_engine,
        *volume_findings(plan, erase=erase, watch=watch),
        *erase_findings(plan),
        *kernel_findings(plan),
        *(each(constraint_findings) if real else []),
        *_parts(plan),
        *_notes(plan),
        *_fio(plan),
        *each(lambda one, _: _cores(one, machine)),
        *(each(lambda one, some: _data(one, some, machine)) if real else []),
        *(_drives(plan) if real else []),
        *_users(plan, machine),
        *stop_findings(plan),
        *(_log_histogram(plan) if real else []),
        *(_rounds(plan) if real and plan.ladder.rounds == "short" else []),
        *(others(journal) if real else []),
        *left_over(journal),
        *cell_findings(plan, machine, loaded=loaded),
        duration_finding(plan, machine, loaded=loaded),
    )


def load_now(plan: Plan) -> tuple[Finding, ...]:
    """Findings on the current load of the machine and of each of the plan's drives, measured for
    about a second.
    """
    cores = sorted(
        {core for one in plan.by_database.values() for core in Shares(one).resources.cores}
    )
    return load_findings(present_load(cores, whole_devices(plan.paths)), len(cores))


def shelves() -> dict[str, list[str]]:
    """Names of components by the plan key that takes them; the plan reader checks against these."""
    return {"database.engine": ENGINES.names(), "meters": METERS.names()}


def read_plan(path: str | Path) -> Plan:
    """The plan in a TOML file.

    Raises PlanError with all errors: file, line, key, allowed values.
    """
    return reader.read_plan(path, shelves())


def as_plan(given: Plan | str | Path) -> Plan:
    """A plan as it is, or the one in a file. Raises PlanError as `read_plan` does, and TypeError
    for anything else.
    """
    plan = read_plan(given) if isinstance(given, str | Path) else given
    require_kind(plan, Plan, "name its file, or make one with kneebench.Plan.model_validate()")
    return plan


def preset(name: str) -> Plan:
    """A plan that comes with kneebench: quick, server, cloud or simulated.

    Raises UnknownPart with the names there are.

    >>> preset("simulated").baseline
    'slow drive'
    """
    return reader.parse_plan(preset_text(name), f"preset {name}", shelves())


def _parts(plan: Plan) -> Iterator[Finding]:
    engines = [one.database.engine for one in plan.by_database.values()]
    for key, known in shelves().items():
        for name in plan.meters if key == "meters" else engines:
            if name not in known:
                seen, do = f"unknown component {name!r}", f"use one of: {', '.join(known)}"
                yield Finding(level="error", subject=key, seen=seen, do=do)


def _notes(plan: Plan) -> Iterator[Finding]:
    """What the author says of the machine, as the brief will show it."""
    for name, text in plan.notes.items():
        yield Finding(level="ok", subject=f"notes: {name}", seen=f'"{text}" (the author\'s words)')


def _fio(plan: Plan) -> Iterator[Finding]:
    if plan.raw_profile and not found("fio"):
        do = "install fio, or set raw_profile = false"
        yield Finding(level="error", subject="raw_profile", seen="fio is missing", do=do)


def _cores(plan: Plan, machine: Host) -> Iterator[Finding]:
    database, generator = set(plan.database.cores), set(plan.workload.load_generator_cores)
    absent = sorted(core for core in database | generator if core not in _allowed_cores())
    if absent:
        named = ", ".join(map(str, absent[:_CORES_SHOWN])) + ", ..." * (len(absent) > _CORES_SHOWN)
        yield Finding(
            level="error",
            subject="database.cores, workload.load_generator_cores",
            seen=f"not available to this process: core {named}",
            do=f"use cores from {sorted(_allowed_cores())}",
        )
    if database and generator and database & generator:
        yield Finding(
            level="warning",
            subject="cores",
            seen=f"database and load generator share {sorted(database & generator)}",
            do="assign separate cores to each",
        )
    yield Finding(
        level="ok",
        subject="machine",
        seen=(
            f"{machine.cores} cores, {units.size(machine.memory_bytes)} of memory, Linux"
            f" {machine.kernel}"
        ),
    )


def _allowed_cores() -> set[int]:
    return os.sched_getaffinity(0)


def _data(plan: Plan, some: Sequence[Cell], machine: Host) -> Iterator[Finding]:
    """Data and memory: a note where no cell has less memory than data."""
    warehouse_bytes, shares = plan.engine.footprint.WAREHOUSE_BYTES, Shares(plan)
    resources = [shares.resources_of(cell) for cell in some]
    limits = sorted({one.memory_bytes for one in resources if one.limited})
    free = not all(one.limited for one in resources)
    data_bytes = plan.workload.warehouses * warehouse_bytes
    least_bytes = min([*limits, *([machine.memory_bytes] if free else [])])
    cached = data_bytes < least_bytes and not plan.database.url
    seen = (
        f"{plural(plan.workload.warehouses, 'warehouse')}, about {units.size(data_bytes)}, in"
        f" {_memory(limits, machine.memory_bytes if free else None)}"
    )
    if cached:
        do = (
            f"to test reads, exceed memory: at least {least_bytes // warehouse_bytes + 1}"
            " warehouses here, or a limit (database.memory)"
        )
        seen = f"{seen}: the drive will see writes and hardly any reads"
        yield Finding(level="note", subject="data", seen=seen, do=do)
    else:
        yield Finding(level="ok", subject="data", seen=seen)


def _memory(limits: Sequence[int], machine_bytes: int | None) -> str:
    """Sizes of memory that the cells have; `machine_bytes`: of those without a limit.

    >>> _memory([2**29, 2**30], 2**35), _memory([], 2**35)
    ('512 MiB to 1 GiB of memory (without a limit: 32 GiB)', '32 GiB of memory')
    """
    machine = units.size(machine_bytes) if machine_bytes else ""
    if not limits:
        return f"{machine} of memory"
    sizes = " to ".join(dict.fromkeys(map(units.size, (limits[0], limits[-1]))))
    return f"{sizes} of memory" + (f" (without a limit: {machine})" if machine else "")


def _drives(plan: Plan) -> Iterator[Finding]:
    """Warnings for storages on the same drive: they compare nothing, unless that is intended (a
    setting, a file system).
    """
    on: dict[str, list[str]] = {}
    for name, storage in plan.storages.items():
        if storage.path:
            on.setdefault(_place(storage.path), []).append(name)
    for place, names in on.items():
        if len(names) > 1:
            yield Finding(
                level="warning",
                subject=", ".join(names),
                seen=f"they share one {place}",
                do="use paths on the drives to be compared",
            )


def _place(path: Path) -> str:
    """Name of the drive of a path; without a drive (tmpfs, a network file system) the file
    system.
    """
    drive = drive_of(path)
    return (
        f"drive, {', '.join(drive.real) or drive.name}"
        if drive
        else f"file system, {mount_of(path).point}"
    )


def _users(plan: Plan, machine: Host) -> Iterator[Finding]:
    ladder = plan.ladder
    enough = plan.workload.warehouses // WAREHOUSES_PER_USER
    climb = number_of_users(ladder.last)
    if not ladder.fixed:
        climb = f"up to {climb}, about {rungs(ladder, machine.cores)} rungs per climb"
    if ladder.last > enough:
        enough_for = f"enough for {number_of_users(enough)}" if enough else "too few for any user"
        are = "are" if plan.workload.warehouses > 1 else "is"
        seen = f"{climb}; {plural(plan.workload.warehouses, 'warehouse')} {are} {enough_for}"
        do = (
            f"the brief warns if a knee exceeds that; {WAREHOUSES_PER_USER} warehouses per user"
            " avoid it"
        )
        yield Finding(level="note", subject="users", seen=seen, do=do)
    else:
        yield Finding(level="ok", subject="users", seen=climb)


def _log_histogram(plan: Plan) -> Iterator[Finding]:
    """Whether the distribution of log writes will be measured, as far as this machine decides."""
    if log_histogram.NAME not in plan.meters:
        return
    if lacking := missing():
        seen = f"it will not be measured: {lacking.seen}"
        yield Finding(level="note", subject="log write histogram", seen=seen, do=lacking.do)
    else:
        seen = f"measured by {PROGRAM_NAME}, for logs on drives of this machine"
        yield Finding(level="ok", subject="log write histogram", seen=seen)


def _rounds(plan: Plan) -> Iterator[Finding]:
    """How many rounds there may be, and what their servers need at the same time."""
    shares, ladder = Shares(plan), plan.ladder
    least, most = ladder.fewest_repeats, ladder.most_repeats
    seen = f"{most if least == most else f'{least} to {most}'} rounds of"
    seen += f" {units.time(ladder.final_window)} windows"
    if shares.servers > 1:
        memory = units.size(shares.resources.memory_bytes)
        seen += f"; {shares.servers} servers up side by side, each sized for {memory} of memory"
    yield Finding(level="ok", subject="rounds", seen=seen)


def require_alone() -> None:
    """Raises Refused while another kneebench run is active."""
    refuse([*others(Journal())])


def refuse(found: Sequence[Finding]) -> None:
    """Raises Refused for the first finding that refuses a run, PlanError for the first error where
    none does.
    """
    for level, kind in (("refused", Refused), ("error", PlanError)):
        for finding in found:
            if finding.level == level:
                raise kind(Named(finding.subject), seen=finding.seen, do=finding.do)
