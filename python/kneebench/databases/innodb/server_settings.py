"""Settings of a managed server: rules by the machine, overridden one by one by the plan.

The rules are the same for both products, and for all storages of a plan, so that nothing but the
storage differs between them:

- innodb_buffer_pool_size: half of memory, and no more than the data (with room to grow) can fill.
  InnoDB reads and writes past the page cache, so this is all the cache that there is.
- The log (innodb_log_file_size, on MySQL innodb_redo_log_capacity): that of 3 minutes at 10 MB/s
  per core (1.5 in quick plans), so that pages are written steadily and not in a storm when the log
  is full; at most 16 GiB, and a third of the space that is free for it.
- innodb_io_capacity: 2,000, and up to 20,000 when the log grows faster: what the page cleaner may
  write per second. The server's default of 200 suits one rotating disk. It is not taken from a
  drive's profile, because it must be the same for all storages of a plan.
- With short rounds pages wait to be written until the log is 70% full: an idle server must not
  write into the window of another.
- Durable: every commit is flushed (innodb_flush_log_at_trx_commit = 1), pages are written twice
  (innodb_doublewrite). No binary log, unless the plan has log_bin; its files are with the log's, so
  on log_path where there is one. Log and data bypass the page cache (O_DIRECT).
- Statistics of the tables are those of the load: counting them again would change plans in a run.
- The performance schema watches the reads and writes of files and nothing else.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kneebench.databases.innodb.allowed_settings import named
from kneebench.databases.innodb.footprint import MIB, cache_bytes, log_bytes
from kneebench.databases.innodb.launcher import SETTINGS_FILE
from kneebench.databases.loading import SESSIONS_EACH
from kneebench.databases.managed import launching
from kneebench.databases.managed.directory_findings import Machine
from kneebench.lab.folder import Folder
from kneebench.plan.database_plan import DatabasePlan

ALWAYS = {
    "skip_networking": "ON",
    "skip_name_resolve": "ON",
    "skip_log_bin": "",
    "event_scheduler": "DISABLED",
    "character_set_server": "utf8mb4",
    "transaction_isolation": "READ-COMMITTED",
    "innodb_flush_method": "O_DIRECT",
    "innodb_flush_log_at_trx_commit": "1",
    "innodb_doublewrite": "ON",
    "innodb_adaptive_flushing": "ON",
    "innodb_io_capacity": "2000",
    "innodb_io_capacity_max": "20000",
    "innodb_stats_auto_recalc": "OFF",
    "innodb_buffer_pool_dump_at_shutdown": "OFF",
    "innodb_buffer_pool_load_at_startup": "OFF",
    "performance_schema": "ON",
    "performance_schema_consumer_events_waits_current": "ON",
    "innodb_monitor_enable": "buffer_flush_sync%",
}
LATEST_FLUSHING = "70"
"""The highest share of the log, in percent, up to which no page is written on its account."""
OPTIONAL = {"innodb_log_file_mmap": "OFF"}
"""Not in all versions: the log in a tmpfs is written as on a drive, not mapped into memory."""
INSTRUMENTS = ("%=OFF", "wait/io/file/innodb/%=ON")


def _text(value: str | int | float | bool) -> str:
    return {True: "ON", False: "OFF"}[value] if isinstance(value, bool) else str(value)


def given(plan: DatabasePlan) -> dict[str, str]:
    """The plan's own settings, by the names and values that the server shows."""
    return {named(name): _text(value) for name, value in plan.database.settings.items()}


