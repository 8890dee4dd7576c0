"""How much of a machine the database of a plan may take."""

from __future__ import annotations

MEMORY_SHARE = 0.85
"""Of the machine's memory, what database, cache and files in memory may take together."""


def log_space_bytes(left_bytes: int) -> int:
    """What a log may take of the space that the data leave it."""
    return left_bytes // 3
