"""Room for a database: what it will take, what the plan's directories have, and who may use them."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kneebench.databases.postgres.account import Account, bar, covers_possible
from kneebench.errors import PlanError
from kneebench.lab.drives import existing, file_system_of
from kneebench.plan import Plan
from kneebench.plan.default import is_default
from kneebench.plan.footprint import MEMORY_SHARE, climb_bytes
from kneebench.plan.footprint import log_room_bytes as share_of_the_log
from kneebench.plan.plan import Storage
from kneebench.records import Finding
from kneebench.units import size

IN_MEMORY = frozenset(["tmpfs", "ramfs"])


class Place(NamedTuple):
    """A directory and what shall lie in it."""

    path: Path
    holds: str
    needs_bytes: int


def places(storage: Storage, warehouses: int, log_bytes: int) -> list[Place]:
    """Where a storage's files go, with the room that they take."""
    if storage.path is None:
        raise PlanError("storage", seen="no path", do="set path, or url for an external server")
    data = climb_bytes(warehouses)
    if storage.log_path is None:
        return [Place(storage.path, "data and log", data + log_bytes)]
    return [Place(storage.path, "data", data), Place(storage.log_path, "log", log_bytes)]


def device_of(path: Path) -> int:
    """The number of the file system that holds the path, or will."""
    return existing(path).stat().st_dev


def free_bytes(path: Path) -> int:
    """What an ordinary account may still write there."""
    seen = os.statvfs(existing(path))
    return seen.f_bavail * seen.f_frsize


def log_room_bytes(plan: Plan, memory_bytes: int, buffers_bytes: int, image: Sequence[Place]) -> int:
    """What the smallest place for a log can give it: a share of what is left there beside the data; equal for all storages.

    An image that is still to be built counts as built, so that a campaign that is gone on with has the log that it began with.
    """
    found = [place for storage in plan.storages.values() for place in places(storage, plan.workload.warehouses, 0)]
    most = int(memory_bytes * MEMORY_SHARE) - buffers_bytes
    return min((share_of_the_log(_left_bytes(place, most) - _beside(place, image)) for place in found if "log" in place.holds), default=0)


def _beside(place: Place, image: Sequence[Place]) -> int:
    return sum(other.needs_bytes for other in image if device_of(other.path) == device_of(place.path))


def _left_bytes(place: Place, memory_bytes: int) -> int:
    free = free_bytes(place.path)
    return (min(free, memory_bytes) if file_system_of(place.path) in IN_MEMORY else free) - place.needs_bytes


def obstacles(place: Place, account: Account | None) -> Iterator[Finding]:
    """What stands in the way of using a place, whatever room it has; none where it will do."""
    subject = f"{place.path} ({place.holds})"
    if not place.path.exists():
        yield Finding(level="error", subject=subject, seen="the directory does not exist", do="create it, or correct the plan")
    elif not place.path.is_dir():
        yield Finding(level="error", subject=subject, seen="not a directory", do="correct the plan")
    elif not os.access(place.path, os.W_OK | os.X_OK):
        yield Finding(level="error", subject=subject, seen="no write permission", do="change its owner or use another directory")
    else:
        yield from _barred(place, account, subject)


def _barred(place: Place, account: Account | None, subject: str) -> Iterator[Finding]:
    top = bar(account, place.path)
    if account and top and not covers_possible():
        yield Finding(level="error", subject=subject, seen=f"the server's account {account.name!r} cannot enter {top}", do=f"use a directory outside {top}")


def crowded(wanted: Iterable[Place], buffers_bytes: int, available_bytes: int, do: str) -> Iterator[Finding]:
    """The file systems that have less room than all that shall lie on them at one time; those in memory leave the cache its own."""
    by_device: defaultdict[int, list[Place]] = defaultdict(list)
    for place in wanted:
        by_device[device_of(place.path)].append(place)
    for together in by_device.values():
        yield from _full(together, buffers_bytes, available_bytes, do)


def _full(together: Sequence[Place], buffers_bytes: int, available_bytes: int, do: str) -> Iterator[Finding]:
    subject = ", ".join(f"{place.path} ({place.holds})" for place in together)
    needs, free = sum(place.needs_bytes for place in together), free_bytes(together[0].path)
    parts = " + ".join(f"{size(place.needs_bytes)} of {place.holds}" for place in together)
    if free < needs:
        one = f" on one file system: {parts}" if len(together) > 1 else ""
        yield Finding(level="error", subject=subject, seen=f"{size(free)} free, {size(needs)} needed{one}", do=f"free some space, or {do}")
    elif file_system_of(together[0].path) in IN_MEMORY and available_bytes < needs + buffers_bytes:
        needed = f"{size(needs + buffers_bytes)} needed: {parts} in memory + {size(buffers_bytes)} of shared_buffers"
        yield Finding(level="error", subject=subject, seen=f"{size(available_bytes)} of memory available, {needed}", do=f"free some space, or {do}")


def to_need_less(plan: Plan) -> str:
    """What to change so that less room is needed, and where, for those who never wrote a plan."""
    where = ", in your own plan (`kneebench plan default > plan.toml`)" if is_default(plan) else ""
    return f"lower workload.warehouses or database.settings.max_wal_size{where}"


def require(found: Sequence[Finding], doing: str) -> None:
    """Raises PlanError for the first obstacle."""
    for finding in found:
        if finding.level == "error":
            raise PlanError(doing, seen=f"{finding.subject}: {finding.seen}", do=finding.do)


def tree_bytes(folder: Path) -> int:
    """What the files under a directory hold."""
    return sum(entry.stat().st_size for entry in folder.rglob("*") if entry.is_file() and not entry.is_symlink())
