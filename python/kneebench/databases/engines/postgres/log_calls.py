"""The system calls of a server's log writes, for those who time them in the kernel.

A flush holds the lock of the log's writes (WALWriteLock): pwrite64 as often as there is something
to write, then one sync. New segments are filled by pwritev and synced by fsync, and files of the
data are synced by fsync too, so with fdatasync each call on a file in pg_wal is a flush. The
statistics count the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kneebench.databases.engine import LogCalls

WRITE = "pwrite64"
SYNCED_BY = {"fdatasync": "fdatasync", "open_datasync": WRITE, "open_sync": WRITE}
"""The call that ends a flush, by wal_sync_method: a file opened for synchronous writes has no
other."""

SYNCED_BY_SETTINGS = ("fsync", "wal_sync_method")


def log_calls(settings: Mapping[str, str], first: int | None) -> LogCalls | str:
    """The calls of the server with these settings and this first process; or why they cannot be
    told from others.
    """
    if first is None:
        return "the server is not on this machine"
    if settings.get("fsync") == "off":
        return "fsync is off, so that log writes are not synced"
    method = settings.get("wal_sync_method", "")
    if method not in SYNCED_BY:
        return f"with wal_sync_method = {method} the syncs of new log files look like flushes"
    return LogCalls(_directory(first), WRITE, SYNCED_BY[method])


def _directory(first: int) -> Path:
    """pg_wal as the server sees it, which may have mounts of its own: its process leads there."""
    found = Path(f"/proc/{first}/cwd/pg_wal")
    try:
        target = found.readlink()
    except OSError:  # no link: the log is among the data
        return found
    return Path(f"/proc/{first}/root", *target.parts[1:])
