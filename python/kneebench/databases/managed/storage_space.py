"""What a restored database needs of the plan's directories and volumes."""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.databases.managed.disk_space import SpaceRequirement, bytes_beside, left_bytes
from kneebench.errors import PlanError
from kneebench.lab.volumes import capacity_bytes
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.machine_share import MEMORY_SHARE
from kneebench.plan.machine_share import log_space_bytes as log_share_bytes
from kneebench.plan.plan import Storage
from kneebench.plan.volume import Volume

TEMPORARY = ("temporary files", 64 * 2**20)
"""What they are called, and how much they may take: TPROC-C writes hardly any."""


def space_requirements(storage: Storage, data_bytes: int, log_bytes: int) -> list[SpaceRequirement]:
    """The directories of a storage's files, with the space that each needs: `data_bytes` with what
    a climb adds. None of volumes, which are made later.
    """
    if storage.volumes:
        return []
    if storage.path is None:
        raise PlanError("storage", seen="no path", do="set path, or url for an external server")
    more = []
    if storage.temporary_path:
        more = [SpaceRequirement(storage.temporary_path, *TEMPORARY)]
    if storage.log_path is None:
        return [SpaceRequirement(storage.path, "data and log", data_bytes + log_bytes), *more]
    return [
        SpaceRequirement(storage.path, "data", data_bytes),
        SpaceRequirement(storage.log_path, "log", log_bytes),
        *more,
    ]


def volume_requirements(
    storage: Storage, data_bytes: int, log_bytes: int
) -> list[tuple[Volume, str, int]]:
    """(volume, what it will contain, bytes) of a storage's volumes."""
    if not storage.volumes:
        return []
    more = [(storage.temporary, *TEMPORARY)] if storage.temporary else []
    if not storage.log:
        return [(storage, "data and log", data_bytes + log_bytes), *more]
    return [(storage, "data", data_bytes), (storage.log, "log", log_bytes), *more]


def log_space_bytes(
    plan: DatabasePlan, memory_bytes: int, cache_bytes: int, image: Sequence[SpaceRequirement]
) -> int:
    """Space for the log of one server, equal for all storages: a share of what the data of all that
    are up at the same time leave free on the smallest log directory, shared out among the databases
    there. `memory_bytes`, `cache_bytes`: those of one server.

    A base image that is not built yet counts as built, so a resumed campaign has the same log size
    as at its start.
    """
    data_bytes = plan.engine.footprint.climb_bytes(plan.workload.warehouses)
    storages = plan.storages.values()
    most = (
        int(plan.servers_at_once * memory_bytes * MEMORY_SHARE) - plan.servers_at_once * cache_bytes
    )
    left = [
        left_bytes(one, most) - bytes_beside(one, image)
        for storage in storages
        for one in space_requirements(storage, data_bytes, 0)
        if "log" in one.holds
    ]
    left += [
        capacity_bytes(volume) - needs_bytes
        for storage in storages
        for volume, holds, needs_bytes in volume_requirements(storage, data_bytes, 0)
        if "log" in holds
    ]
    return min(map(log_share_bytes, left), default=0) // plan.databases_at_once


def reduction_hint(plan: DatabasePlan, log_setting: str) -> str:
    """The plan keys that reduce the space needed, with the setting that sizes the log; for the
    default plan also how to get a plan to edit.
    """
    where = ", in your own plan (`kneebench plan default > plan.toml`)" if plan.by_default else ""
    return f"lower workload.warehouses or database.settings.{log_setting}{where}"
