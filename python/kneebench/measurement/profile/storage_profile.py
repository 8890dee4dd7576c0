"""What a storage of a campaign can do without its database: a short profile on its volumes, taken
after the climb, beside an idle server.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from kneebench.databases.managed.disk_space import free_bytes
from kneebench.lab.drives import IN_MEMORY, file_system_of
from kneebench.measurement.profile.fio import found_fio
from kneebench.measurement.profile.jobs import KIB, Job
from kneebench.measurement.profile.profiling import measure_rows
from kneebench.measurement.profile.rows import ProfileRow
from kneebench.measurement.profile.targets import DirectoryTarget
from kneebench.records import Event, RawProfile, RawRow, Watch, unwatched

PAGE_BYTES = 8 * KIB
"""What most databases read and write at a time."""
SCAN_BYTES = 1024 * KIB
"""What the kernel makes of a scan's reads, at the most: no limit of IOPS counts."""
DATA_JOBS = (
    *(Job("raw", "randread", PAGE_BYTES, depth) for depth in (1, 4, 16, 64)),
    *(Job("raw", "randwrite", PAGE_BYTES, depth) for depth in (1, 4, 16)),
    Job("raw", "read", SCAN_BYTES, 8),
)
LOG_JOB = Job("raw", "write", PAGE_BYTES, 1, synced=True)
FILE_BYTES, LEAST_FILE_BYTES = 128 * 2**20, 32 * 2**20
"""Of the file that is read and written; a smaller one where half of the free space is less."""
SECONDS = 2


def storage_profile(
    paths: Sequence[Path], doing: str, watch: Watch, seconds: int = SECONDS
) -> RawProfile | None:
    """The rows of a storage's directories, the data's first and then the log's, if it has its own;
    None where they are in memory.

    Raises PlanError where fio or space is missing.
    """
    data, log = paths[0], paths[-1]
    if any(file_system_of(path) in IN_MEMORY for path in (data, log)):
        return None
    watch(Event(kind="start", doing=doing))
    jobs = {data: DATA_JOBS, log: (LOG_JOB,)} if log != data else {data: (*DATA_JOBS, LOG_JOB)}
    targets = {path: DirectoryTarget(path, _file_bytes(path)) for path in jobs}
    rows = [row for path, target in targets.items() for row in _rows(target, jobs[path], seconds)]
    watch(Event(kind="end", doing=doing, share=1.0))
    file_bytes = targets[data].size_bytes
    return RawProfile(rows=tuple(map(_raw, rows)), seconds=seconds, file_bytes=file_bytes)


def _file_bytes(directory: Path) -> int:
    """As much as fits: a file system may hold back what is free for the files that grow in it (XFS
    does behind tables), and gives it back late.
    """
    return max(LEAST_FILE_BYTES, min(FILE_BYTES, free_bytes(directory) // 2))


def _rows(target: DirectoryTarget, jobs: Sequence[Job], seconds: int) -> list[ProfileRow]:
    target.require(small_files=False)
    with target.opened(found_fio(), unwatched) as fio:
        return [row for job in jobs for row, _ in measure_rows([fio], job, seconds)]


def _raw(row: ProfileRow) -> RawRow:
    return RawRow(
        name=row.name,
        kind=_kind(row),
        block_bytes=row.block_bytes,
        depth=row.depth or 1,
        iops=row.iops,
        mean_s=row.mean_s or 0.0,
        invalid=row.invalid,
    )


def _kind(row: ProfileRow) -> Literal["read", "write", "log", "scan"]:
    if row.sync:
        return "log"
    if row.write:
        return "write"
    return "scan" if row.pattern == "read" else "read"
