"""Settings of a managed server: rules by the machine, overridden one by one by the plan.

The rules are the same for all storages of a plan, so that nothing but the storage differs between
them:

- shared_buffers: a quarter of memory, at most 8 GiB, and no more than the data (with room to grow)
  can fill.
- max_wal_size: the log of one and a half checkpoint cycles at 10 MB/s per core, so that checkpoints
  are triggered by time and not by volume; at most what fits into the smallest log directory (a
  tmpfs counts as memory).
- checkpoint_timeout: 5 min; 1 min for quick plans, whose windows would otherwise contain no
  checkpoint. With short rounds neither a checkpoint nor autovacuum may fall into a window by
  chance: both wait for an hour, longer than each restored database runs. Its log must fit, mostly
  full-page images: 3 GB for 20 warehouses. With one load for all configurations and no whole cycles
  checkpoints wait as long.
- Durable: fsync, full_page_writes and synchronous_commit on. The log is minimal: no standby reads
  it.
- Rolled back orders (1% by design) write no lines to the server's log.
- Dynamic shared memory (next to none without parallel queries) is in the data directory: a killed
  server leaves nothing in /dev/shm.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from kneebench.databases.engines.postgres.allowed_settings import SIZE
from kneebench.databases.engines.postgres.builds import PostgresBuild
from kneebench.databases.engines.postgres.footprint import (
    GIB,
    MIB,
    cache_bytes,
    checkpoint_timeout_s,
    log_bytes,
)
from kneebench.databases.engines.postgres.launcher import Launch, program
from kneebench.databases.loading import SESSIONS_EACH
from kneebench.databases.managed.directory_findings import Machine
from kneebench.errors import PlanError
from kneebench.lab.folder import Folder
from kneebench.plan.database_plan import DatabasePlan

INITDB = frozenset(["data_checksums", "wal_segment_size"])
"""Settings that are fixed when the cluster is made."""
SWITCHED_ON = (
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "autovacuum",
    "track_io_timing",
    "track_wal_io_timing",
    "log_checkpoints",
)
LATE = "1h"
"""Longer than any restored database runs whose windows no checkpoint may begin in. One also comes
at max_wal_size / (1 + completion target): late with a small one.
"""
LISTENING = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "logging_collector": "off",
    "log_destination": "stderr",
    "dynamic_shared_memory_type": "mmap",
}


def _text(value: str | int | float | bool) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def rules(plan: DatabasePlan, machine: Machine) -> dict[str, str]:
    """The settings of every server of the plan, by the rules, then as the plan says."""
    users = plan.ladder.most_users
    connections = min(users, plan.workload.connections or users)
    quick = plan.ladder.quick
    short = plan.ladder.rounds == "short"
    late = short or plan.aligned
    log_mib = log_bytes(machine.cores, machine.log_space_bytes, quick=quick and not late) // MIB
    ruled = {
        "shared_buffers": f"{cache_bytes(machine.memory_bytes, plan.workload.sized_as) // MIB}MB",
        "max_connections": str(connections + 24 + SESSIONS_EACH * (plan.workload.databases - 1)),
        "max_wal_size": f"{log_mib}MB",
        "min_wal_size": f"{log_mib // 2}MB",
        "checkpoint_timeout": LATE if late else f"{checkpoint_timeout_s(quick=quick)}s",
        "checkpoint_completion_target": "0.1" if late else "0.9",
        **({"autovacuum_naptime": LATE} if short else {}),
        **dict.fromkeys(SWITCHED_ON, "on"),
        "wal_level": "minimal",
        "max_wal_senders": "0",
        "jit": "off",
        "max_parallel_workers_per_gather": "0",
        "random_page_cost": "1.1",
        "log_min_messages": "log",
        "log_min_error_statement": "panic",
        **({"huge_pages": "off"} if machine.limited else {}),
        **LISTENING,
    }
    if plan.workload.type == "tproc-h":
        ruled |= _of_queries(machine, plan.ladder.last)
    settings = plan.database.settings.items()
    given = {name: _text(value) for name, value in settings if name not in INITDB}
    cache = machine.cache_bytes
    return ruled | given | ({"shared_buffers": f"{cache // MIB}MB"} if cache else {})


def _of_queries(machine: Machine, streams: int) -> dict[str, str]:
    """Settings of a server of one analyst, or a few: all cores for a query, a sixteenth of memory
    for the sorts of all streams, twice that for a hash. What its processes share is in memory, not
    in files on the storage.
    """
    sort_bytes = machine.memory_bytes // 16 // streams // (machine.cores + 1)
    return {
        "min_dynamic_shared_memory": f"{machine.memory_bytes // 4 // MIB}MB",
        "max_parallel_workers_per_gather": str(machine.cores),
        "max_parallel_workers": str(machine.cores),
        "max_worker_processes": str(machine.cores + 8),
        "work_mem": f"{max(4, sort_bytes // MIB)}MB",
        "effective_cache_size": f"{max(128, machine.memory_bytes // 2 // MIB)}MB",
        "autovacuum": "off",
    }


def loading(ruled: Mapping[str, str]) -> dict[str, str]:
    """The settings while the image is built. A half-built image is never used, so nothing needs to
    be durable before it is complete.
    """
    hurried = dict.fromkeys(
        (
            "fsync",
            "full_page_writes",
            "synchronous_commit",
            "autovacuum",
            "wal_recycle",
            "log_checkpoints",
        ),
        "off",
    )
    return {
        **ruled,
        **hurried,
        "checkpoint_timeout": LATE,
        "min_wal_size": "80MB",
        "maintenance_work_mem": "512MB",
    }


def initdb_options(plan: DatabasePlan, build: PostgresBuild) -> list[str]:
    """The options of initdb for the plan's settings; the version's own defaults without any."""
    options = []
    for name, value in plan.database.settings.items():
        if name == "data_checksums" and _text(value) == "on":
            options.append("--data-checksums")
        elif name == "data_checksums" and build.major >= 18:
            options.append("--no-data-checksums")
        elif name == "wal_segment_size":
            options.append(f"--wal-segsize={_text(value).removesuffix('MB').strip()}")
    return options


def settings_text(settings: Mapping[str, str]) -> str:
    """The text of postgresql.conf. Within quotes, a backslash and a quote are doubled.

    >>> print(settings_text({"shared_buffers": "1GB", "listen_addresses": ""}), end="")
    shared_buffers = '1GB'
    listen_addresses = ''
    """
    escaped = {name: re.sub(r"(['\\])", r"\1\1", value) for name, value in settings.items()}
    return "".join(f"{name} = '{value}'\n" for name, value in escaped.items())


def complaint(launch: Launch, settings: Mapping[str, str]) -> str:
    """The server's message on settings that it refuses; empty if it accepts them.

    Starts no server.
    """
    with (
        tempfile.TemporaryDirectory(prefix="settings-", dir=launch.runtime) as folder,
        Folder.at(Path(folder)) as opened,
    ):
        file = Path(folder, "postgresql.conf")
        opened.put(file.name, settings_text(settings), launch.account and launch.account.owner)
        if launch.account:
            launch.account.passes(opened.handle)
        command, more = launch.command(
            program(launch, "postgres"), "-D", folder, "-C", "max_connections", reach=()
        )
        done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    return _words(done.stderr.replace(str(file), "the settings")) if done.returncode else ""


def _words(stderr: str) -> str:
    """The server's messages on its configuration, without times, process ids and missing files."""
    messages = [
        line.partition("LOG:")[2].strip()
        for line in stderr.splitlines()
        if "LOG:" in line and "skipping missing" not in line
    ]
    return "; ".join(messages) or " ".join(stderr.split())


def setting_bytes(value: str) -> int:
    """The bytes of a memory setting as PostgreSQL writes it; a bare number of shared_buffers counts
    8 kB blocks, of max_wal_size MB: give units.

    >>> setting_bytes("128MB"), setting_bytes("2GB")
    (134217728, 2147483648)
    """
    found = SIZE.fullmatch(value)
    if not found:
        raise PlanError(
            "database.settings", seen=f"the size {value!r} has no unit", do='write it as "2GB"'
        )
    return int(float(found[1]) * {"B": 1, "kB": 2**10, "MB": MIB, "GB": GIB, "TB": 2**40}[found[2]])
