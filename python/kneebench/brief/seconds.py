"""Series of a rung as a figure draws them: sources together second by second, and no more points
than are seen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from statistics import fmean

from kneebench.records import Series

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
