"""Jobs on files of our own, one in each directory, removed at the end also after a crash."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kneebench.databases.managed.disk_space import free_bytes
from kneebench.errors import PlanError
from kneebench.lab.drives import IN_MEMORY, file_system_of
from kneebench.lab.journal import Journal
from kneebench.measurement.meters.cores import Cores
from kneebench.measurement.profile.fio import RAMP_S, Fio, chosen, row_of
from kneebench.measurement.profile.jobs import Job
from kneebench.measurement.profile.rows import ProfileRow, inconsistent
from kneebench.measurement.profile.tree_copy import FILE_BYTES, FILES
from kneebench.units import size

SPARE = 0.1
"""Share of the file system that stays free."""
STARTS_S = 0.5
"""For fio to start and end, per job."""


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


@contextlib.contextmanager
def filled_file(program: str, directory: Path, size_bytes: int) -> Iterator[Fio]:
    """fio on a file in the directory that is written in full, in a folder of its own."""
    folder = directory.resolve() / f".kneebench-profile-{uuid.uuid4().hex[:8]}"
    with Journal().directory(folder, "a profile's file") as place:
        fio = chosen(program, place / "file", size_bytes)
        fio.fill()
        yield fio


def measured(
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
    kept = fio.over_time(job, seconds)
    return row.model_copy(update={"invalid": wrong, "over_time": kept})
