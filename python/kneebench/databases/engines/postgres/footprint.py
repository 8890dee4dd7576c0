"""What a PostgreSQL database of so many warehouses takes of a machine: on disk, in memory, for its
log. The default plan is sized by these formulas, the server's settings are made by them, and the
free space is judged by them.
"""

from __future__ import annotations

MIB, GIB = 2**20, 2**30
WAREHOUSE_BYTES = 117_000_000
"""One warehouse with its keys, freshly loaded."""
BYTES_FIXED = 60_000_000
LOG_BYTES_PER_CORE_S = 10_000_000
GROWTH_SHARE = 0.25
"""What a climb may add to the data: orders, their lines, history, and versions not yet vacuumed."""
CHECKPOINT_S, QUICK_CHECKPOINT_S = 300, 60
"""From one timed checkpoint to the next (the server's default); in plans whose windows contain no
whole cycle."""


def data_bytes(warehouses: int) -> int:
    """About how large the loaded tables and their indexes are (1.21 GB for 10 warehouses)."""
    return BYTES_FIXED + warehouses * WAREHOUSE_BYTES


def image_bytes(warehouses: int) -> int:
    """The loaded data as it is kept, with what the load writes beside it."""
    return data_bytes(warehouses) * 11 // 10


def climb_bytes(warehouses: int) -> int:
    """The loaded data and what a climb adds to it."""
    return round(data_bytes(warehouses) * (1 + GROWTH_SHARE)) + GIB // 4


def cache_bytes(memory_bytes: int, warehouses: int) -> int:
    """shared_buffers, in whole 16 MiB.

    >>> cache_bytes(24 * 2**30, 1000) / 2**30, cache_bytes(256 * 2**30, 1000) / 2**30
    (6.0, 8.0)
    """
    most = min(memory_bytes // 4, 8 * GIB, data_bytes(warehouses) * 3 // 2)
    return max(128 * MIB, most // (16 * MIB) * 16 * MIB)


def checkpoint_timeout_s(*, quick: bool) -> int:
    """Seconds from one timed checkpoint to the next."""
    return QUICK_CHECKPOINT_S if quick else CHECKPOINT_S


def log_bytes(cores: int, space_bytes: int, *, quick: bool) -> int:
    """max_wal_size, at least 256 MiB.

    A checkpoint is asked for at max_wal_size / (1 + completion target 0.9).
    """
    wanted = int(cores * LOG_BYTES_PER_CORE_S * checkpoint_timeout_s(quick=quick) * 1.9 * 1.5)
    return max(256 * MIB, min(wanted, space_bytes) // (64 * MIB) * 64 * MIB)
