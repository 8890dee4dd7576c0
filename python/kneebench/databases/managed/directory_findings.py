"""Findings on the plan's directories: access, space for databases and base image, and clones."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

from kneebench.databases.managed import base_image
from kneebench.databases.managed.account import Account
from kneebench.databases.managed.disk_space import (
    FreeMemory,
    SpaceRequirement,
    bytes_beside,
    device_of,
    left_bytes,
    obstacles,
    space_shortages,
)
from kneebench.errors import PlanError
from kneebench.lab.drives import existing, mount_of
from kneebench.lab.limits import Resources
from kneebench.lab.preparation import Shares
from kneebench.lab.volumes import capacity_bytes
from kneebench.plan.amounts import MEMORY_SHARE
from kneebench.plan.amounts import log_space_bytes as log_share_bytes
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.storage import Storage
from kneebench.plan.volume import Volume
from kneebench.records import Finding
from kneebench.units import size

REFLINKING = frozenset(["btrfs", "xfs", "bcachefs"])


class Sizes(NamedTuple):
    """The bytes of a server's log and of its cache, and its settings for them."""

    log_bytes: int
    log_setting: str
    cache_bytes: int
    cache_setting: str


def image_requirement(plan: DatabasePlan, image: Path) -> list[SpaceRequirement]:
    """The base image's directory, with the space that it needs; empty if the image is built."""
    if base_image.find(image):
        return []
    needed = plan.engine.footprint.image_bytes(plan.workload.sized_as)
    return [SpaceRequirement(existing(image.parent), "base image", needed)]


class DirectoryFindings:
    """Findings on the directories of a plan's storages and of its base image, `image`.

    `sizes` are those of the server that loads the image.
    """

    def __init__(
        self, plan: DatabasePlan, image: Path, account: Account | None, sizes: Sizes
    ) -> None:
        self._plan, self._image, self._account, self._sizes = plan, image, account, sizes
        self._data_bytes = plan.engine.footprint.climb_bytes(plan.workload.sized_as)

    def of(self, storage: Storage) -> Iterator[Finding]:
        """What prevents a database on this storage; if nothing does, what will be written there."""
        there = self._requirements(storage)
        found = [one for requirement in there for one in obstacles(requirement, self._account)]
        yield from (found or list(self.shortages(storage)) or map(_to_be_written, there))

    def of_volumes(self, name: str, storage: Storage) -> Iterator[Finding]:
        """Whether the volumes of the storage of this name have space for a database."""
        found = volume_requirements(storage, self._data_bytes, self._sizes.log_bytes)
        for volume, holds, needed in found:
            capacity = capacity_bytes(volume)
            seen = f"{volume.words}: {size(capacity)} for {holds}, up to {size(needed)} needed"
            if capacity < needed:
                do = f"use larger drives, or {self._reduction}"
                yield Finding(level="error", subject=name, seen=seen, do=do)
            else:
                yield Finding(level="ok", subject=name, seen=seen, writes_bytes=needed)

    def shortages(self, storage: Storage) -> Iterator[Finding]:
        """Space missing for a database, beside the base image if that is still to be built."""
        return self._shortages(self._with_image(self._requirements(storage)))

    def side_by_side(self, servers: int) -> Iterator[Finding]:
        """Space missing for the databases of all storages at the same time."""
        needed = [
            requirement
            for one in self._plan.configurations
            for requirement in self._requirements(self._plan.storages[one.storage])
        ]
        return self._shortages(self._with_image(needed), servers)

    def base_image(self) -> Finding:
        """The base image that will be reused, the one to be built, or what prevents it."""
        if image := base_image.find(self._image):
            return Finding(
                level="ok",
                subject="base image",
                seen=f"{image.folder}: built, {size(image.size_bytes)}; will be reused",
                about="base_image",
            )
        [requirement] = image_requirement(self._plan, self._image)
        kept_bytes = self._plan.engine.footprint.data_bytes(self._plan.workload.sized_as)
        written = f"{self._image}: about {size(kept_bytes)} to be written and kept"
        return next(
            itertools.chain(obstacles(requirement, self._account), self._shortages([requirement])),
            Finding(
                level="ok",
                subject="base image",
                seen=written,
                keeps_bytes=kept_bytes,
                about="base_image",
            ),
        )

    def cloning(self) -> Iterator[Finding]:
        """Storages that cannot share blocks with the base image; none unless the plan clones.

        Both must be on one file system that supports reflinks.
        """
        clones = self._plan.database.restore == "clone"
        for name, storage in self._plan.storages.items() if clones else ():
            image, there = mount_of(self._image.parent), mount_of(storage.path or Path())
            if image.source != there.source or there.type not in REFLINKING:
                seen = (
                    f"the base image is on {image.source} ({image.type}), the storage on"
                    f" {there.source} ({there.type})"
                )
                yield Finding(
                    level="error",
                    subject=f"clone to {name!r}",
                    seen=seen,
                    do='put both on one XFS or btrfs, or set restore = "copy"',
                )

    def _requirements(self, storage: Storage) -> list[SpaceRequirement]:
        return space_requirements(storage, self._data_bytes, self._sizes.log_bytes)

    def _with_image(self, there: Sequence[SpaceRequirement]) -> list[SpaceRequirement]:
        """These requirements, and the base image's if it will be built on one of their devices."""
        devices = {device_of(requirement.path) for requirement in there}
        image = image_requirement(self._plan, self._image)
        return [*there, *(one for one in image if device_of(one.path) in devices)]

    def _shortages(
        self, requirements: Sequence[SpaceRequirement], servers: int = 1
    ) -> Iterator[Finding]:
        available_bytes = psutil.virtual_memory().available
        memory = FreeMemory(
            available_bytes, self._sizes.cache_bytes * servers, self._sizes.cache_setting
        )
        return space_shortages(requirements, memory, self._reduction)

    @property
    def _reduction(self) -> str:
        return reduction_hint(self._plan, self._sizes.log_setting)


