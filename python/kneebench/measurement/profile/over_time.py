"""I/Os per second through a row, from the log that fio(1) writes with --write_iops_log."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

MOST_POINTS, SHORTEST_MS = 150, 100


class _Span(NamedTuple):
    begin_ms: float
    end_ms: float
    iops: float


def interval_ms(runtime_s: int) -> int:
    """The length of an interval, for a row of so many seconds.

    >>> interval_ms(3), interval_ms(60)
    (100, 400)
    """
    return max(SHORTEST_MS, 1000 * runtime_s // MOST_POINTS)


def over_time(
    lines: Iterable[str], every_ms: int, runtime_ms: float
) -> tuple[tuple[float, float], ...]:
    """Seconds since the start and I/Os per second of all workers, for the middle of each interval
    up to the end of the first worker that ends.

    fio writes one worker after the other, a line for each interval in which it did any I/O, without
    the last one: what no line covers is 0, up to an interval before the end of `runtime_ms`, which
    is how long a worker ran.

    >>> one, other = ["100, 7, 1, 0, 0", "200, 9, 1, 0, 0"], ["101, 5, 1, 0, 0", "301, 6, 1, 0, 0"]
    >>> over_time([*one, *other], 100, 300)
    ((0.05, 12.0), (0.15, 9.0))
    >>> over_time(["100, 7, 1, 0, 0"], 100, 310)
    ((0.05, 7.0), (0.15, 0.0))
    """
    workers: list[list[tuple[float, float]]] = []
    before = float("inf")
    for line in lines:
        at, iops, *_ = (float(part) for part in line.split(","))
        if at <= before:
            workers.append([(0.0, 0.0)])
        workers[-1].append((at, iops))
        before = at
    if not workers:
        return ()
    spans = [_spans(samples, every_ms) for samples in workers]
    end_ms = max(min(samples[-1][0] for samples in workers), runtime_ms - every_ms)
    middles = [(n + 0.5) * every_ms for n in range(round(end_ms / every_ms))]
    return tuple((at / 1000, sum(_rate(one, at) for one in spans)) for at in middles)


def _spans(samples: list[tuple[float, float]], every_ms: int) -> list[_Span]:
    """What each sample covers: the time since the last one, but not a stall before its interval."""
    return [
        _Span(max(before, at - 1.5 * every_ms), at, iops)
        for (before, _), (at, iops) in pairwise(samples)
    ]


def _rate(spans: list[_Span], at_ms: float) -> float:
    return next((one.iops for one in spans if one.begin_ms < at_ms <= one.end_ms), 0.0)
