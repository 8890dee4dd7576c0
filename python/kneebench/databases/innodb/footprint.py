"""What a MariaDB database of so many warehouses takes of a machine: on disk, in memory, for its
log. The server's settings are made by these formulas, and the free space is judged by them.
"""

from __future__ import annotations

MIB, GIB = 2**20, 2**30
WAREHOUSE_BYTES = 92_000_000
"""One warehouse with its keys, freshly loaded."""
BYTES_FIXED = 90_000_000
"""The system tables, the undo log of a load, and the temporary tablespace."""
LOG_BYTES_PER_CORE_S = 10_000_000
LOG_S, QUICK_LOG_S = 120, 60
"""Seconds of log at that rate that must fit before pages are written to make room in it."""
MOST_LOG_BYTES = 16 * GIB
GROWTH_SHARE = 0.3
"""What a climb may add to the data: orders, their lines, history, and undo logs not yet purged."""


def data_bytes(warehouses: int) -> int:
    """About how large the loaded tables and their indexes are."""
    return BYTES_FIXED + warehouses * WAREHOUSE_BYTES


def image_bytes(warehouses: int) -> int:
    """The loaded data as it is kept, with the log that the load writes beside it."""
    return data_bytes(warehouses) * 11 // 10 + GIB


def climb_bytes(warehouses: int) -> int:
    """The loaded data and what a climb adds to it."""
    return round(data_bytes(warehouses) * (1 + GROWTH_SHARE)) + GIB // 4


def cache_bytes(memory_bytes: int, warehouses: int) -> int:
    """innodb_buffer_pool_size, in whole 16 MiB.

    >>> cache_bytes(24 * 2**30, 1000) / 2**30, cache_bytes(24 * 2**30, 1) / 2**20
    (12.0, 256.0)
    """
    most = min(memory_bytes // 2, data_bytes(warehouses) * 3 // 2)
    return max(128 * MIB, most // (16 * MIB) * 16 * MIB)


def log_bytes(cores: int, space_bytes: int, *, quick: bool) -> int:
    """innodb_log_file_size, at least 256 MiB."""
    wanted = int(cores * LOG_BYTES_PER_CORE_S * (QUICK_LOG_S if quick else LOG_S) * 1.5)
    return max(256 * MIB, min(wanted, space_bytes, MOST_LOG_BYTES) // (64 * MIB) * 64 * MIB)
