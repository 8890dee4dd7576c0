"""The settings that a server and its sessions run with, as they are kept with the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg

from kneebench.databases.engine import LogCalls
from kneebench.databases.engines.postgres.allowed_settings import PLACES
from kneebench.records import Setting

MATTERS = frozenset(
    [
        "autovacuum",
        "bgwriter_delay",
        "checkpoint_completion_target",
        "checkpoint_flush_after",
        "checkpoint_timeout",
        "commit_delay",
        "data_checksums",
        "data_sync_retry",
        "debug_io_direct",
        "effective_io_concurrency",
        "fdatasync",
        "fsync",
        "full_page_writes",
        "huge_pages",
        "huge_pages_status",
        "io_combine_limit",
        "io_max_concurrency",
        "io_method",
        "io_workers",
        "max_wal_size",
        "min_wal_size",
        "shared_buffers",
        "server_version",
        "synchronous_commit",
        "wal_buffers",
        "wal_compression",
        "wal_init_zero",
        "wal_level",
        "wal_recycle",
        "wal_segment_size",
        "wal_sync_method",
        "wal_writer_delay",
    ]
)
PATHS = frozenset([*PLACES, "port", "ssl_ca_file", "ssl_cert_file", "ssl_key_file"])
"""Where the server is: its files, and its port, which is a free one for each restore."""


def in_force(connection: psycopg.Connection[tuple[Any, ...]]) -> tuple[Setting, ...]:
    """Every setting that is not the version's default, and all that affect storage I/O, as the
    server reports them.
    """
    wanted = (
        "SELECT name, current_setting(name), source FROM pg_settings WHERE source NOT IN"
        " ('default', 'client', 'session') OR name = ANY(%s) ORDER BY name"
    )
    rows = connection.execute(wanted, [sorted(MATTERS)]).fetchall()
    return tuple(
        Setting(
            name=name, value=_reported_value(name, value), source=source, matters=name in MATTERS
        )
        for name, value, source in rows
        if name not in PATHS
    )


def values(connection: psycopg.Connection[tuple[Any, ...]], *names: str) -> dict[str, str]:
    """Some settings as they are for this session; without those that the server has not."""
    rows = connection.execute(
        "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY(%s)", [list(names)]
    )
    return dict(rows.fetchall())


def _reported_value(name: str, value: str) -> str:
    """A value as it may be saved.

    Commands and connection strings may contain keys and passwords in any form; of these only the
    fact that they are set is saved.

    >>> _reported_value("archive_command", "AWS_SECRET_ACCESS_KEY=hush push %p")
    'set; not saved because it may contain a secret'
    >>> _reported_value("archive_command", ""), _reported_value("work_mem", "4MB")
    ('', '4MB')
    """
    return (
        "set; not saved because it may contain a secret"
        if value and name.endswith(("_command", "_conninfo"))
        else value
    )


def with_users_session(
    settings: Sequence[Setting], of_users: Sequence[tuple[str, str]]
) -> tuple[Setting, ...]:
    """The server's settings with those that each virtual user sets for its session: they override
    the server's own.
    """
    users = {
        name: Setting(name=name, value=value, source="user sessions", matters=True)
        for name, value in of_users
    }
    return tuple(
        sorted(
            (*(s for s in settings if s.name not in users), *users.values()), key=lambda s: s.name
        )
    )


def remarks(settings: Sequence[Setting]) -> Iterator[str]:
    """What a reader must know of settings that change what was measured."""
    values = {setting.name: setting.value for setting in settings}
    if values.get("track_wal_io_timing") == "off":
        yield "track_wal_io_timing is off: log write latency is not measured"
    if values.get("wal_sync_method") in ("open_sync", "open_datasync"):
        yield (
            f"wal_sync_method is {values['wal_sync_method']}: each log write includes its sync and"
            " counts as one flush"
        )


# The system calls of a server's log writes, for those who time them in the kernel.
#
# A flush holds the lock of the log's writes (WALWriteLock): pwrite64 as often as there is something
# to write, then one sync. New segments are filled by pwritev and synced by fsync, and files of the
# data are synced by fsync too, so with fdatasync each call on a file in pg_wal is a flush. The
# statistics count the same.

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
