"""A profile of one directory or whole drive: every job, and a copy of small files."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import Field

from kneebench.lab.host import described, host, kneebench_version
from kneebench.measurement.meters.cores import Cores
from kneebench.measurement.profile.datasheet import Claim, DataSheet, claims
from kneebench.measurement.profile.fio import RAMP_S, Fio, found_fio, row_of
from kneebench.measurement.profile.jobs import HEADLINE, JOBS, KIB, Job
from kneebench.measurement.profile.rows import ProfileRow, inconsistent
from kneebench.measurement.profile.targets import (
    FILE_BYTES,
    FILES,
    DirectoryTarget,
    DriveTarget,
    PreconditioningWatcher,
    Target,
    tree_copy,
)
from kneebench.plan.authors_words import Published
from kneebench.plan.study import Study
from kneebench.records import Host, Preconditioned, Record, Watch, WholeDrive, unwatched
from kneebench.units import count, size


class Profile(Record):
    """What a directory's drive did, at `seconds` per row. `fio`: fio's own document of each row, by
    name; `engine`: how fio submitted I/O; `claims`: the figures of the data sheet, if there is one.
    `raw`: `directory` is the device of a whole drive, which has neither file nor file system;
    `preconditioned`: how it was written first. `storage`: its name in the plan that it is of, with
    the figures that others `published` of its rows; `emulated`: its drives are.
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
    raw: bool = False
    preconditioned: tuple[Preconditioned, ...] = ()
    datasheet: DataSheet | None = None
    claims: tuple[Claim, ...] = ()
    storage: str = ""
    emulated: bool = False
    published: tuple[Published, ...] = ()
    fio: dict[str, Any] = Field(default_factory=dict)

    @property
    def drive_names(self) -> str:
        """The drives under the directory, as the kernel calls them; empty if there is none here."""
        return ", ".join(one.name for one in self.drives)

    @property
    def where(self) -> str:
        """What was measured, in words."""
        drives = ", ".join(f"{one.name} ({one.model or 'model unknown'})" for one in self.drives)
        on = " " if self.raw else " on "
        return f"{self.file_system}{on}{drives or 'no local drive'}"

    @property
    def how(self) -> str:
        """How it was measured, in words."""
        return f"{self.span}, {self.seconds} s per row, fio with {self.engine}"

    @property
    def span(self) -> str:
        """What was read and written, in words."""
        if not self.raw:
            return f"one file of {size(self.file_bytes)}"
        writes = any(row.write for row in self.rows)
        return f"all {size(self.file_bytes)}{'' if writes else ', read only'}"

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

    @property
    def iops_limit(self) -> str:
        """A sentence where something limits the I/Os per second; else empty."""
        limit = iops_limit(self.rows)
        if limit is None:
            return ""
        return (
            f"Random reads are pinned at {count(limit)} per second, whatever their size and the"
            " queue depth: an IOPS limit of a cloud volume or a throttle, or a disk that seeks."
        )

    def beside(self, sheet: DataSheet) -> Profile:
        """The profile with the figures of the drive's data sheet."""
        found = tuple(claims(sheet, self.headline))
        return self.model_copy(update={"datasheet": sheet, "claims": found})

    def of_storage(self, name: str, study: Study) -> Profile:
        """The same of a storage of a plan, with the figures that others published of it."""
        published = (one for one in study.brief.published if one.kind == "profile")
        update = {
            "storage": name,
            "emulated": any(one.emulated_drives for one in study.storages[name].volumes),
            "published": tuple(one for one in published if one.storage == name),
        }
        return self.model_copy(update=update)

    @property
    def written_bytes(self) -> float:
        """About how much was written, with the ramps, the file and the copy."""
        each = (row.write.bytes_per_s for row in self.rows if row.write and not row.files_per_s)
        before = sum(one.written_bytes for one in self.preconditioned)
        if not self.raw:
            before += self.file_bytes + 2 * FILES * FILE_BYTES
        return before + (self.seconds + RAMP_S) * sum(each)


