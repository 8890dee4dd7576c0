"""Preflight checks of `check` and `run`: missing prerequisites, paths to be written, disk space,
duration.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from kneebench import units
from kneebench.analysis.query_times import of_queries
from kneebench.analysis.wording import listed, number_of_users, plural
from kneebench.campaign.durability import durability_findings
from kneebench.campaign.expected_duration import (
    configuration_findings,
    duration_finding,
    expected_duration,
    is_loaded,
)
from kneebench.databases.engine import LOG_HISTOGRAM, Engine, Restarts
from kneebench.databases.several import of_each_database
from kneebench.engine_properties import engine_properties, without_flushes
from kneebench.errors import PlanError, Refused, require_kind
from kneebench.lab.drives import drive_of, mount_of, whole_devices
from kneebench.lab.host import host
from kneebench.lab.journal import Journal, left_over, others
from kneebench.lab.kernel_findings import kernel_findings
from kneebench.lab.limit_findings import constraint_findings
from kneebench.lab.preparation import Shares
from kneebench.lab.programs import found
from kneebench.lab.volumes import volume_findings
from kneebench.lab.volumes.findings import erase_findings, unflushed_finding
from kneebench.ladder.stop_findings import stop_findings
from kneebench.measurement.log_trace import PROGRAM_NAME, missing
from kneebench.measurement.meters import log_histogram
from kneebench.measurement.present_load import load_findings, present_load
from kneebench.measurement.profile.jobs import JOBS
from kneebench.plan import Plan, reader
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.duration import rungs
from kneebench.plan.ladder import WAREHOUSES_PER_USER
from kneebench.plan.overrides import Override
from kneebench.plan.preset import preset_text
from kneebench.plan.reader import shelves as shelves
from kneebench.plan.study import Study
from kneebench.plan.writer import to_toml
from kneebench.records import Finding, Host, Watch, WholeDrive, unwatched
from kneebench.results.logo import read_logo
from kneebench.shelf import ENGINES


def preflight_checks(
    study: Study,
    engine: Engine,
    journal: Journal,
    *,
    erase: Sequence[WholeDrive] = (),
    watch: Watch = unwatched,
) -> tuple[Finding, ...]:
    """All findings on a plan before it runs; changes nothing. The engine's findings come first.

    `erase`: drives that this run may erase; `watch`: receives how far a drive has been read.
    """
    machine, real = host(), study.measures_real_hardware
    each = partial(of_each_database, study.databases)
    loaded = is_loaded(of_engine := _of_engine(study, engine))
    parts = expected_duration(study, machine, loaded=loaded)
    return (
        *of_engine,
        *volume_findings(study, erase=erase, watch=watch),
        *erase_findings(study),
        *kernel_findings(study),
        *(each(constraint_findings) if real else []),
        *_parts(study),
        *logo_findings(study),
        *_facts(study),
        *published_findings(study),
        *_fio(study),
        *each(lambda one: core_findings(one, machine)),
        *(each(lambda one: data_findings(one, machine)) if real else []),
        *(drive_findings(study) if real else []),
        *_of_workload(study, engine, machine, of_engine),
        *(others(journal) if real else []),
        *left_over(journal),
        *configuration_findings(study.configurations, study.databases, parts),
        duration_finding(parts, databases=len(study.databases), real=real),
    )


def _of_workload(
    study: Study, engine: Engine, machine: Host, of_engine: Sequence[Finding]
) -> Iterator[Finding]:
    if study.workload.type == "tproc-h":
        yield from _queries(study, engine)
        return
    yield from chain(_users(study, machine), _load_levels(study))
    yield from chain(stop_findings(study), durability_findings(study, engine))
    if study.measures_real_hardware:
        yield from _log_histogram(study, of_engine)
        yield from rounds_findings(next(iter(study.databases.values())))


def load_now(databases: Collection[DatabasePlan]) -> tuple[Finding, ...]:
    """Findings on the current load of the machine and of each drive of these databases, measured
    for about a second.
    """
    cores = sorted({core for one in databases for core in Shares(one).resources.cores})
    paths = {path for one in databases for kept in one.storages.values() for path in kept.paths}
    return load_findings(present_load(cores, whole_devices(paths)), len(cores))


def read_plan(path: str | Path, overrides: Sequence[Override] = ()) -> Plan:
    """The plan in a TOML file, with the keys that `overrides` sets.

    Raises PlanError with all errors: file, line, key, allowed values.
    """
    return reader.read_plan(path, shelves(), overrides)


def overridden(study: Study, overrides: Sequence[Override]) -> Study:
    """A plan that no file has, with the keys that `overrides` sets; raises as `read_plan` does."""
    if not overrides:
        return study
    text = to_toml(study.written)
    return Study(reader.parse_plan(text, "the default plan", shelves(), overrides))


def as_study(given: Plan | str | Path, overrides: Sequence[Override] = ()) -> Study:
    """What a plan asks, or the one in a file with the keys that `overrides` sets. Raises PlanError
    as `read_plan` does, and TypeError for anything else.
    """
    plan = read_plan(given, overrides) if isinstance(given, str | Path) else given
    require_kind(plan, Plan, "name its file, or make one with kneebench.Plan.model_validate()")
    return Study(plan)


def preset(name: str) -> Plan:
    """A plan that comes with kneebench: quick, server, cloud, scan, running, emulated,
    memory, simulated, and those of `kneebench plan preset --published`.

    Raises UnknownPart with the names there are.

    >>> preset("simulated").baseline
    'slow drive'
    """
    return reader.parse_plan(preset_text(name), f"preset {name}", shelves())


def _parts(study: Study) -> Iterator[Finding]:
    engines = [one.database.engine for one in study.databases.values()]
    for key, known in shelves().items():
        for name in study.meters if key == "meters" else engines:
            if name not in known:
                seen, do = f"unknown component {name!r}", f"use one of: {', '.join(known)}"
                yield Finding(level="error", subject=key, seen=seen, do=do)


def logo_findings(study: Study) -> Iterator[Finding]:
    """An error for a logo that cannot be read."""
    if study.brief.logo:
        try:
            read_logo(study.brief.logo)
        except PlanError as error:
            yield Finding(level="error", subject=error.what, seen=error.seen, do=error.do)


def _facts(study: Study) -> Iterator[Finding]:
    """What the author says of the machine, as the brief will show it."""
    for name, text in study.brief.machine.items():
        seen = f'"{text}" (the author\'s words)'
        yield Finding(level="ok", subject=f"brief.machine: {name}", seen=seen)


def published_findings(study: Study) -> Iterator[Finding]:
    """An error for each published figure that is to stand beside a row that no profile has."""
    rows = [job.name for job in JOBS]
    for number, one in enumerate(study.brief.published):
        if one.kind == "profile" and one.name not in rows:
            subject = f"brief.published.{number}.name"
            seen = f"no row of a profile is called {one.name!r}"
            yield Finding(
                level="error", subject=subject, seen=seen, do=f"use one of: {'; '.join(rows)}"
            )


def _fio(study: Study) -> Iterator[Finding]:
    if study.raw_profile and not found("fio"):
        do = "install fio, or set raw_profile = false"
        yield Finding(level="error", subject="raw_profile", seen="fio is missing", do=do)


def _queries(study: Study, engine: Engine) -> Iterator[Finding]:
    """What passes over queries need: where they begin cold, servers that kneebench starts; and what
    of the plan they do not have.
    """
    workload, ladder = study.workload, study.ladder
    for one in study.databases.values():
        if not one.engine.answers_queries:
            seen = f"kneebench does not run TPROC-H queries on {one.engine.label}"
            able = [name for name in ENGINES.names() if engine_properties(name).answers_queries]
            do = f"use one of: {', '.join(able)}"
            yield Finding(level="error", subject="workload.type", seen=seen, do=do)
    if workload.cache == "cold" and not isinstance(engine, Restarts):
        by_url = [name for name, one in study.databases.items() if any(one.urls.values())]
        those = f": {listed(by_url)}" if any(by_url) else ""
        seen = f"queries begin cold only on servers that kneebench starts, not by URL{those}"
        do = 'set workload.cache = "warm", or remove the url'
        yield Finding(level="error", subject="workload.cache", seen=seen, do=do)
    lacking = {
        "hosts.load": bool(study.hosts.load),
        "constraints": bool(study.saturating),
        "ladder.prove": ladder.prove != "none",
        "ladder.load_levels": bool(ladder.levels),
        **{f"accept.{key}": limit is not None for key, limit in study.accept.limits.items()},
    }
    for key in (key for key, is_set in lacking.items() if is_set):
        seen = 'not with type = "tproc-h"'
        yield Finding(level="error", subject=key, seen=seen, do=f"remove {key} from the plan")
    if study.power.meters and not study.power.leading:
        seen = "no meter leads: the brief has no energy of a pass"
        do = "add one with scope wall, or name a sum in power.headline"
        yield Finding(level="note", subject="power", seen=seen, do=do)
    passes = f"{ladder.fewest_repeats} to {ladder.most_repeats} passes"
    seen = f"{of_queries(workload.asked)}, {workload.cache}, {passes}"
    yield Finding(level="ok", subject="queries", seen=seen)


def _users(study: Study, machine: Host) -> Iterator[Finding]:
    ladder = study.ladder
    used = [one.databases or study.workload.databases for one in study.configurations]
    warehouses = study.workload.warehouses * min(used)
    enough = warehouses // WAREHOUSES_PER_USER
    climb = number_of_users(ladder.last)
    if not ladder.fixed:
        climb = f"up to {climb}, about {rungs(ladder, machine.cores)} rungs per climb"
    if ladder.last > enough:
        enough_for = f"enough for {number_of_users(enough)}" if enough else "too few for any user"
        are = "are" if warehouses > 1 else "is"
        seen = f"{climb}; {plural(warehouses, 'warehouse')} {are} {enough_for}"
        do = (
            f"the brief warns if a knee exceeds that; {WAREHOUSES_PER_USER} warehouses per user"
            " avoid it"
        )
        yield Finding(level="note", subject="users", seen=seen, do=do)
    else:
        yield Finding(level="ok", subject="users", seen=climb)
    if max(used) > ladder.first > 0:
        seen = f"{number_of_users(ladder.first)} leave some of {max(used)} databases without any"
        do = f"begin with as many: set ladder.users = [{max(used)}, ...]"
        yield Finding(level="note", subject="users", seen=seen, do=do)


def _load_levels(study: Study) -> Iterator[Finding]:
    ladder = study.ladder
    if ladder.levels:
        of = "fixed load" if ladder.fixed else "knee"
        shares = listed([f"{level}%" for level in ladder.levels])
        runs = f"{plural(len(ladder.levels), 'run')} of {units.time(ladder.final_window)}"
        seen = f"{runs} at {shares} of each {of}'s throughput, on one more restore"
        yield Finding(level="ok", subject="load levels", seen=seen)


def _of_engine(study: Study, engine: Engine) -> tuple[Finding, ...]:
    """Without those on a meter that the plan does not have."""
    found = engine.findings()
    wanted = log_histogram.NAME in study.meters
    return tuple(one for one in found if wanted or one.about != "log_histogram")


def _log_histogram(study: Study, of_engine: Sequence[Finding]) -> Iterator[Finding]:
    """Whether the distribution of log writes will be measured, as far as this machine decides: a
    server by URL may decide otherwise.
    """
    if log_histogram.NAME not in study.meters:
        return
    if lacking := missing():
        seen = f"it will not be measured: {lacking.seen}"
        yield Finding(level="note", subject=LOG_HISTOGRAM, seen=seen, do=lacking.do)
    elif not any(one.about == "log_histogram" for one in of_engine):
        seen = f"measured by {PROGRAM_NAME}, for logs on drives of this machine"
        yield Finding(level="ok", subject=LOG_HISTOGRAM, seen=seen)


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
                raise kind(finding.subject, seen=finding.seen, do=finding.do)


# Findings on what a plan asks of this machine: cores, memory beside the data, drives that storages
# share, servers side by side.

_CORES_SHOWN = 16
"""Most cores that a finding lists."""


def core_findings(plan: DatabasePlan, machine: Host) -> Iterator[Finding]:
    """Cores that the plan names and this process may not use, or that two share; the machine."""
    database = set(plan.database.server_cores)
    generator = set() if plan.hosts.apart else set(plan.workload.load_generator_cores)
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


def data_findings(plan: DatabasePlan, machine: Host) -> Iterator[Finding]:
    """Data and memory: a note where no configuration has less memory than data."""
    warehouse_bytes, shares = plan.engine.footprint.WAREHOUSE_BYTES, Shares(plan)
    resources = [shares.resources_of(configuration) for configuration in plan.configurations]
    limits = sorted({one.memory_bytes for one in resources if one.limited})
    free = not all(one.limited for one in resources)
    data_bytes = plan.workload.sized_as * warehouse_bytes
    least_bytes = min([*limits, *([machine.memory_bytes] if free else [])])
    cold = plan.workload.type == "tproc-h" and plan.workload.cache == "cold"
    cached = data_bytes < least_bytes and not plan.database.server_url and not cold
    seen = (
        f"{plan.workload.size}, about {units.size(data_bytes)}, in"
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
    """Sizes of memory that the configurations have; `machine_bytes`: of those without a limit.

    >>> _memory([2**29, 2**30], 2**35), _memory([], 2**35)
    ('512 MiB to 1 GiB of memory (without a limit: 32 GiB)', '32 GiB of memory')
    """
    machine = units.size(machine_bytes) if machine_bytes else ""
    if not limits:
        return f"{machine} of memory"
    sizes = " to ".join(dict.fromkeys(map(units.size, (limits[0], limits[-1]))))
    return f"{sizes} of memory" + (f" (without a limit: {machine})" if machine else "")


def drive_findings(study: Study) -> Iterator[Finding]:
    """Warnings for storages on the same drive: they compare nothing, unless that is intended (a
    setting, a file system); and for directories that are mounted without flushes.
    """
    for name, storage in study.storages.items():
        for path in filter(None, (storage.path, storage.log_path)):
            for option in without_flushes(mount_of(path).options):
                yield unflushed_finding(name, option)
    on: dict[str, list[str]] = {}
    for name, storage in study.storages.items():
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


def rounds_findings(plan: DatabasePlan) -> Iterator[Finding]:
    """How many short rounds there may be, and what their servers need at the same time."""
    ladder = plan.ladder
    if ladder.rounds != "short":
        return
    least, most = ladder.fewest_repeats, ladder.most_repeats
    seen = f"{most if least == most else f'{least} to {most}'} rounds of"
    seen += f" {units.time(ladder.final_window)} windows"
    if plan.servers_at_once > 1:
        memory = units.size(Shares(plan).resources.memory_bytes)
        seen += (
            f"; {plan.servers_at_once} servers up side by side, each sized for {memory} of memory"
        )
    yield Finding(level="ok", subject="rounds", seen=seen)
