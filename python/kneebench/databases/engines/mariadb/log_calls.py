"""The system calls of a server's log writes, for those who time them in the kernel.

From 10.8 MariaDB's log is one file, written by pwrite64 and synced by fdatasync, by one session for
all that wait (seen with strace on 10.11). A flush of the log's header at a checkpoint looks the
same. MySQL syncs it by fdatasync with innodb_use_fdatasync, else by fsync (its manual; not tried).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kneebench.databases.engine import LogCalls
from kneebench.databases.engines.mariadb.settings_in_force import log_is_mapped

WRITE, SYNC, FULL_SYNC = "pwrite64", "fdatasync", "fsync"
SYNCED_ON_OPEN = ("O_DSYNC",)


def log_calls(
    settings: Mapping[str, str], first: int | None, directory: Path | None
) -> LogCalls | str:
    """The calls of the server with these settings, this process and this directory of its log; or
    why they cannot be told from others.
    """
    if first is None:
        return "the server is not on this machine"
    if directory is None:
        return "the log shares its directory with the data, so its calls look like others"
    if log_is_mapped(settings):
        return "the server maps its log into memory, and writes it without a system call"
    if settings.get("innodb_flush_method") in SYNCED_ON_OPEN:
        return LogCalls(_seen_by(first, directory), WRITE, WRITE)
    full = settings.get("innodb_use_fdatasync") == "OFF"
    return LogCalls(_seen_by(first, directory), WRITE, FULL_SYNC if full else SYNC)


def _seen_by(first: int, directory: Path) -> Path:
    """The directory as the server sees it, which may have mounts of its own."""
    return Path(f"/proc/{first}/root", *directory.parts[1:])