def rules(
    plan: DatabasePlan, machine: Machine, own: Mapping[str, str], log_setting: str
) -> dict[str, str]:
    """The settings of every server of the plan, by the rules, then as the plan says. `own`: the
    product's; `log_setting`: what sizes its log.
    """
    users = plan.ladder.most_users
    connections = min(users, plan.workload.connections or users)
    sessions = connections + 24 + SESSIONS_EACH * (plan.workload.databases - 1)
    short = plan.ladder.rounds == "short"
    quick = plan.ladder.quick and not short
    log = log_bytes(machine.cores, machine.log_space_bytes, quick=quick) // MIB
    pool = cache_bytes(machine.memory_bytes, plan.workload.sized_as) // MIB
    ruled = {
        **ALWAYS,
        **own,
        "innodb_buffer_pool_size": f"{pool}M",
        log_setting: f"{log}M",
        **({"innodb_adaptive_flushing_lwm": LATEST_FLUSHING} if short else {}),
        "max_connections": str(sessions),
        "thread_cache_size": str(sessions),
        **({"large_pages": "OFF"} if machine.limited else {}),
    }
    cache = machine.cache_bytes
    ruled |= given(plan) | ({"innodb_buffer_pool_size": f"{cache // MIB}M"} if cache else {})
    return without(ruled, "skip_log_bin" if binary_log(ruled) else "log_bin")


def binary_log(settings: Mapping[str, str]) -> str:
    """The base name of the binary log's files; empty where it is off.

    >>> binary_log({"log_bin": "ON"}), binary_log({"log_bin": "mine"}), binary_log({})
    ('binlog', 'mine', '')
    """
    given = settings.get("log_bin", "OFF")
    if given.upper() in ("OFF", "0"):
        return ""
    return "binlog" if given.upper() in ("ON", "1", "") else given


def without(settings: Mapping[str, str], name: str) -> dict[str, str]:
    """All settings but one."""
    return {one: value for one, value in settings.items() if one != name}


def loading(ruled: Mapping[str, str]) -> dict[str, str]:
    """The settings while the image is built. A half-built image is never used, so nothing needs to
    be durable before it is complete; its shutdown leaves nothing to be purged.
    """
    return {
        **without(ruled, "log_bin"),
        "skip_log_bin": "",
        "innodb_flush_log_at_trx_commit": "0",
        "innodb_doublewrite": "OFF",
        "innodb_fast_shutdown": "0",
        "local_infile": "ON",
        "max_connections": "100",
    }


def settings_text(group: str, settings: Mapping[str, str], *watched: str) -> str:
    """The text of the option file, in the group that the program reads. `watched`: what the
    performance schema watches beside files.

    >>> settings_text("mysqld", {"innodb_io_capacity": "200", "skip_log_bin": ""}).splitlines()[:3]
    ['[mysqld]', 'innodb_io_capacity = "200"', 'skip_log_bin']
    """
    lines = [f"{name} = {_quoted(value)}" if value else name for name, value in settings.items()]
    lines += [f"loose_{name} = {value}" for name, value in OPTIONAL.items() if name not in settings]
    lines += [f"performance_schema_instrument = '{one}'" for one in (*INSTRUMENTS, *watched)]
    return "\n".join([f"[{group}]", *lines, ""])


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def refused(launch: launching.Launch[Any], text: str, *checking: str) -> str:
    """What the server says of an option file that it refuses, given options by which it looks at
    that and starts nothing; empty where it takes it.
    """
    with (
        tempfile.TemporaryDirectory(prefix="settings-", dir=launch.runtime) as folder,
        Folder.at(Path(folder)) as opened,
    ):
        opened.put(SETTINGS_FILE, text, launch.account and launch.account.owner)
        if launch.account:
            launch.account.passes(opened.handle)
        given = (f"--defaults-file={folder}/{SETTINGS_FILE}", *checking)
        command, more = launch.command(launch.build.server, *given, reach=())
        done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    return _words(done.stderr) if done.returncode else ""


def _words(stderr: str) -> str:
    """The server's errors, without times and thread numbers."""
    lines = [line.partition("[ERROR]")[2].strip() for line in stderr.splitlines()]
    said = [line.removeprefix("/usr/sbin/mariadbd: ") for line in lines if line]
    return "; ".join(one for one in said if one != "Aborting") or " ".join(stderr.split())
