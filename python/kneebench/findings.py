"""What `check` finds before anything starts: what is missing on this machine, what would be written where, how long it takes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from kneebench import catalogue, units
from kneebench.databases.engine import Engine
from kneebench.lab.drives import drive_of, mount_of
from kneebench.lab.host import host
from kneebench.lab.journal import Journal
from kneebench.plan import Plan, reader
from kneebench.plan.duration import WAREHOUSE_BYTES, expected, rungs
from kneebench.records import Finding, Host
from kneebench.screen.progress import left

_WAREHOUSES_PER_USER = 4
"""methods: sizing; the SanDisk test had 2,500 for 601 users, 4.16."""


def findings(plan: Plan, engine: Engine, journal: Journal) -> tuple[Finding, ...]:
    """Everything worth knowing before the plan is run; changes nothing. The engine's own findings come first."""
    machine = host()
    return (
        *engine.findings(),
        *_parts(plan),
        *_cores(plan, machine),
        *([] if plan.simulated else [*_data(plan, machine), *_drives(plan)]),
        *_users(plan, machine),
        *([] if plan.simulated else _others(journal)),
        *_left(journal),
        _duration(plan, machine),
    )


def shelves() -> dict[str, list[str]]:
    """The names of parts that a plan may use, by the key that takes them: what the plan's reader checks against."""
    return {"database.engine": catalogue.names("engine"), "meters": catalogue.names("meter")}


def read_plan(path: str | Path) -> Plan:
    """The plan in a TOML file. Raises PlanError with everything that is wrong with it: file, line, key, what is allowed."""
    return reader.read_plan(path, shelves())


def _parts(plan: Plan) -> Iterator[Finding]:
    for key, known in shelves().items():
        for name in plan.meters if key == "meters" else [plan.database.engine]:
            if name not in known:
                yield Finding(level="error", subject=key, seen=f"there is no part {name!r}", do=f"name one of: {', '.join(known)}")


def _cores(plan: Plan, machine: Host) -> Iterator[Finding]:
    database, client = set(plan.database.cores), set(plan.workload.client_cores)
    absent = sorted(core for core in database | client if core not in _allowed_cores())
    if absent:
        seen = f"this process may not run on core {', '.join(map(str, absent))}"
        yield Finding(level="error", subject="database.cores, workload.client_cores", seen=seen, do=f"name some of {sorted(_allowed_cores())}")
    if database and client and database & client:
        yield Finding(
            level="warning", subject="cores", seen=f"database and load generator share {sorted(database & client)}", do="give them cores of their own"
        )
    yield Finding(level="ok", subject="machine", seen=f"{machine.cores} cores, {units.size(machine.memory_bytes)} of memory, Linux {machine.kernel}")


def _allowed_cores() -> set[int]:
    return os.sched_getaffinity(0)


def _data(plan: Plan, machine: Host) -> Iterator[Finding]:
    data_bytes = plan.workload.warehouses * WAREHOUSE_BYTES
    seen = f"{plan.workload.warehouses} warehouses, about {units.size(data_bytes)}, in {units.size(machine.memory_bytes)} of memory"
    if data_bytes < machine.memory_bytes and not plan.database.url:
        yield Finding(
            level="note", subject="data", seen=f"{seen}: the drive will be written, hardly read", do="for a test of reads, more warehouses than memory"
        )
    else:
        yield Finding(level="ok", subject="data", seen=seen)


def _drives(plan: Plan) -> Iterator[Finding]:
    """Two storages on one drive compare nothing, unless that is meant (a setting, a file system)."""
    on: dict[str, list[str]] = {}
    for name, storage in plan.storages.items():
        if storage.path:
            on.setdefault(_place(storage.path), []).append(name)
    for place, names in on.items():
        if len(names) > 1:
            yield Finding(level="warning", subject=", ".join(names), seen=f"they lie on the same {place}", do="name paths on the drives to be compared")


def _place(path: Path) -> str:
    """A drive by its name, whatever path on it; where there is none (tmpfs, a network file system) the file system."""
    drive = drive_of(path)
    return f"drive, {', '.join(drive.real) or drive.name}" if drive else f"file system, {mount_of(path).point}"


def _users(plan: Plan, machine: Host) -> Iterator[Finding]:
    ladder = plan.ladder
    enough = plan.workload.warehouses // _WAREHOUSES_PER_USER
    last = ladder.users if isinstance(ladder.users, int) else ladder.users[1]
    climb = f"{last} users" if isinstance(ladder.users, int) else f"up to {last} users, about {rungs(ladder, machine.cores)} rungs a climb"
    if last > enough:
        seen = f"{climb}; {plan.workload.warehouses} warehouses are enough for {enough} users"
        do = f"the brief warns where a knee lies beyond; {_WAREHOUSES_PER_USER} warehouses a user avoid it"
        yield Finding(level="note", subject="users", seen=seen, do=do)
    else:
        yield Finding(level="ok", subject="users", seen=climb)


def _others(journal: Journal) -> Iterator[Finding]:
    """Two campaigns at once on one machine measure each other."""
    if others := journal.others():
        pids = ", ".join(map(str, sorted({entry.owner for entry in others})))
        seen = f"another kneebench is at work on this machine (process {pids}): each would measure the other"
        yield Finding(level="refused", subject="machine", seen=seen, do="wait for its end, or stop it; `kneebench list` shows what it measures")


def _left(journal: Journal) -> Iterator[Finding]:
    left = journal.leftovers()
    if left:
        seen = f"an earlier run left {', '.join(entry.what for entry in left)}"
        yield Finding(level="note", subject="left over", seen=seen, do="nothing: the next run removes it, `kneebench clean` does so now or says how")


def _duration(plan: Plan, machine: Host) -> Finding:
    parts = expected(plan, machine)
    if plan.simulated:
        return Finding(level="ok", subject="duration", seen="a few seconds: the clock is simulated too")
    told = f"loading {left(parts.load_s)} (once), climbs {left(parts.climbs_s)}, report {left(parts.report_s)}"
    return Finding(level="ok", subject="duration", seen=f"about {left(parts.total_s)}: {told}")
