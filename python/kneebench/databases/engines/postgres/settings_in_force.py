"""The settings that a server and its sessions run with, as they are kept with the results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import psycopg

from kneebench._core import SESSION_SETTINGS
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


def with_users_session(settings: Sequence[Setting]) -> tuple[Setting, ...]:
    """The server's settings with those that each virtual user sets for its session: they override
    the server's own.
    """
    users = {
        name: Setting(name=name, value=value, source="user sessions", matters=True)
        for name, value in SESSION_SETTINGS
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
