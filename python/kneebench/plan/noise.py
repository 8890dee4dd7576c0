"""Plans of `kneebench noise`: the same storage under two names (A/A); any difference is noise."""

from __future__ import annotations

from pathlib import Path

import psutil

from kneebench.errors import PlanError
from kneebench.plan.default import Free, fitting_warehouses, free_bytes, shown, sized_plan
from kneebench.plan.study import Study
from kneebench.records import Host

NAMES = ("a", "b")
"""The two names of the storage."""
_USERS_PER_CORE = 2
"""Near the knee of a small database, where the default plan compares; five warehouses per user."""
_ROUNDS = 10
"""As many as the default plan measures at least."""


def noise_plan(host: Host, directory: Path) -> Study:
    """The short plan of one A/A pair on a directory: the default plan with one fixed load instead
    of its climbs.

    Raises PlanError where memory or the disk has too little free.
    """
    directory = directory.absolute()
    half_bytes = free_bytes(directory) // 2
    free = Free(psutil.virtual_memory().available, half_bytes, half_bytes)
    warehouses = fitting_warehouses(host.cores, host.memory_bytes, free)
    study = Study(sized_plan(directory, warehouses))
    fixed = {"users": _USERS_PER_CORE * host.cores, "repeats": _ROUNDS}
    return same_twice(study.changed(ladder=study.ladder.model_copy(update=fixed)))


def same_twice(study: Study) -> Study:
    """The plan with its baseline under two names as its only storages.

    Raises PlanError for several databases, and for short rounds on an external server or on drives:
    they need two of them.
    """
    if "" not in study.databases:
        names = ", ".join(study.databases)
        do = "name a plan with one of them as [database]; each has its own noise floor"
        raise PlanError("databases", seen=f"several databases ({names})", do=do)
    storage = study.storages[study.base]
    drives = any(volume.named_drives for volume in storage.volumes)
    url = study.only_database.urls[study.base]
    if study.ladder.rounds == "short" and (url or drives):
        one = "one set of drives" if drives else "one external server"
        raise PlanError(
            "ladder.rounds",
            seen=f"{one} cannot be measured side by side with itself",
            do='use rounds = "long"',
        )
    where = shown(storage.path.absolute()) if storage.path else study.base
    return study.changed(
        question=f"How noisy is {where} (A/A)?",
        baseline=NAMES[0],
        storages=dict.fromkeys(NAMES, storage),
        ladder=study.ladder.model_copy(update={"prove": "none"}),
    )


def of_pair(study: Study, number: int) -> Study:
    """The plan of one pair, counted from 0. A simulated pair has its own seed, because the same
    seed gives the same noise; real noise has none, and another seed would load another database.
    """
    if study.measures_real_hardware:
        return study
    return study.changed(seed=study.only_database.seed + number)
