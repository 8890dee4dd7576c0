"""Jobs on one or several targets, and the cores' load meanwhile."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

from kneebench.measurement.meters.cores import Cores
from kneebench.measurement.profile.fio import RAMP_S, Fio, row_of
from kneebench.measurement.profile.jobs import Job
from kneebench.measurement.profile.rows import ProfileRow, inconsistent

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
