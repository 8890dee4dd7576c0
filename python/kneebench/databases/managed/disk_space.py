"""Disk-space preflight: what the plan's directories have free, and who may write there."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kneebench.databases.managed.account import Account, bar, covers_possible
from kneebench.errors import PlanError
from kneebench.lab.drives import IN_MEMORY, existing, exists, file_system_of
from kneebench.records import Finding
from kneebench.units import size


class SpaceRequirement(NamedTuple):
    """A directory, what it will contain, and the bytes that this needs."""

    path: Path
    holds: str
    needs_bytes: int


class FreeMemory(NamedTuple):
    """What is free of the machine's memory, and what the server's cache takes of it.

    `cache` is the cache as the engine calls it.
    """

    available_bytes: int
    cache_bytes: int
    cache: str


def device_of(path: Path) -> int:
    """The device number of the file system that contains the path, or will."""
    return existing(path).stat().st_dev


def free_bytes(path: Path) -> int:
    """The bytes that an unprivileged account may still write there."""
    seen = os.statvfs(existing(path))
    return seen.f_bavail * seen.f_frsize


def left_bytes(requirement: SpaceRequirement, memory_bytes: int) -> int:
    """What a directory has free beyond what is required there; in memory at most `memory_bytes`."""
    free = free_bytes(requirement.path)
    in_memory = file_system_of(requirement.path) in IN_MEMORY
    return (min(free, memory_bytes) if in_memory else free) - requirement.needs_bytes


def bytes_beside(requirement: SpaceRequirement, others: Sequence[SpaceRequirement]) -> int:
    """What the others need of the same file system."""
    device = device_of(requirement.path)
    return sum(other.needs_bytes for other in others if device_of(other.path) == device)


def obstacles(requirement: SpaceRequirement, account: Account | None) -> Iterator[Finding]:
    """Findings that prevent the use of a directory, apart from its free space; none if it can be
    used.
    """
    subject = f"{requirement.path} ({requirement.holds})"
    if not exists(requirement.path):
        above = existing(requirement.path)
        seen = (
            "the directory does not exist"
            if os.access(above, os.X_OK)
            else f"no permission to enter {above}"
        )
        yield Finding(
            level="error", subject=subject, seen=seen, do="create it, or correct the plan"
        )
    elif not requirement.path.is_dir():
        yield Finding(level="error", subject=subject, seen="not a directory", do="correct the plan")
    elif not os.access(requirement.path, os.W_OK | os.X_OK):
        yield Finding(
            level="error",
            subject=subject,
            seen="no write permission",
            do="change its owner or use another directory",
        )
    else:
        yield from _barred(requirement, account, subject)


def _barred(
    requirement: SpaceRequirement, account: Account | None, subject: str
) -> Iterator[Finding]:
    top = bar(account, requirement.path)
    if account and top and not covers_possible():
        yield Finding(
            level="error",
            subject=subject,
            seen=f"the server's account {account.name!r} cannot enter {top}",
            do=f"use a directory outside {top}",
        )


def space_shortages(
    requirements: Iterable[SpaceRequirement], memory: FreeMemory, do: str
) -> Iterator[Finding]:
    """Findings for file systems with less free space than all requirements on them together.

    A file system in memory must also leave space for the server's cache.
    """
    by_device: defaultdict[int, list[SpaceRequirement]] = defaultdict(list)
    for requirement in requirements:
        by_device[device_of(requirement.path)].append(requirement)
    for together in by_device.values():
        yield from _shortages(together, memory, do)


def _shortages(
    together: Sequence[SpaceRequirement], memory: FreeMemory, do: str
) -> Iterator[Finding]:
    subject = ", ".join(f"{requirement.path} ({requirement.holds})" for requirement in together)
    needs, free = sum(one.needs_bytes for one in together), free_bytes(together[0].path)
    parts = " + ".join(f"{size(one.needs_bytes)} of {one.holds}" for one in together)
    do = f"free some space, or {do}"
    if free < needs:
        one = f" on one file system: {parts}" if len(together) > 1 else ""
        seen = f"{size(free)} free, {size(needs)} needed{one}"
        yield Finding(level="error", subject=subject, seen=seen, do=do)
        return
    in_all = needs + memory.cache_bytes
    if file_system_of(together[0].path) in IN_MEMORY and memory.available_bytes < in_all:
        cache = f"{size(memory.cache_bytes)} of {memory.cache}"
        needed = f"{size(in_all)} needed: {parts} in memory + {cache}"
        seen = f"{size(memory.available_bytes)} of memory available, {needed}"
        yield Finding(level="error", subject=subject, seen=seen, do=do)


def require(found: Sequence[Finding], what: str) -> None:
    """Raise PlanError for the first error among the findings."""
    for finding in found:
        if finding.level == "error":
            raise PlanError(what, seen=f"{finding.subject}: {finding.seen}", do=finding.do)


def tree_bytes(folder: Path) -> int:
    """Total size of the files under a directory."""
    return sum(
        entry.stat().st_size
        for entry in folder.rglob("*")
        if entry.is_file() and not entry.is_symlink()
    )
