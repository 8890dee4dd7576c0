"""Directories on different drives, each alone and then all at the same time: what they share (a
controller, a link, the CPU) shows in the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

from pydantic import Field

from kneebench.errors import PlanError
from kneebench.lab.host import described, host, kneebench_version
from kneebench.measurement.profile.fio import RAMP_S, Fio, found_fio
from kneebench.measurement.profile.jobs import JOBS, Job
from kneebench.measurement.profile.profiling import expected_s, measure_rows, rows_s, writing_s
from kneebench.measurement.profile.rows import ProfileRow
from kneebench.measurement.profile.targets import DriveTarget, PreconditioningWatcher, Target
from kneebench.records import Host, Preconditioned, Record, Watch, WholeDrive, unwatched
from kneebench.units import size

HEADLINE_JOBS = tuple(job for job in JOBS if job.group in ("headline", "log"))
SHARED = 0.9
"""Of the sum of all alone: with less the drives share a limit."""


class Member(Record):
    """One of the directories, and what it is on."""

    directory: Path
    file_system: str
    drives: tuple[WholeDrive, ...]

    @property
    def name(self) -> str:
        """Its drives, as the kernel calls them."""
        return ", ".join(one.name for one in self.drives) or str(self.directory)


class TogetherRow(Record):
    """One kind of I/O on each directory alone, and on all at the same time; in the order of the
    directories. `share`: I/Os per second together, of the sum of those alone.
    """

    name: str
    alone: tuple[ProfileRow, ...]
    together: tuple[ProfileRow, ...]
    share: float | None

    @property
    def sequential(self) -> bool:
        """True where MB/s say more than I/Os per second."""
        return self.alone[0].pattern in ("read", "write") and not self.alone[0].sync

    @property
    def invalid(self) -> str:
        """Why the row must not be quoted; else empty."""
        return next((row.invalid for row in (*self.alone, *self.together) if row.invalid), "")

    @property
    def limited(self) -> str:
        """A sentence where the drives share a limit; else empty."""
        if self.invalid or self.share is None or self.share >= SHARED:
            return ""
        if any(row.limited_by_a_core for row in self.together):
            return "the CPU had no time left, so it may be the limit that the drives share"
        return "the drives share a limit, such as a controller, a link or memory"


class Together(Record):
    """What several directories did alone and together, at `seconds` per row. `fio`: fio's own
    documents by the name of the row: those of each alone, then those together. `raw`: all are whole
    drives, which have no files.
    """

    kneebench: str
    started_at: str
    host: Host
    members: tuple[Member, ...]
    engine: str
    file_bytes: int
    seconds: int
    rows: tuple[TogetherRow, ...]
    raw: bool = False
    preconditioned: tuple[Preconditioned, ...] = ()
    fio: dict[str, list[Any]] = Field(default_factory=dict)

    @property
    def span(self) -> str:
        """What was read and written on each, in words."""
        return "all of each drive" if self.raw else f"one file of {size(self.file_bytes)} on each"

    @property
    def written_bytes(self) -> float:
        """About how much was written to all drives, with the ramps and the files."""
        sides = (side.write for row in self.rows for side in (*row.alone, *row.together))
        per_s = sum(side.bytes_per_s for side in sides if side)
        before = sum(one.written_bytes for one in self.preconditioned)
        before += 0 if self.raw else len(self.members) * self.file_bytes
        return before + (self.seconds + RAMP_S) * per_s


def profile_together(
    targets: Sequence[Target],
    seconds: int,
    watch: Callable[[TogetherRow], None],
    jobs: Sequence[Job] = HEADLINE_JOBS,
    progress: Watch = unwatched,
) -> Together:
    """Measure each job that all targets allow on each of them alone, then on all of them.

    `watch` gets each row as it is measured, `progress` the steps before. Raises PlanError or
    Refused before anything is written where two targets are on one drive, or one cannot be
    measured.
    """
    program, started = found_fio(), datetime.now(UTC)
    for target in targets:
        target.require()
    require_different_drives(targets)
    rows, documents = list[TogetherRow](), dict[str, list[Any]]()
    written = PreconditioningWatcher(progress)
    with ExitStack() as stack:
        fios = [stack.enter_context(one.opened(program, written)) for one in targets]
        for job in allowed(targets, jobs):
            row, documents[job.name] = _row(fios, job, seconds)
            rows.append(row)
            watch(row)
    return Together(
        kneebench=kneebench_version(),
        started_at=started.isoformat(timespec="seconds"),
        host=described(host()),
        members=tuple(map(_member, targets)),
        engine=fios[0].engine,
        file_bytes=min(one.size_bytes for one in targets),
        seconds=seconds,
        rows=tuple(rows),
        raw=all(isinstance(one, DriveTarget) for one in targets),
        preconditioned=written.drives,
        fio=documents,
    )


def allowed(targets: Sequence[Target], jobs: Sequence[Job] = HEADLINE_JOBS) -> list[Job]:
    """The jobs that all targets allow."""
    return [job for job in jobs if all(job in target.jobs(jobs) for target in targets)]


def require_different_drives(targets: Sequence[Target]) -> None:
    """Raises PlanError for a target on no drive of this machine, and for two on one drive."""
    for target in targets:
        if not target.devices:
            raise PlanError(
                f"cannot profile {target.path}",
                seen="it is on no drive of this machine, so it may share one with another",
                do="profile it alone",
            )
    for one, other in combinations(targets, 2):
        if shared := sorted({*one.devices} & {*other.devices}):
            raise PlanError(
                f"cannot profile {one.path} and {other.path} together",
                seen=f"both are on {', '.join(shared)}",
                do="name directories on different drives (kneebench drives lists them)",
            )


def expected_together_s(targets: Sequence[Target], seconds: int) -> float:
    """About how long it takes."""
    jobs = allowed(targets)
    alone = sum(expected_s(target, seconds, jobs) for target in targets)
    return alone + rows_s(seconds, jobs)


def writing_together_s(targets: Sequence[Target], seconds: int) -> float:
    """For how long drives are written to, alone and together."""
    jobs = allowed(targets)
    alone = sum(writing_s(target, seconds, jobs) for target in targets)
    return alone + max(writing_s(target, seconds, jobs) - target.filled_s for target in targets)


def _row(fios: Sequence[Fio], job: Job, seconds: int) -> tuple[TogetherRow, list[Any]]:
    """A row, and fio's documents in its order."""
    alone = [found for fio in fios for found in measure_rows([fio], job, seconds)]
    together = measure_rows(fios, job, seconds)
    most = sum(row.iops for row, _ in alone)
    row = TogetherRow(
        name=job.name,
        alone=tuple(row for row, _ in alone),
        together=tuple(row for row, _ in together),
        share=sum(row.iops for row, _ in together) / most if most else None,
    )
    return row, [document for _, document in (*alone, *together)]


def _member(target: Target) -> Member:
    return Member(directory=target.path.resolve(), file_system=target.what, drives=target.drives)
