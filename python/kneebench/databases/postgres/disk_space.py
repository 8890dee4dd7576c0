"""Disk-space preflight: what a database needs, what the plan's directories have free, and who may write there."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kneebench.databases.postgres.account import Account, bar, covers_possible
from kneebench.errors import PlanError
from kneebench.lab.drives import IN_MEMORY, existing, file_system_of
from kneebench.plan import Plan
from kneebench.plan.default import is_default
from kneebench.plan.footprint import MEMORY_SHARE, climb_bytes
from kneebench.plan.footprint import log_space_bytes as log_share_bytes
from kneebench.plan.plan import Storage
from kneebench.records import Finding
from kneebench.units import size


class SpaceRequirement(NamedTuple):
    """A directory, what it will contain, and the bytes that this needs."""

    path: Path
    holds: str
    needs_bytes: int


def space_requirements(storage: Storage, warehouses: int, log_bytes: int) -> list[SpaceRequirement]:
    """The directories of a storage's files, with the space that each needs."""
    if storage.path is None:
        raise PlanError("storage", seen="no path", do="set path, or url for an external server")
    data = climb_bytes(warehouses)
    if storage.log_path is None:
        return [SpaceRequirement(storage.path, "data and log", data + log_bytes)]
    return [SpaceRequirement(storage.path, "data", data), SpaceRequirement(storage.log_path, "log", log_bytes)]


def device_of(path: Path) -> int:
    """The device number of the file system that contains the path, or will."""
    return existing(path).stat().st_dev


def free_bytes(path: Path) -> int:
    """The bytes that an unprivileged account may still write there."""
    seen = os.statvfs(existing(path))
    return seen.f_bavail * seen.f_frsize


def log_space_bytes(plan: Plan, memory_bytes: int, buffers_bytes: int, image: Sequence[SpaceRequirement]) -> int:
    """Space for the log, equal for all storages: a share of what the data leaves free on the smallest log directory.

    A base image that is not built yet counts as built, so a resumed campaign has the same log size as at its start.
    """
    found = [requirement for storage in plan.storages.values() for requirement in space_requirements(storage, plan.workload.warehouses, 0)]
    most = int(memory_bytes * MEMORY_SHARE) - buffers_bytes
    return min(
        (log_share_bytes(_left_bytes(requirement, most) - _beside(requirement, image)) for requirement in found if "log" in requirement.holds), default=0
    )


def _beside(requirement: SpaceRequirement, image: Sequence[SpaceRequirement]) -> int:
    return sum(other.needs_bytes for other in image if device_of(other.path) == device_of(requirement.path))


def _left_bytes(requirement: SpaceRequirement, memory_bytes: int) -> int:
    free = free_bytes(requirement.path)
    return (min(free, memory_bytes) if file_system_of(requirement.path) in IN_MEMORY else free) - requirement.needs_bytes


def obstacles(requirement: SpaceRequirement, account: Account | None) -> Iterator[Finding]:
    """Findings that prevent the use of a directory, apart from its free space; none if it can be used."""
    subject = f"{requirement.path} ({requirement.holds})"
    if not requirement.path.exists():
        yield Finding(level="error", subject=subject, seen="the directory does not exist", do="create it, or correct the plan")
    elif not requirement.path.is_dir():
        yield Finding(level="error", subject=subject, seen="not a directory", do="correct the plan")
    elif not os.access(requirement.path, os.W_OK | os.X_OK):
        yield Finding(level="error", subject=subject, seen="no write permission", do="change its owner or use another directory")
    else:
        yield from _barred(requirement, account, subject)


def _barred(requirement: SpaceRequirement, account: Account | None, subject: str) -> Iterator[Finding]:
    top = bar(account, requirement.path)
    if account and top and not covers_possible():
        yield Finding(level="error", subject=subject, seen=f"the server's account {account.name!r} cannot enter {top}", do=f"use a directory outside {top}")


def space_shortages(requirements: Iterable[SpaceRequirement], buffers_bytes: int, available_bytes: int, do: str) -> Iterator[Finding]:
    """Findings for file systems with less free space than all requirements on them together. A file system in memory must also
    leave space for shared_buffers."""
    by_device: defaultdict[int, list[SpaceRequirement]] = defaultdict(list)
    for requirement in requirements:
        by_device[device_of(requirement.path)].append(requirement)
    for together in by_device.values():
        yield from _shortages(together, buffers_bytes, available_bytes, do)


def _shortages(together: Sequence[SpaceRequirement], buffers_bytes: int, available_bytes: int, do: str) -> Iterator[Finding]:
    subject = ", ".join(f"{requirement.path} ({requirement.holds})" for requirement in together)
    needs, free = sum(requirement.needs_bytes for requirement in together), free_bytes(together[0].path)
    parts = " + ".join(f"{size(requirement.needs_bytes)} of {requirement.holds}" for requirement in together)
    if free < needs:
        one = f" on one file system: {parts}" if len(together) > 1 else ""
        yield Finding(level="error", subject=subject, seen=f"{size(free)} free, {size(needs)} needed{one}", do=f"free some space, or {do}")
    elif file_system_of(together[0].path) in IN_MEMORY and available_bytes < needs + buffers_bytes:
        needed = f"{size(needs + buffers_bytes)} needed: {parts} in memory + {size(buffers_bytes)} of shared_buffers"
        yield Finding(level="error", subject=subject, seen=f"{size(available_bytes)} of memory available, {needed}", do=f"free some space, or {do}")


def reduction_hint(plan: Plan) -> str:
    """The plan keys that reduce the space needed; for the default plan also how to get a plan to edit."""
    where = ", in your own plan (`kneebench plan default > plan.toml`)" if is_default(plan) else ""
    return f"lower workload.warehouses or database.settings.max_wal_size{where}"


def require(found: Sequence[Finding], doing: str) -> None:
    """Raise PlanError for the first error among the findings."""
    for finding in found:
        if finding.level == "error":
            raise PlanError(doing, seen=f"{finding.subject}: {finding.seen}", do=finding.do)


def tree_bytes(folder: Path) -> int:
    """Total size of the files under a directory."""
    return sum(entry.stat().st_size for entry in folder.rglob("*") if entry.is_file() and not entry.is_symlink())
