"""Preflight checks of `check` and `run`: missing prerequisites, paths to be written, disk space,
duration.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from kneebench import units
from kneebench.analysis.disturbance import OTHERS_BUSY, STEAL
from kneebench.analysis.wording import number_of_users
from kneebench.databases.engine import Engine
from kneebench.errors import PlanError, Refused
from kneebench.lab.drives import drive_of, mount_of, whole_devices
from kneebench.lab.host import host
from kneebench.lab.journal import Journal
from kneebench.lab.preparation import Lab
from kneebench.measurement.present_load import PresentLoad, present_load
from kneebench.plan import Plan, reader
from kneebench.plan.duration import expected, rungs
from kneebench.plan.ladder import WAREHOUSES_PER_USER
from kneebench.plan.preset import preset_text
from kneebench.records import Finding, Host
from kneebench.shelf import ENGINES, METERS

QUIETER = "stop these processes or run at a quieter time: a run now would measure them too"
_CORES_SHOWN = 16
"""Most cores that a finding lists."""


def preflight_checks(plan: Plan, engine: Engine, journal: Journal) -> tuple[Finding, ...]:
    """All findings on a plan before it runs; changes nothing. The engine's findings come first."""
    machine, real = host(), plan.engine.measures_real_hardware
    return (
        *engine.findings(),
        *_parts(plan),
        *_cores(plan, machine),
        *([*_data(plan, machine), *_drives(plan)] if real else []),
        *_users(plan, machine),
        *(_rounds(plan) if real and plan.ladder.rounds == "short" else []),
        *(_others(journal) if real else []),
        *_left(journal),
        _duration(plan, machine),
    )


def load_now(plan: Plan) -> tuple[Finding, ...]:
    """Findings on the current load of the machine and of each of the plan's drives, measured for
    about a second.
    """
    cores = Lab(plan).resources.cores
    seen = present_load(cores, whole_devices(plan.paths))
    return (_load_finding(seen, len(cores)), *_drive_loads(seen))


def _drive_loads(seen: PresentLoad) -> Iterator[Finding]:
    by = ", ".join(f"{name} {units.rate(rate)}" for name, rate in seen.largest_io)
    whose = "processes" if os.geteuid() == 0 else "this user's processes"
    for name, busy in seen.drives:
        sentence = f"{name} is busy {100 * busy:.0f}% of the time now"
        sentence += f" ({whose} on all drives: {by})" if by else ""
        if busy <= OTHERS_BUSY:
            yield Finding(level="ok", subject="drive load", seen=sentence)
        else:
            limit = f"{sentence}; limit {100 * OTHERS_BUSY:.0f}%"
            yield Finding(level="warning", subject="drive load", seen=limit, do=QUIETER)


def _load_finding(seen: PresentLoad, cores: int) -> Finding:
    names = ", ".join(f"{name} {100 * used:.0f}% of one" for name, used in seen.largest)
    sentence = (
        f"processes use {100 * seen.busy:.0f}% of {cores} core{'' if cores == 1 else 's'} now"
        + (f" ({names})" if names else "")
    )
    sentence += f"; the hypervisor takes {100 * seen.stolen:.0f}%"
    if seen.busy <= OTHERS_BUSY and seen.stolen <= STEAL:
        return Finding(level="ok", subject="load", seen=sentence)
    limits = f"limits {100 * OTHERS_BUSY:.0f}% and {100 * STEAL:.0f}%"
    return Finding(level="warning", subject="load", seen=f"{sentence} ({limits})", do=QUIETER)


def shelves() -> dict[str, list[str]]:
    """Names of components by the plan key that takes them; the plan reader checks against these."""
    return {"database.engine": ENGINES.names(), "meters": METERS.names()}


def read_plan(path: str | Path) -> Plan:
    """The plan in a TOML file.

    Raises PlanError with all errors: file, line, key, allowed values.
    """
    return reader.read_plan(path, shelves())


def preset(name: str) -> Plan:
    """A plan that comes with kneebench: quick, server, cloud or simulated.

    Raises UnknownPart with the names there are.

    >>> preset("simulated").baseline
    'slow drive'
    """
    return reader.parse_plan(preset_text(name), f"preset {name}", shelves())


def _parts(plan: Plan) -> Iterator[Finding]:
    for key, known in shelves().items():
        for name in plan.meters if key == "meters" else [plan.database.engine]:
            if name not in known:
                yield Finding(
                    level="error",
                    subject=key,
                    seen=f"unknown component {name!r}",
                    do=f"use one of: {', '.join(known)}",
                )


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


