"""Findings on what limits the databases of a plan: what this machine lacks for it, and the cores
that each configuration gets; nothing is changed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence

import psutil

from kneebench.lab.control_groups import hierarchy_of
from kneebench.lab.limits import controller
from kneebench.lab.preparation import Shares
from kneebench.lab.topology import as_list, cores_of_node
from kneebench.plan.database_plan import DatabasePlan
from kneebench.records import Configuration, Finding
from kneebench.units import exact_size, size

V1_REASON = (
    "limits of reads and writes need cgroup v2 with its io controller; v1 limits direct I/O alone,"
    " and databases write through the page cache"
)


def missing_for_all(cores: Sequence[int], memory_bytes: int | None) -> Iterator[Finding]:
    """What prevents the cores and the memory limit that the plan gives to all databases."""
    if missing := sorted({*cores} - os.sched_getaffinity(0)):
        seen = f"not available to this process: core {', '.join(map(str, missing))}"
        yield _error("database.cores", seen, "use cores of this machine")
    elif cores and not shutil.which("taskset"):
        seen, do = "taskset (util-linux) is missing", "install it, or remove database.cores"
        yield _error("database.cores", seen, do)
    if memory_bytes and controller() is None:
        seen = "there is no memory cgroup controller that this process may use"
        do = "run as root on a kernel with memory cgroups, or remove database.memory"
        yield _error("database.memory", seen, do)
    yield from _more_than_here("database.memory", memory_bytes, "memory")


def constraint_findings(plan: DatabasePlan) -> Iterator[Finding]:
    """What prevents the plan's constraints, or how they are applied; none without any."""
    if not any(one.constraint or one.reference for one in plan.configurations):
        return
    first = {one.constraint: one for one in reversed(plan.configurations)}
    wrong = [one for configuration in first.values() for one in _missing(plan, configuration)]
    yield from {one.seen: one for one in wrong}.values()
    if not wrong:
        yield from _pinned(plan, list(reversed(first.values())))


def _missing(plan: DatabasePlan, configuration: Configuration) -> Iterator[Finding]:
    subject = "constraints"
    resources = Shares(plan).resources_of(configuration)
    if configuration.numa_node is not None and not cores_of_node(configuration.numa_node):
        seen = f"there is no NUMA node {configuration.numa_node}"
        yield _error(subject, seen, "use one of /sys/devices/system/node")
    elif configuration.numa_node is not None and hierarchy_of("cpuset") is None:
        seen = "memory of a NUMA node is limited by a cpuset, and this process may make none"
        yield _error(subject, seen, "run as root on a kernel with cpusets, or remove numa_node")
    elif len(resources.cores) < (configuration.cores or 1):
        kind = "" if configuration.siblings else "physical "
        do = "use fewer cores, or add some to database.cores"
        seen = (
            f"{configuration.constraint}: needs {configuration.cores} {kind}cores,"
            f" {len(resources.cores)} available"
        )
        yield _error(subject, seen, do)
    if resources.pinned and not shutil.which("taskset"):
        do = "install it, or remove the constraints on cores"
        yield _error(subject, "taskset (util-linux) is missing", do)
    if configuration.memory_bytes and controller() is None:
        seen = "memory is limited by a cgroup, and this process may use no memory controller"
        do = "run as root on a kernel with memory cgroups, or limit engine_memory or cores alone"
        yield _error("constraints", seen, do)
    if not any(plan.urls.values()):  # the memory of a server by URL is not this machine's
        yield from _more_than_here(subject, configuration.memory_bytes, "memory")
        yield from _more_than_here(subject, configuration.engine_memory_bytes, "engine_memory")
    if configuration.io and ((there := hierarchy_of("io")) is None or there.version == 1):
        do = "use a kernel with cgroup v2 (echo +io > cgroup.subtree_control), or remove io"
        yield _error(subject, V1_REASON, do)


def _more_than_here(subject: str, wanted_bytes: int | None, key: str) -> Iterator[Finding]:
    """An error where a size of the plan is more than the memory of this machine."""
    if wanted_bytes and wanted_bytes > (there := psutil.virtual_memory().total):
        seen = f"{exact_size(wanted_bytes)} of {key}, and this machine has {size(there)}"
        yield _error(subject, seen, "use a smaller size")


def _pinned(plan: DatabasePlan, some: Sequence[Configuration]) -> Iterator[Finding]:
    """The cores of each number of cores, and of the load generator beside them."""
    shares = Shares(plan)
    pinned = {
        shares.resources_of(configuration): configuration
        for configuration in some
        if shares.resources_of(configuration).pinned
    }
    by_cores = {resources.cores: configuration for resources, configuration in pinned.items()}
    how = "a cpuset" if hierarchy_of("cpuset") else "affinity (a cpuset needs root)"
    for cores, configuration in by_cores.items():
        generator = shares.load_generator_cores(configuration)
        beside = f"the load generator on {as_list(generator)}" if generator else ""
        seen = f"database on cores {as_list(cores)} by {how}"
        if beside:
            yield Finding(level="ok", subject="constraints", seen=f"{seen}, {beside}")
        else:
            do = "leave cores to the load generator, else it takes some of the database's time"
            seen += ", shared with the load generator"
            yield Finding(level="note", subject="constraints", seen=seen, do=do)


def _error(subject: str, seen: str, do: str) -> Finding:
    return Finding(level="error", subject=subject, seen=seen, do=do)
