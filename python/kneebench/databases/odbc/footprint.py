"""What a database of so many warehouses takes, worked out from the widths of the columns: nobody
measured it on a server that is reached by a driver alone.
"""

from __future__ import annotations

MIB, GIB = 2**20, 2**30
WAREHOUSE_BYTES = 100_000_000
"""One warehouse with its keys, freshly loaded."""
GROWTH_SHARE = 0.3
"""What a climb may add to the data: orders, their lines, history."""


def data_bytes(warehouses: int) -> int:
    """The loaded tables and their indexes."""
    return warehouses * WAREHOUSE_BYTES


def image_bytes(warehouses: int) -> int:
    """The loaded tables: nothing is kept beside them."""
    return data_bytes(warehouses)


def climb_bytes(warehouses: int) -> int:
    """The loaded tables and what a climb adds to them."""
    return round(data_bytes(warehouses) * (1 + GROWTH_SHARE)) + GIB // 4


def cache_bytes(memory_bytes: int, warehouses: int) -> int:
    """The server's own choice."""
    return min(memory_bytes // 2, data_bytes(warehouses) * 3 // 2)


def log_bytes(cores: int, space_bytes: int, *, quick: bool) -> int:
    """The server's own choice."""
    return min(GIB, space_bytes)
