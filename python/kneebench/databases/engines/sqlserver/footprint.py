"""What a SQL Server database of so many warehouses takes, worked out from the widths of the
columns; not measured on a SQL Server.
"""

from __future__ import annotations

MIB, GIB = 2**20, 2**30
WAREHOUSE_BYTES = 95_000_000
"""One warehouse with its keys, freshly loaded."""
BYTES_FIXED = 30_000_000
GROWTH_SHARE = 0.25
"""What a climb may add to the data: orders, their lines, history."""
LOG_BYTES_PER_CORE_S = 10_000_000
RECOVERY_S = 60
"""The target recovery time of a new database (indirect checkpoints, since SQL Server 2016)."""


def data_bytes(warehouses: int) -> int:
    """The loaded tables and their indexes."""
    return BYTES_FIXED + warehouses * WAREHOUSE_BYTES


def image_bytes(warehouses: int) -> int:
    """The backup: the loaded data, which random text hardly lets compress."""
    return data_bytes(warehouses)


def climb_bytes(warehouses: int) -> int:
    """The loaded data and what a climb adds to it."""
    return round(data_bytes(warehouses) * (1 + GROWTH_SHARE)) + GIB // 4


def cache_bytes(memory_bytes: int, warehouses: int) -> int:
    """The server's own choice: nearly all of its machine's memory."""
    return min(memory_bytes * 3 // 4, data_bytes(warehouses) * 3 // 2)


def log_bytes(cores: int, space_bytes: int, *, quick: bool) -> int:
    """What is logged until the log may be reused, twice: at least 256 MiB."""
    wanted = cores * LOG_BYTES_PER_CORE_S * RECOVERY_S * 2
    return max(256 * MIB, min(wanted, space_bytes) // (64 * MIB) * 64 * MIB)
