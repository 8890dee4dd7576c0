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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kneebench.databases.innodb.allowed_settings import named
from kneebench.databases.innodb.builds import InnodbBuild
from kneebench.databases.innodb.footprint import MIB, cache_bytes, log_bytes
from kneebench.databases.innodb.launcher import SETTINGS_FILE
from kneebench.databases.loading import SESSIONS_EACH
from kneebench.databases.managed.directory_findings import Machine
from kneebench.databases.managed.launching import Launch
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


class ProductSettings(NamedTuple):
    """What a product calls things among the settings, and the rules in these names.

    `group`: of the option file, which its program reads; `log`: what sizes its log; `own`: settings
    that the other product has not; `load_log_bytes`, `image_log_bytes`: the log while an image is
    loaded, and in the image (a restore makes its own); `fixed`: settings that the files keep from
    the moment when they are made; `checking`: options by which the program looks at its settings
    and starts nothing; `watched`: what the performance schema watches beside files.
    """

    group: str
    log: str
    own: Mapping[str, str]
    load_log_bytes: int
    image_log_bytes: int
    fixed: Sequence[str]
    checking: Sequence[str]
    watched: Sequence[str] = ()

    def rules(self, plan: DatabasePlan, machine: Machine) -> dict[str, str]:
        """The settings of every server of the plan, by the rules, then as the plan says."""
        users = plan.ladder.most_users
        connections = min(users, plan.workload.connections or users)
        sessions = connections + 24 + SESSIONS_EACH * (plan.workload.databases - 1)
        short = plan.ladder.rounds == "short"
        quick = plan.ladder.quick and not short
        log = log_bytes(machine.cores, machine.log_space_bytes, quick=quick) // MIB
        pool = cache_bytes(machine.memory_bytes, plan.workload.sized_as) // MIB
        ruled = {
            **ALWAYS,
            **self.own,
            "innodb_buffer_pool_size": f"{pool}M",
            self.log: f"{log}M",
            **({"innodb_adaptive_flushing_lwm": LATEST_FLUSHING} if short else {}),
            "max_connections": str(sessions),
            "thread_cache_size": str(sessions),
            **({"large_pages": "OFF"} if machine.limited else {}),
        }
        cache = machine.cache_bytes
        ruled |= given(plan) | ({"innodb_buffer_pool_size": f"{cache // MIB}M"} if cache else {})
        return _without(ruled, "skip_log_bin" if binary_log(ruled) else "log_bin")

    def of_image(self, plan: DatabasePlan, build: InnodbBuild) -> dict[str, str]:
        """Those of a plan's settings that shape the image."""
        return {name: value for name, value in given(plan).items() if name in self.fixed}

    def loading(self, ruled: Mapping[str, str]) -> dict[str, str]:
        """The settings while the image is built. A half-built image is never used, so nothing needs
        to be durable before it is complete; its shutdown leaves nothing to be purged.
        """
        return {
            **_without(ruled, "log_bin"),
            "skip_log_bin": "",
            "innodb_flush_log_at_trx_commit": "0",
            "innodb_doublewrite": "OFF",
            self.log: str(self.load_log_bytes),
            "innodb_fast_shutdown": "0",
            "local_infile": "ON",
            "max_connections": "100",
        }

    def text(self, settings: Mapping[str, str]) -> str:
        """The text of the option file."""
        lines = [f"{one} = {_quoted(value)}" if value else one for one, value in settings.items()]
        optional = (one for one in OPTIONAL.items() if one[0] not in settings)
        lines += [f"loose_{name} = {value}" for name, value in optional]
        watched = (*INSTRUMENTS, *self.watched)
        lines += [f"performance_schema_instrument = '{one}'" for one in watched]
        return "\n".join([f"[{self.group}]", *lines, ""])

    def complaint(self, launch: Launch[Any], settings: Mapping[str, str]) -> str:
        """What the server says of settings that it refuses; empty if it accepts them."""
        with (
            tempfile.TemporaryDirectory(prefix="settings-", dir=launch.runtime) as folder,
            Folder.at(Path(folder)) as opened,
        ):
            owner = launch.account and launch.account.owner
            opened.put(SETTINGS_FILE, self.text(settings), owner)
            if launch.account:
                launch.account.passes(opened.handle)
            given = (f"--defaults-file={folder}/{SETTINGS_FILE}", *self.checking)
            command, more = launch.command(launch.build.server, *given, reach=())
            done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
        return _words(done.stderr) if done.returncode else ""


def binary_log(settings: Mapping[str, str]) -> str:
    """The base name of the binary log's files; empty where it is off.

    >>> binary_log({"log_bin": "ON"}), binary_log({"log_bin": "mine"}), binary_log({})
    ('binlog', 'mine', '')
    """
    given = settings.get("log_bin", "OFF")
    if given.upper() in ("OFF", "0"):
        return ""
    return "binlog" if given.upper() in ("ON", "1", "") else given


def _without(settings: Mapping[str, str], name: str) -> dict[str, str]:
    return {one: value for one, value in settings.items() if one != name}


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _words(stderr: str) -> str:
    """The server's errors, without times and thread numbers."""
    lines = [line.partition("[ERROR]")[2].strip() for line in stderr.splitlines()]
    said = [line.removeprefix("/usr/sbin/mariadbd: ") for line in lines if line]
    return "; ".join(one for one in said if one != "Aborting") or " ".join(stderr.split())
