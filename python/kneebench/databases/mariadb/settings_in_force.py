"""The settings that a server runs with, as they are kept with the results."""

from __future__ import annotations

from collections.abc import Mapping

import pymysql

from kneebench.databases.mariadb.allowed_settings import DOORS, PLACES
from kneebench.databases.mariadb.session import Session
from kneebench.databases.mariadb.versions import Product, is_from
from kneebench.records import Setting

MATTERS = frozenset(
    [
        "binlog_commit_wait_count",
        "binlog_commit_wait_usec",
        "binlog_group_commit_sync_delay",
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
        "innodb_encrypt_log",
        "innodb_encrypt_tables",
        "innodb_file_per_table",
        "innodb_flush_log_at_timeout",
        "innodb_flush_log_at_trx_commit",
        "innodb_flush_method",
        "innodb_flush_neighbors",
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
        "innodb_lru_scan_depth",
        "innodb_max_dirty_pages_pct",
        "innodb_max_dirty_pages_pct_lwm",
        "innodb_page_size",
        "innodb_purge_threads",
        "innodb_random_read_ahead",
        "innodb_read_ahead_threshold",
        "innodb_read_io_threads",
        "innodb_redo_log_capacity",
        "innodb_snapshot_isolation",
        "innodb_undo_tablespaces",
        "innodb_use_atomic_writes",
        "innodb_use_fdatasync",
        "innodb_use_native_aio",
        "innodb_write_io_threads",
        "large_pages",
        "log_bin",
        "performance_schema",
        "sync_binlog",
        "thread_handling",
        "transaction_isolation",
        "tx_isolation",
        "version",
    ]
)
"""Settings that change what storage sees, of MariaDB and of MySQL."""
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


def in_force(session: Session) -> tuple[Setting, ...]:
    """Every setting that is not the version's default, and all that affect storage I/O, as the
    server reports them.
    """
    given = dict(_given(session))
    return tuple(
        Setting(name=name, value=value, source=given.get(name, "default"), matters=name in MATTERS)
        for name, value in sorted(values(session).items())
        if (name in given or name in MATTERS) and name not in HIDDEN and not _may_be_secret(name)
    )


def values(session: Session) -> dict[str, str]:
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


def _given(session: Session) -> list[tuple[str, str]]:
    """Name and source of every setting that somebody has set."""
    for query in (GIVEN, GIVEN_MYSQL):
        try:
            return [(str(name), str(source)) for name, source in session.rows(query)]
        except pymysql.Error:
            continue
    return []


def _may_be_secret(name: str) -> bool:
    return any(word in name for word in SECRET) and name not in MATTERS
