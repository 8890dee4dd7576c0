"""A profile, job by job: a file of our own in the directory, removed at the end also after a
crash.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import Field

from kneebench.databases.managed.disk_space import free_bytes
from kneebench.errors import PlanError
from kneebench.lab.drives import IN_MEMORY, file_system_of
from kneebench.lab.host import host, kneebench_version
from kneebench.lab.inventory import drives_under
from kneebench.lab.journal import Journal
from kneebench.measurement.meters.cores import Cores
from kneebench.measurement.profile.datasheet import Claim, DataSheet, claims
from kneebench.measurement.profile.fio import RAMP_S, Fio, chosen, found_fio, row_of
from kneebench.measurement.profile.jobs import HEADLINE, JOBS, Job
from kneebench.measurement.profile.rows import ProfileRow, inconsistent
from kneebench.measurement.profile.tree_copy import FILE_BYTES, FILES, tree_copy
from kneebench.records import Host, Record, WholeDrive
from kneebench.units import size

SPARE = 0.1
"""Share of the file system that stays free."""
STARTS_S = 0.5
"""For fio to start and end, per job."""
FILL_BYTES_PER_S = 300e6
"""For the time that is expected: a slow SSD."""


class Profile(Record):
    """What a directory's drive did, at `seconds` per row. `fio`: fio's own document of each row, by
    name; `engine`: how fio submitted I/O; `claims`: the figures of the data sheet, if there is one.
    """

    kneebench: str
    started_at: str
    directory: Path
    host: Host
    file_system: str
    drives: tuple[WholeDrive, ...]
    engine: str
    file_bytes: int
    seconds: int
    rows: tuple[ProfileRow, ...]
    datasheet: DataSheet | None = None
    claims: tuple[Claim, ...] = ()
    fio: dict[str, Any] = Field(default_factory=dict)

    @property
    def drive_names(self) -> str:
        """The drives under the directory, as the kernel calls them; empty if there is none here."""
        return ", ".join(one.name for one in self.drives)

    @property
    def where(self) -> str:
        """What was measured, in words."""
        drives = ", ".join(f"{one.name} ({one.model or 'model unknown'})" for one in self.drives)
        return f"{self.file_system} on {drives or 'no local drive'}"

    @property
    def how(self) -> str:
        """How it was measured, in words."""
        return (
            f"one file of {size(self.file_bytes)}, {self.seconds} s per row, fio with {self.engine}"
        )

    @property
    def headline(self) -> dict[str, ProfileRow]:
        """The rows that data sheets print, by figure; those that are invalid are missing."""
        return {
            HEADLINE[kind]: row
            for row in self.rows
            if row.group == "headline"
            and not row.invalid
            and (kind := (row.pattern, row.block_bytes)) in HEADLINE
        }

    def beside(self, sheet: DataSheet) -> Profile:
        """The profile with the figures of the drive's data sheet."""
        found = tuple(claims(sheet, self.headline))
        return self.model_copy(update={"datasheet": sheet, "claims": found})

    @property
    def written_bytes(self) -> float:
        """About how much was written, with the ramps, the file and the copy."""
        each = (row.write.bytes_per_s for row in self.rows if row.write and not row.files_per_s)
        return self.file_bytes + 2 * FILES * FILE_BYTES + (self.seconds + RAMP_S) * sum(each)


def profile(
    directory: Path,
    size_bytes: int,
    seconds: int,
    watch: Callable[[ProfileRow], None],
    jobs: Sequence[Job] = JOBS,
) -> Profile:
    """Measure a directory: each job for so many seconds, on one file of that size.

    `watch` gets each row as it is measured. Raises PlanError before anything is written where fio,
    space or a drive is missing.
    """
    program, started = found_fio(), datetime.now(UTC)
    require_room(directory, size_bytes)
    rows, documents = list[ProfileRow](), dict[str, Any]()
    folder = directory.resolve() / f".kneebench-profile-{uuid.uuid4().hex[:8]}"
    with Journal().directory(folder, "a profile's file") as place:
        fio = chosen(program, place / "file", size_bytes)
        fio.fill()
        for job in jobs:
            row, documents[job.name] = _measured(fio, job, seconds)
            rows.append(row)
            watch(row)
        rows.append(tree_copy(place))
        watch(rows[-1])
    return Profile(
        kneebench=kneebench_version(),
        started_at=started.isoformat(timespec="seconds"),
        directory=directory.resolve(),
        host=host(),
        file_system=file_system_of(directory),
        drives=drives_under([directory]),
        engine=fio.engine,
        file_bytes=size_bytes,
        seconds=seconds,
        rows=tuple(rows),
        fio=documents,
    )


def require_room(directory: Path, size_bytes: int) -> None:
    """Raises PlanError where the directory cannot hold the file, or has no drive."""
    doing = f"profiling {directory}"
    if not directory.is_dir():
        raise PlanError(doing, seen="no such directory", do="name one on the drive")
    if file_system_of(directory) in IN_MEMORY:
        raise PlanError(
            doing, seen="its files are in memory, on no drive", do="name one on the drive"
        )
    needed, free = size_bytes + 2 * FILES * FILE_BYTES, free_bytes(directory)
    if needed > free * (1 - SPARE):
        raise PlanError(
            doing,
            seen=f"{size(needed)} needed, {size(free)} free",
            do="use a smaller --size, or free some space",
        )


def expected_s(size_bytes: int, seconds: int, jobs: Sequence[Job] = JOBS) -> float:
    """About how long a profile takes."""
    return len(jobs) * (seconds + RAMP_S + STARTS_S) + size_bytes / FILL_BYTES_PER_S + 5.0


def writing_s(seconds: int, jobs: Sequence[Job] = JOBS) -> float:
    """For how long a profile writes, beside its file."""
    return sum(job.writes for job in jobs) * (seconds + RAMP_S)


def _measured(fio: Fio, job: Job, seconds: int) -> tuple[ProfileRow, dict[str, Any]]:
    """A row, with the cores' load in the middle of it."""
    meter = Cores()
    with fio.running(job, seconds) as running:
        time.sleep(RAMP_S + STARTS_S)
        before, began_s = meter.read(), time.monotonic()
        time.sleep(max(seconds - 2 * STARTS_S, STARTS_S))
        after, took_s = meter.read(), time.monotonic() - began_s
        document = running.document()
    busy = {
        key.partition("|")[2]: min(1.0, max(0.0, (after[key] - before[key]) / took_s))
        for key in before.keys() & after.keys()
        if key.startswith("cores.busy|")
    }
    row = row_of(job, document, dict(sorted(busy.items(), key=lambda one: int(one[0]))))
    wrong = inconsistent(row, job.workers * job.depth / seconds)
    kept = fio.over_time(job, seconds)
    return row.model_copy(update={"invalid": wrong, "over_time": kept}), document
