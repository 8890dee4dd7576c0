"""Room for a database: what it will take, what the plan's directories have, and who may use them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kneebench.databases.postgres.account import Account, bar, covers_possible
from kneebench.databases.postgres.settings import GIB, data_bytes
from kneebench.errors import PlanError
from kneebench.lab.drives import existing, file_system_of
from kneebench.plan import Plan
from kneebench.plan.plan import Storage
from kneebench.records import Finding
from kneebench.units import size

IN_MEMORY = frozenset(["tmpfs", "ramfs"])
MEMORY_SHARE = 0.85
"""Of the machine's memory, what database, cache and files in memory may take together."""
GROWTH_SHARE = 0.25
"""What a climb may add to the data: orders, their lines, history, and versions not yet vacuumed."""


class Place(NamedTuple):
    """A directory and what shall lie in it."""

    path: Path
    holds: str
    needs_bytes: int


def climb_bytes(warehouses: int) -> int:
    """The loaded data and what a climb adds to it."""
    return round(data_bytes(warehouses) * (1 + GROWTH_SHARE)) + GIB // 4


def places(storage: Storage, warehouses: int, log_bytes: int) -> list[Place]:
    """Where a storage's files go, with the room that they take."""
    if storage.path is None:
        raise PlanError("looking for a storage's directory", seen="it has no path", do="set path (or url, for a server that runs already)")
    data = climb_bytes(warehouses)
    if storage.log_path is None:
        return [Place(storage.path, "data and log", data + log_bytes)]
    return [Place(storage.path, "data", data), Place(storage.log_path, "log", log_bytes)]


def free_bytes(path: Path) -> int:
    """What an ordinary account may still write there."""
    seen = os.statvfs(existing(path))
    return seen.f_bavail * seen.f_frsize


def log_room_bytes(plan: Plan, memory_bytes: int, buffers_bytes: int) -> int:
    """What the smallest place for a log can give it: a third of what is left there beside the data; equal for all storages."""
    found = [place for storage in plan.storages.values() for place in places(storage, plan.workload.warehouses, 0)]
    return min((_left_bytes(place, int(memory_bytes * MEMORY_SHARE) - buffers_bytes) // 3 for place in found if "log" in place.holds), default=0)


def _left_bytes(place: Place, memory_bytes: int) -> int:
    free = free_bytes(place.path)
    return (min(free, memory_bytes) if file_system_of(place.path) in IN_MEMORY else free) - place.needs_bytes


def obstacles(place: Place, account: Account | None, buffers_bytes: int, available_bytes: int) -> Iterator[Finding]:
    """What stands in the way of using a place; none where it will do."""
    subject = f"{place.path} ({place.holds})"
    if not place.path.exists():
        yield Finding(level="error", subject=subject, seen="the directory does not exist", do="create it, or correct the plan")
    elif not place.path.is_dir():
        yield Finding(level="error", subject=subject, seen="this is not a directory", do="correct the plan")
    elif not os.access(place.path, os.W_OK | os.X_OK):
        yield Finding(level="error", subject=subject, seen="we may not write there", do="change its owner or use another directory")
    else:
        yield from _barred(place, account, subject)
        yield from _full(place, subject, buffers_bytes, available_bytes)


def _barred(place: Place, account: Account | None, subject: str) -> Iterator[Finding]:
    top = bar(account, place.path)
    if account and top and not covers_possible():
        yield Finding(level="error", subject=subject, seen=f"the server's account {account.name!r} may not enter {top}", do=f"use a directory outside of {top}")


def _full(place: Place, subject: str, buffers_bytes: int, available_bytes: int) -> Iterator[Finding]:
    free = free_bytes(place.path)
    if free < place.needs_bytes:
        yield Finding(
            level="error",
            subject=subject,
            seen=f"{size(free)} free, {size(place.needs_bytes)} needed",
            do="free some, or lower workload.warehouses or max_wal_size",
        )
    elif file_system_of(place.path) in IN_MEMORY and available_bytes < place.needs_bytes + buffers_bytes:
        needed = f"{size(place.needs_bytes)} of files in memory and {size(buffers_bytes)} of shared_buffers"
        yield Finding(
            level="error", subject=subject, seen=f"{size(available_bytes)} of memory available, {needed} needed", do="lower workload.warehouses or max_wal_size"
        )


def require(found: Sequence[Finding], doing: str) -> None:
    """Raises PlanError for the first obstacle."""
    for finding in found:
        if finding.level == "error":
            raise PlanError(doing, seen=f"{finding.subject}: {finding.seen}", do=finding.do)


def tree_bytes(folder: Path) -> int:
    """What the files under a directory hold."""
    return sum(entry.stat().st_size for entry in folder.rglob("*") if entry.is_file() and not entry.is_symlink())
