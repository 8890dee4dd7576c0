"""Axes: logarithmic where values spread far, with round numbers to read."""

from __future__ import annotations

from math import floor, log10
from typing import Any

SPREAD = 12
"""From so many times between least and most an axis is logarithmic."""


def round_numbers(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten between two values; over more than three decades the powers alone.

    >>> round_numbers(0.8, 30)
    [1.0, 2.0, 5.0, 10.0, 20.0]
    """
    steps = (1, 2, 5) if high / low < 2000 else (1,)
    decades = range(floor(log10(low)), floor(log10(high)) + 1)
    return [float(f"{step}e{decade}") for decade in decades for step in steps if low <= step * 10.0**decade <= high]


def latency_scale(values: list[float]) -> dict[str, Any]:
    """The scale and axis of these values, for Altair's `X` or `Y`; from 0 unless they spread far."""
    import altair as alt

    some = [value for value in values if value > 0] or [1.0]
    low, high = min(some), max(some)
    if high / low < SPREAD:
        return {"scale": alt.Scale(domain=[0, high * 1.12], nice=False), "axis": alt.Axis(tickCount=6, format=",.6~r")}
    domain = [low / 1.4, high * 1.35]
    return {"scale": alt.Scale(type="log", domain=domain, nice=False), "axis": alt.Axis(values=round_numbers(*domain), format=",.6~r")}
