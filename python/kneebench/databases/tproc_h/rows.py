"""Rows of answers, alike from all engines and on all machines."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

PlainRow = tuple[str | float, ...]


def plain(row: Sequence[Any]) -> PlainRow:
    """Texts without padding, dates as texts, and numbers alike: whole ones are exact.

    >>> plain((2, Decimal("0.5000"), "a ", datetime(1995, 3, 5)))
    (2.0, 0.5, 'a', '1995-03-05')
    """
    return tuple(map(_plain, row))


def _plain(value: Any) -> str | float:
    if isinstance(value, int | float | Decimal):
        return float(value)
    return str(value.date() if isinstance(value, datetime) else value).rstrip()
