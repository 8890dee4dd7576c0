"""Findings on what a plan asks of this machine: cores, memory beside the data, drives that storages
share, servers side by side.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from kneebench import units
from kneebench.analysis.wording import plural
from kneebench.lab.drives import drive_of, mount_of
from kneebench.lab.preparation import Shares
from kneebench.plan import Plan
from kneebench.plan.database_plan import DatabasePlan
from kneebench.records import Finding, Host

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
    data_bytes = plan.workload.warehouses * warehouse_bytes
    least_bytes = min([*limits, *([machine.memory_bytes] if free else [])])
    cached = data_bytes < least_bytes and not plan.database.server_url
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
    """Sizes of memory that the configurations have; `machine_bytes`: of those without a limit.

    >>> _memory([2**29, 2**30], 2**35), _memory([], 2**35)
    ('512 MiB to 1 GiB of memory (without a limit: 32 GiB)', '32 GiB of memory')
    """
    machine = units.size(machine_bytes) if machine_bytes else ""
    if not limits:
        return f"{machine} of memory"
    sizes = " to ".join(dict.fromkeys(map(units.size, (limits[0], limits[-1]))))
    return f"{sizes} of memory" + (f" (without a limit: {machine})" if machine else "")


def drive_findings(plan: Plan) -> Iterator[Finding]:
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
