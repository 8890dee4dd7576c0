"""Rows of answers, alike from all engines and on all machines."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

PlainRow = tuple[str | float, ...]


def plain(row: Sequence[Any]) -> PlainRow:
    """Texts without padding, dates as texts, and numbers alike: whole ones are exact.

    >>> plain((2, Decimal("0.5000"), "a "))
    (2.0, 0.5, 'a')
    """
    return tuple(
        float(value) if isinstance(value, int | float | Decimal) else str(value).rstrip()
        for value in row
    )
