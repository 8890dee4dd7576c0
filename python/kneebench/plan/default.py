"""The plan of `kneebench run` without a plan: the disk under this directory against the same
database in memory.

It needs no root and no second drive. The memory half estimates what faster storage could buy; it is
no bound, for it takes memory and copies on the same cores.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

from kneebench.engine_properties import Footprint, engine_properties
from kneebench.errors import PlanError
from kneebench.plan.amounts import MEMORY_SHARE, log_space_bytes
from kneebench.plan.database import DEFAULT
from kneebench.plan.engine_table import EngineStorage, EngineTable, table_of
from kneebench.plan.ladder import Ladder
from kneebench.plan.plan import Plan
from kneebench.plan.workload import Workload
from kneebench.records import Host
from kneebench.units import size
from kneebench.visible import visible

MEMORY = Path("/dev/shm")  # noqa: S108 (the storage under test, not a temporary file)
_WAREHOUSES_PER_CORE = 10
"""Four warehouses per user, for about 2.5 users per core at the knee of a database in memory
(methods: sizing)."""
_MOST_WAREHOUSES = 100
_FEWEST_WAREHOUSES = 2
SERVERS = 2
"""Servers that are up side by side in the default plan's rounds."""
_TAKEN = 0.9
"""Of what is free when the plan is sized: other processes need some more before the last restore,
and so does the load generator."""


class Free(NamedTuple):
    """What of a machine is free: memory that programs can have, the tmpfs, the disk."""

    memory_bytes: int
    tmpfs_bytes: int
    disk_bytes: int


def default_plan(host: Host | None, directory: Path, memory: Path = MEMORY) -> Plan:
    """The default plan for this machine; `directory` is on the disk to be measured, `memory` is a
    tmpfs.

    Raises PlanError where memory, the tmpfs or the disk has too little free.
    """
    cores = host.cores if host else 2
    memory_bytes = host.memory_bytes if host else 4 << 30
    free = Free(psutil.virtual_memory().available, free_bytes(memory), free_bytes(directory))
    return sized_plan(directory, fitting_warehouses(cores, memory_bytes, free), memory)


def is_default(plan: Plan) -> bool:
    """True for the default plan of a directory, however many warehouses it has."""
    disk, memory = plan.storages.get("disk"), plan.storages.get("memory")
    if not (disk and disk.path and memory and memory.path):
        return False
    like_it = sized_plan(disk.path, plan.workload.warehouses, memory.path)
    return plan == like_it.model_copy(update={"raw_profile": plan.raw_profile})


def sized_plan(directory: Path, warehouses: int, memory: Path = MEMORY) -> Plan:
    """The default plan with `warehouses` warehouses; its question names the directory. The disk is
    also measured without a database where fio is installed.
    """
    disk = f"the disk under {shown(directory.absolute())}"
    return Plan(
        question=f"What would faster storage than {disk} buy this database?",
        baseline="disk",
        raw_profile=shutil.which("fio") is not None,
        database=warm_database(),
        workload=Workload(warehouses=warehouses),
        ladder=short_ladder(),
        storages={"disk": EngineStorage(path=directory), "memory": EngineStorage(path=memory)},
    )


def warm_database() -> EngineTable:
    """The default engine with its data in memory after each restore."""
    return table_of(DEFAULT).model_validate({"page_cache": "warm"})


def short_ladder() -> Ladder:
    """The ladder of a first look, in about ten minutes."""
    return Ladder(
        users=(0, 256),
        step=1.5,
        climb_again=False,
        warm_up_limit=6.0,
        window=3.0,
        final_window=2.0,
        checkpoints=0,
        rounds="short",
        repeats=(10, 24),
        budget=600.0,
        fixed_rate_share=0.5,
        prove="baseline",
    )


def shown(directory: Path, longest: int = 300) -> str:
    """A directory as a question of one line may name it."""
    name = visible(str(directory)).replace("\n", "\\n")
    return name if len(name) <= longest else f"...{name[-longest:]}"


def free_bytes(path: Path) -> int:
    """What is free on the file system of a directory; raises PlanError if it cannot be read."""
    try:
        return shutil.disk_usage(path).free
    except OSError as error:
        raise PlanError(
            f"cannot size the default plan for {path}",
            seen=error.strerror or str(error),
            do="write a plan with your own storages",
        ) from None


def fitting_warehouses(cores: int, memory_bytes: int, free: Free) -> int:
    """As many warehouses as the knee's users need and as fit on this machine.

    The database takes at most a quarter of the memory, and everything that a campaign needs has
    room. Raises PlanError if the smallest database does not fit.

    >>> fitting_warehouses(2, 24 << 30, Free(21 << 30, 24 << 30, 80 << 30))
    20
    >>> fitting_warehouses(2, 8 << 30, Free(4 << 30, 4 << 30, 80 << 30))
    4
    """
    wanted = min(
        max(20, _WAREHOUSES_PER_CORE * cores),
        _MOST_WAREHOUSES,
        memory_bytes // 4 // _footprint().WAREHOUSE_BYTES,
    )
    for warehouses in range(wanted, _FEWEST_WAREHOUSES - 1, -1):
        if not any(_short(warehouses, cores, memory_bytes, free)):
            return warehouses
    raise PlanError(
        "cannot size the default plan",
        seen=(
            f"the machine is too small for a database of {_FEWEST_WAREHOUSES} warehouses:"
            f" {_why(cores, memory_bytes, free)}"
        ),
        do=(
            "free some space, or write a plan with your own storages (`kneebench plan preset"
            " quick`)"
        ),
    )


def _footprint() -> Footprint:
    return engine_properties(DEFAULT).footprint


def _why(cores: int, memory_bytes: int, free: Free) -> str:
    least = _FEWEST_WAREHOUSES * _footprint().WAREHOUSE_BYTES
    return (
        "; ".join(_short(_FEWEST_WAREHOUSES, cores, memory_bytes, free))
        or f"a quarter of the memory is {size(memory_bytes // 4)}, {size(least)} needed"
    )


def _short(warehouses: int, cores: int, memory_bytes: int, free: Free) -> Iterator[str]:
    """Where so many warehouses find too little room, by what `check` will ask for: data and log on
    both, the image beside the disk's, and the caches of two servers.
    """
    footprint = _footprint()
    data = footprint.climb_bytes(warehouses)
    cache = SERVERS * footprint.cache_bytes(memory_bytes // SERVERS, warehouses)
    image = footprint.image_bytes(warehouses)
    in_memory = min(free.tmpfs_bytes, int(memory_bytes * MEMORY_SHARE) - cache)
    log_space = log_space_bytes(min(in_memory, free.disk_bytes - image) - data)
    log = footprint.log_bytes(cores, log_space, quick=False)
    needed = {
        "memory available": (free.memory_bytes, data + log + cache),
        "free in the tmpfs": (free.tmpfs_bytes, data + log),
        "free on the disk": (free.disk_bytes, data + log + image),
    }
    for what, (there, needs) in needed.items():
        if needs > there * _TAKEN:
            yield f"{size(there)} {what}, {size(int(needs / _TAKEN))} needed"