def profile(
    target: Target,
    seconds: int,
    watch: Callable[[ProfileRow], None],
    jobs: Sequence[Job] = JOBS,
    progress: Watch = unwatched,
) -> Profile:
    """Measure a target: each job that it allows for so many seconds.

    `watch` gets each row as it is measured, `progress` the steps before. Raises PlanError or
    Refused before anything is written where fio, space or a drive is missing, or must not be
    written to.
    """
    program, started = found_fio(), datetime.now(UTC)
    target.require()
    rows, documents = list[ProfileRow](), dict[str, Any]()
    written = PreconditioningWatcher(progress)
    with target.opened(program, written) as fio:
        for job in target.jobs(jobs):
            ((row, documents[job.name]),) = measure_rows([fio], job, seconds)
            rows.append(row)
            watch(row)
        if isinstance(target, DirectoryTarget):
            rows.append(tree_copy(fio.folder))
            watch(rows[-1])
    return Profile(
        kneebench=kneebench_version(),
        started_at=started.isoformat(timespec="seconds"),
        directory=target.path.resolve(),
        host=described(host()),
        file_system=target.what,
        drives=target.drives,
        raw=isinstance(target, DriveTarget),
        preconditioned=written.drives,
        engine=fio.engine,
        file_bytes=target.size_bytes,
        seconds=seconds,
        rows=tuple(rows),
        fio=documents,
    )


def expected_s(target: Target, seconds: int, jobs: Sequence[Job] = JOBS) -> float:
    """About how long a profile takes."""
    return target.filled_s + rows_s(seconds, target.jobs(jobs)) + 5.0


def writing_s(target: Target, seconds: int, jobs: Sequence[Job] = JOBS) -> float:
    """For how long a profile writes."""
    writes = sum(job.writes for job in target.jobs(jobs))
    return target.filled_s + writes * (seconds + RAMP_S)


def rows_s(seconds: int, jobs: Sequence[Job]) -> float:
    """About how long it takes to measure these jobs."""
    return len(jobs) * (seconds + RAMP_S + STARTS_S)


# An IOPS limit: a cloud volume, a throttle and a disk that seeks allow so many I/Os per second,
# however large. Flash does fewer of larger ones.

ALIKE = 0.03
"""Of the mean: rows that differ by no more are the same."""
BLOCKS = (4 * KIB, 8 * KIB, 16 * KIB)
DEPTHS = (16, 64)


def iops_limit(rows: Sequence[ProfileRow]) -> float | None:
    """The random reads per second that are the same for blocks of 4, 8 and 16 KiB, and at four
    times the depth. None if they differ, or if a core may have been the limit.
    """
    reads = [row for row in rows if row.pattern == "randread" and not row.invalid]
    blocks = [row for row in reads if row.group == "block size" and row.block_bytes in BLOCKS]
    depths = [row for row in reads if row.group == "queue depth" and row.depth in DEPTHS]
    found = [*blocks, *depths]
    if len(found) < len(BLOCKS) + len(DEPTHS) or any(row.limited_by_a_core for row in found):
        return None
    iops = [row.iops for row in found]
    return fmean(iops) if max(iops) - min(iops) <= ALIKE * fmean(iops) else None


# Jobs on one or several targets, and the cores' load meanwhile.

STARTS_S = 0.5
"""For fio to start and end, per job."""


def measure_rows(
    fios: Sequence[Fio], job: Job, seconds: int
) -> list[tuple[ProfileRow, dict[str, Any]]]:
    """A row and fio's document for each file, all at the same time, with the cores' load in the
    middle of it.
    """
    meter = Cores()
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(fio.running(job, seconds)) for fio in fios]
        time.sleep(RAMP_S + STARTS_S)
        before, began_s = meter.read(), time.monotonic()
        time.sleep(max(seconds - 2 * STARTS_S, STARTS_S))
        after, took_s = meter.read(), time.monotonic() - began_s
        documents = [one.document() for one in running]
    busy = {
        key.partition("|")[2]: min(1.0, max(0.0, (after[key] - before[key]) / took_s))
        for key in before.keys() & after.keys()
        if key.startswith("cores.busy|")
    }
    cores = dict(sorted(busy.items(), key=lambda one: int(one[0])))
    return [
        (_row(fio, job, seconds, document, cores), document)
        for fio, document in zip(fios, documents, strict=True)
    ]


def _row(
    fio: Fio, job: Job, seconds: int, document: Mapping[str, Any], cores_busy: Mapping[str, float]
) -> ProfileRow:
    row = row_of(job, document, cores_busy)
    wrong = inconsistent(row, job.workers * job.depth / seconds)
    kept = fio.over_time(job, seconds, document)
    return row.model_copy(update={"invalid": wrong, "over_time": kept})