def _to_be_written(requirement: SpaceRequirement) -> Finding:
    needed = requirement.needs_bytes
    return Finding(
        level="ok",
        subject=str(requirement.path),
        seen=f"{requirement.holds}: up to {size(needed)} to be written, removed after each climb",
        writes_bytes=needed,
        writes_to=str(requirement.path),
    )


# A finding on the caches of servers, as their settings size them.


def too_large_cache(
    shares: Shares,
    name: str,
    settings_for: Callable[[Resources], Mapping[str, str]],
    setting_bytes: Callable[[str], int],
) -> Iterator[Finding]:
    """An error where the cache by the setting `name` is more than the memory of one of the plan's
    servers. Sizes of a constraint's `engine_memory` are judged with the constraints.
    """
    own = (one for one in shares.plan.configurations if not one.engine_memory_bytes)
    for resources in dict.fromkeys(map(shares.resources_of, own)):
        cache, there = setting_bytes(settings_for(resources)[name]), resources.memory_bytes
        if cache > there:
            seen = f"{name} is {size(cache)}, and the server has {size(there)} of memory"
            do = f"use a smaller {name}"
            yield Finding(level="error", subject="database.settings", seen=seen, do=do)
            return


# What a restored database needs of the plan's directories and volumes.

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
    data_bytes = plan.engine.footprint.climb_bytes(plan.workload.sized_as)
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


# What the rules that size a server's settings go by.


class Machine(NamedTuple):
    """The rules' input: `log_space_bytes` is that of the smallest log directory; `cache_bytes` the
    size that the server's own cache must have, whatever the plan's settings say, None for the rule;
    `limited`: a memory limit, which huge pages would escape.
    """

    cores: int
    memory_bytes: int
    log_space_bytes: int
    cache_bytes: int | None = None
    limited: bool = False
