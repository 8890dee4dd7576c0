"""The settings that a server runs with, as they are kept with the results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pymysql

from kneebench.databases.engine import LogCalls
from kneebench.databases.innodb.allowed_settings import DOORS, PLACES
from kneebench.databases.innodb.session import InnodbSession
from kneebench.databases.innodb.versions import Product, is_from
from kneebench.records import Setting

MATTERS = frozenset(
    [
        "binlog_commit_wait_count",
        "binlog_commit_wait_usec",
        "binlog_group_commit_sync_delay",
        "binlog_group_commit_sync_no_delay_count",
        "innodb_adaptive_flushing",
        "innodb_adaptive_flushing_lwm",
        "innodb_adaptive_hash_index",
        "innodb_buffer_pool_size",
        "innodb_change_buffering",
        "innodb_checksum_algorithm",
        "innodb_compression_default",
        "innodb_data_file_buffering",
        "innodb_data_file_write_through",
        "innodb_dedicated_server",
        "innodb_doublewrite",
        "innodb_doublewrite_files",
        "innodb_doublewrite_pages",
        "innodb_encrypt_log",
        "innodb_encrypt_tables",
        "innodb_file_per_table",
        "innodb_flush_log_at_timeout",
        "innodb_flush_log_at_trx_commit",
        "innodb_flush_method",
        "innodb_flush_neighbors",
        "innodb_flush_sync",
        "innodb_flushing_avg_loops",
        "innodb_fsync_threshold",
        "innodb_io_capacity",
        "innodb_io_capacity_max",
        "innodb_log_buffer_size",
        "innodb_log_file_buffering",
        "innodb_log_file_mmap",
        "innodb_log_file_size",
        "innodb_log_file_write_through",
        "innodb_log_files_in_group",
        "innodb_log_write_ahead_size",
        "innodb_log_writer_threads",
        "innodb_lru_scan_depth",
        "innodb_max_dirty_pages_pct",
        "innodb_max_dirty_pages_pct_lwm",
        "innodb_page_size",
        "innodb_purge_threads",
        "innodb_random_read_ahead",
        "innodb_read_ahead_threshold",
        "innodb_read_io_threads",
        "innodb_redo_log_capacity",
        "innodb_redo_log_encrypt",
        "innodb_snapshot_isolation",
        "innodb_undo_tablespaces",
        "innodb_use_atomic_writes",
        "innodb_use_fdatasync",
        "innodb_use_native_aio",
        "innodb_write_io_threads",
        "large_pages",
        "log_bin",
        "performance_schema",
        "sql_generate_invisible_primary_key",
        "sync_binlog",
        "thread_handling",
        "transaction_isolation",
        "tx_isolation",
        "version",
    ]
)
"""Settings that change what storage sees, of MariaDB and of MySQL."""
CAPACITY = "innodb_redo_log_capacity"
REPLACED = {"innodb_log_file_size", "innodb_log_files_in_group"}
RESIZED = "SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_capacity_resized'"
"""MySQL from 8.0.30: where only the two replaced settings are given, the log has their size, and
the setting of the capacity does not show it."""
HIDDEN = frozenset([*PLACES, *DOORS])
FIRST_THAT_MAPS = (10, 8)
LOG_HEADER_BYTES, LARGEST_WRITE_BYTES = 12_288, 0x7FFFF000
SECRET = ("password", "secret", "key", "provider_options", "dbug_encryption")
GIVEN = """
SELECT LOWER(variable_name), LOWER(global_value_origin) FROM information_schema.system_variables
WHERE global_value_origin NOT IN ('COMPILE-TIME', 'AUTO')"""
GIVEN_MYSQL = """
SELECT variable_name, LOWER(variable_source) FROM performance_schema.variables_info
WHERE variable_source <> 'COMPILED'"""
SET_BY_SESSIONS = frozenset(
    [
        *("autocommit", "character_set_client", "character_set_connection"),
        *("character_set_results", "collation_connection", "foreign_key_checks"),
        *("information_schema_stats_expiry", "innodb_lock_wait_timeout", "lock_wait_timeout"),
        *("max_execution_time", "sql_mode", "time_zone", "transaction_isolation"),
        *("transaction_read_only", "unique_checks", "wait_timeout"),
    ]
)
"""Clients set them for their sessions, kneebench too. MySQL then calls them dynamic, though their
global values are as before (its source: set_var::update_source_user_host_timestamp)."""


def in_force(session: InnodbSession) -> tuple[Setting, ...]:
    """Every setting that is not the version's default, and all that affect storage I/O, as the
    server reports them.
    """
    given, found, matter = dict(_given(session)), values(session), MATTERS
    if CAPACITY in found:
        found[CAPACITY] = str(session.row(RESIZED)[1])
        matter -= REPLACED
    return tuple(
        Setting(name=name, value=value, source=given.get(name, "default"), matters=name in matter)
        for name, value in sorted(found.items())
        if (name in given or name in matter) and name not in HIDDEN and not _may_be_secret(name)
    )


def values(session: InnodbSession) -> dict[str, str]:
    """All settings of the server."""
    return {str(name): str(value) for name, value in session.rows("SHOW GLOBAL VARIABLES")}


def log_is_mapped(settings: Mapping[str, str]) -> bool:
    """Whether MariaDB maps its log into memory: then the buffer is the log itself, without its
    header, as far as one call could write it (seen in 10.11).

    >>> sizes = {"innodb_log_file_size": "67108864", "innodb_log_buffer_size": "67096576"}
    >>> log_is_mapped({"version": "10.11.19-MariaDB", **sizes})
    True
    >>> log_is_mapped({"version": "8.4.3", **sizes})
    False
    """
    if not is_from(settings.get("version", ""), Product.MARIADB, FIRST_THAT_MAPS):
        return False
    log, buffer = (int(settings.get(f"innodb_log_{one}_size", 0)) for one in ("file", "buffer"))
    return buffer == min(log - LOG_HEADER_BYTES, LARGEST_WRITE_BYTES)


def _given(session: InnodbSession) -> list[tuple[str, str]]:
    """Name and source of every setting that somebody has set."""
    for query in (GIVEN, GIVEN_MYSQL):
        try:
            return [
                (str(name), str(source))
                for name, source in session.rows(query)
                if not (source == "dynamic" and name in SET_BY_SESSIONS)
            ]
        except pymysql.Error:
            continue
    return []


def _may_be_secret(name: str) -> bool:
    return any(word in name for word in SECRET) and name not in MATTERS


# The system calls of a server's log writes, for those who time them in the kernel.
#
# From 10.8 MariaDB's log is one file, written by pwrite64 and synced by fdatasync, by one session
# for all that wait (seen with strace on 10.11). A flush of the log's header at a checkpoint looks
# the same. MySQL syncs it by fdatasync with innodb_use_fdatasync, else by fsync (its manual; not
# tried).

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
