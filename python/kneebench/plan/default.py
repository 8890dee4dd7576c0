"""The plan of `kneebench run` without a plan: the disk under this directory against the same database in memory.

It needs no root and no second drive. The memory half estimates what faster storage could buy; it is no
bound, for it takes memory and copies on the same cores.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from kneebench.errors import PlanError
from kneebench.plan.duration import WAREHOUSE_BYTES
from kneebench.plan.plan import Ladder, Plan, Storage, Workload
from kneebench.records import Host
from kneebench.units import size

MEMORY = Path("/dev/shm")  # noqa: S108 (the storage under test, not a temporary file)
_WAREHOUSES_PER_CORE = 10
"""Four warehouses a user, for about 2.5 users a core at the knee of a database in memory (methods: sizing)."""
_MOST_WAREHOUSES = 100
_FEWEST_WAREHOUSES = 2
_GROWTH = 1.25
"""What the tables grow to during a climb, at most."""
_LOG_BYTES = 768 << 20
"""Room for the log, at least: the engine takes what there is, so that checkpoints come by time."""


def default_plan(host: Host | None, directory: Path, memory: Path = MEMORY) -> Plan:
    """The default plan for this machine; `directory` is on the disk to be measured, `memory` is a tmpfs.

    Raises PlanError where the tmpfs or the disk holds too little.
    """
    cores = host.cores if host else 2
    memory_bytes = host.memory_bytes if host else 4 << 30
    return sized_plan(directory, _warehouses(cores, memory_bytes, _free(directory), _free(memory)), memory)


def sized_plan(directory: Path, warehouses: int, memory: Path = MEMORY) -> Plan:
    """The default plan with so many warehouses; its question names the directory."""
    return Plan(
        question=f"What would faster storage than the disk under {directory.absolute()} buy this database?",
        baseline="disk",
        workload=Workload(warehouses=warehouses),
        ladder=Ladder(
            users=(0, 256), step=1.5, climb_again=False, warm_up_limit=14.0, window=6.0, report_window=12.0, checkpoints=0, repeats=3, budget=600.0,
            latency_share=0.5,
        ),
        storages={"disk": Storage(path=directory), "memory": Storage(path=memory)},
    )  # fmt: skip


def _free(path: Path) -> int:
    try:
        return shutil.disk_usage(path).free
    except OSError as error:
        raise PlanError(f"sizing the default plan by {path}", seen=error.strerror or str(error), do="write a plan that names your own storages") from None


def _warehouses(cores: int, memory_bytes: int, disk_bytes: int, shm_bytes: int) -> int:
    """As many as the knee's users want, and no more than a quarter of the memory, the tmpfs, and half the disk hold.

    >>> _warehouses(2, 24 << 30, 80 << 30, 24 << 30), _warehouses(2, 4 << 30, 80 << 30, 24 << 30)
    (20, 9)
    """
    wanted = min(max(20, _WAREHOUSES_PER_CORE * cores), _MOST_WAREHOUSES)
    in_memory, on_disk = (int((free_bytes - _LOG_BYTES) / _GROWTH) for free_bytes in (shm_bytes, disk_bytes // 2))
    room = {"a quarter of the memory": memory_bytes // 4, f"{MEMORY}": in_memory, "half of the free disk": on_disk}
    place, held_bytes = min(room.items(), key=lambda item: item[1])
    if held_bytes < _FEWEST_WAREHOUSES * WAREHOUSE_BYTES:
        do = f"free some, make {MEMORY} larger, or write a plan that names your own storages (`kneebench plan preset quick`)"
        needed = _FEWEST_WAREHOUSES * WAREHOUSE_BYTES
        raise PlanError("sizing the default plan", seen=f"{place} leaves {size(max(held_bytes, 0))} for a database of at least {size(needed)}", do=do)
    return min(wanted, held_bytes // WAREHOUSE_BYTES)
