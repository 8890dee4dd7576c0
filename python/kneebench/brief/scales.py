"""Axes: logarithmic where values spread far, with round numbers to read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from math import floor, log, log10
from statistics import fmean
from typing import Any, NamedTuple

from kneebench.records import Series

THOUSANDS = "datum.value ? format(datum.value / 1000, ',.4~r') + 'k' : '0'"
"""Text of an axis's number, for Vega-Lite."""
SPREAD = 12
"""From so many times between least and most an axis is logarithmic."""


def round_numbers(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten between two values; over more than three decades the powers
    alone.

    >>> round_numbers(0.8, 30)
    [1.0, 2.0, 5.0, 10.0, 20.0]
    """
    steps = (1, 2, 5) if high / low < 2000 else (1,)
    decades = range(floor(log10(low)), floor(log10(high)) + 1)
    return [
        float(f"{step}e{decade}")
        for decade in decades
        for step in steps
        if low <= step * 10.0**decade <= high
    ]


class Domain(NamedTuple):
    """The values from one end of an axis to the other."""

    low: float
    high: float
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """How far along the axis a value is.

        >>> Domain(0, 8).share(2), round(Domain(1, 100, logarithmic=True).share(10), 3)
        (0.25, 0.5)
        """
        return (
            log(value / self.low) / log(self.high / self.low)
            if self.logarithmic
            else (value - self.low) / (self.high - self.low)
        )

    @property
    def scale(self) -> Any:
        import altair as alt

        return alt.Scale(
            type="log" if self.logarithmic else "linear", domain=[self.low, self.high], nice=False
        )


def latencies(values: list[float]) -> Domain:
    """The axis of these values: from 0 unless they spread far."""
    some = [value for value in values if value > 0] or [1.0]
    low, high = min(some), max(some)
    return (
        Domain(0, high * 1.12)
        if high / low < SPREAD
        else Domain(low / 1.4, high * 1.35, logarithmic=True)
    )


def latency_axis(domain: Domain) -> dict[str, Any]:
    """The scale and axis of latencies, for Altair's `X` or `Y`."""
    import altair as alt

    ticks = (
        {"values": round_numbers(domain.low, domain.high)}
        if domain.logarithmic
        else {"tickCount": 6}
    )
    return {"scale": domain.scale, "axis": alt.Axis(**ticks, format=",.6~r")}


# Series of a rung as a figure draws them: sources together second by second, and no more points
# than are seen.

MOST_POINTS = 300
"""Of one line: more are averaged, or a long rung would make a heavy page."""
Points = list[tuple[float, float]]


def combined(series: Iterable[Series], how: Callable[[list[float]], float]) -> Points:
    """All sources of a quantity together, second by second."""
    by_second: dict[int, list[float]] = defaultdict(list)
    for one in series:
        for at, value in zip(one.at_s, one.value, strict=True):
            by_second[round(at)].append(value)
    return [(at, how(values)) for at, values in sorted(by_second.items())]


def thinned(points: Points, most: int = MOST_POINTS) -> Points:
    """Means of neighbours where there are more points than `most`.

    >>> thinned([(1, 2.0), (2, 4.0), (3, 5.0)], most=2)
    [(1, 3.0), (3, 5.0)]
    """
    step = -(-len(points) // most) or 1
    parts = [points[n : n + step] for n in range(0, len(points), step)]
    return [(part[0][0], fmean(value for _, value in part)) for part in parts]