def _data(plan: Plan, machine: Host) -> Iterator[Finding]:
    warehouse_bytes = plan.engine.footprint.WAREHOUSE_BYTES
    data_bytes = plan.workload.warehouses * warehouse_bytes
    seen = (
        f"{plan.workload.warehouses} warehouses, about {units.size(data_bytes)}, in"
        f" {units.size(machine.memory_bytes)} of memory"
    )
    if data_bytes < machine.memory_bytes and not plan.database.url:
        do = (
            f"to test reads, exceed RAM: at least {machine.memory_bytes // warehouse_bytes + 1}"
            " warehouses here"
        )
        yield Finding(
            level="note",
            subject="data",
            seen=f"{seen}: the drive will see writes and hardly any reads",
            do=do,
        )
    else:
        yield Finding(level="ok", subject="data", seen=seen)


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
    climb = (
        f"{ladder.last} users"
        if ladder.fixed
        else f"up to {ladder.last} users, about {rungs(ladder, machine.cores)} rungs per climb"
    )
    if ladder.last > enough:
        enough_for = f"enough for {number_of_users(enough)}" if enough else "too few for any user"
        seen = f"{climb}; {plan.workload.warehouses} warehouses are {enough_for}"
        do = (
            f"the brief warns if a knee exceeds that; {WAREHOUSES_PER_USER} warehouses per user"
            " avoid it"
        )
        yield Finding(level="note", subject="users", seen=seen, do=do)
    else:
        yield Finding(level="ok", subject="users", seen=climb)


def _rounds(plan: Plan) -> Iterator[Finding]:
    """How many rounds there may be, and what their servers need at the same time."""
    lab, ladder = Lab(plan), plan.ladder
    least, most = ladder.fewest_repeats, ladder.most_repeats
    seen = f"{most if least == most else f'{least} to {most}'} rounds of"
    seen += f" {units.time(ladder.final_window)} windows"
    if lab.servers > 1:
        memory = units.size(lab.resources.memory_bytes)
        seen += f"; {lab.servers} servers up side by side, each sized for {memory} of memory"
    yield Finding(level="ok", subject="rounds", seen=seen)


def _others(journal: Journal) -> Iterator[Finding]:
    """A refusal while another kneebench run is active: the two would disturb each other."""
    if others := journal.others():
        pids = ", ".join(map(str, sorted({entry.owner for entry in others})))
        seen = f"another kneebench run is active (PID {pids}); the two would disturb each other"
        yield Finding(
            level="refused",
            subject="machine",
            seen=seen,
            do="wait for it to finish, or stop it; `kneebench list` shows its campaign",
        )


def require_alone() -> None:
    """Raises Refused while another kneebench run is active."""
    refuse(_others(Journal()))


def refuse(found: Iterable[Finding]) -> None:
    """Raises Refused or PlanError for the first finding that prevents a run."""
    for finding in found:
        if finding.level in ("error", "refused"):
            kind = Refused if finding.level == "refused" else PlanError
            raise kind(finding.subject, seen=finding.seen, do=finding.do)


def _left(journal: Journal) -> Iterator[Finding]:
    for one in journal.damaged():
        yield Finding(level="warning", subject="journal", seen=one.seen, do=one.do)
    left = journal.leftovers()
    if left:
        seen = f"an earlier run left {', '.join(entry.what for entry in left)}"
        yield Finding(
            level="note",
            subject="left over",
            seen=seen,
            do=(
                "no action needed: the next run removes it; `kneebench clean` removes it now or"
                " prints how"
            ),
        )


def _duration(plan: Plan, machine: Host) -> Finding:
    parts = expected(plan, machine)
    if not plan.engine.measures_real_hardware:
        return Finding(
            level="ok",
            subject="duration",
            seen="a few seconds: the clock is simulated",
            takes_s=parts.total_s,
        )
    breakdown = (
        f"loading {units.rough_time(parts.load_s)} (once), climbs"
        f" {units.rough_time(parts.climbs_s)}, final runs {units.rough_time(parts.final_runs_s)}"
    )
    return Finding(
        level="ok",
        subject="duration",
        seen=f"about {units.rough_time(parts.total_s)}: {breakdown}",
        takes_s=parts.total_s,
    )
