"""What a model takes of a machine: nothing."""

from __future__ import annotations

WAREHOUSE_BYTES = 0
PRETENDED_BYTES = 100_000_000
"""Size of a warehouse of which a constraint's memory holds a share."""


def data_bytes(warehouses: int) -> int:
    """Nothing is loaded: the size that the model pretends."""
    return warehouses * PRETENDED_BYTES


def image_bytes(warehouses: int) -> int:
    """Nothing is kept."""
    return 0


def climb_bytes(warehouses: int) -> int:
    """Nothing is written."""
    return 0


def cache_bytes(memory_bytes: int, warehouses: int) -> int:
    """No memory to speak of."""
    return 0


def log_bytes(cores: int, space_bytes: int, *, quick: bool) -> int:
    """No log."""
    return 0
