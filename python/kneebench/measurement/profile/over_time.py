"""I/Os per second through a row, from the logs that fio(1) writes with --write_hist_log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

MOST_POINTS, SHORTEST_MS = 150, 100
LINES = 5
"""Lines of the log per interval: a stall is seen to within the time of one."""


def interval_ms(runtime_s: int) -> int:
    """The shortest length of an interval, for a row of so many seconds.

    >>> interval_ms(3), interval_ms(60)
    (100, 400)
    """
    return max(SHORTEST_MS, 1000 * runtime_s // MOST_POINTS)


def over_time(
    logs: Sequence[Iterable[str]], every_ms: int, runtime_ms: float, ios: int
) -> tuple[tuple[float, float], ...]:
    """Seconds since the start and I/Os per second of all workers, for the middle of each of the
    equal intervals that the runtime is divided into; their mean is `ios` per `runtime_ms`.

    A log is that of one worker. A line has the milliseconds since the start, the kind of I/O, the
    block size, and how many I/Os ended since the line before, by their latency. They are spread
    evenly over that time. fio does not log what ends after the last line: it is what `ios` has more
    than the logs. Its log of I/Os per second is of no use here. It has no line for an interval
    without I/Os, and none where fio itself was late; only the second has I/Os.

    >>> one, other = ["100, 1, 4096, 7, 2", "200, 1, 4096, 4, 0"], ["150, 1, 4096, 3, 0"]
    >>> over_time([one, other], 100, 200, 17)
    ((0.05, 110.0), (0.15, 60.0))
    >>> over_time([["100, 1, 4096, 7, 0"]], 100, 250, 8)
    ((0.0625, 57.33...), (0.1875, 6.66...))
    """
    import numpy as np

    workers = [_counts(log) for log in logs]
    n = int(runtime_ms // every_ms)
    if not n or not any(workers):
        return ()
    logged = sum(counts[-1][1] for counts in workers if counts)
    last_ms = min(counts[-1][0] for counts in workers if counts)
    workers.append([(last_ms, 0), (max(runtime_ms, last_ms), max(ios - logged, 0))])
    edges_ms = np.linspace(0.0, runtime_ms, n + 1)
    ended = np.zeros(n + 1)
    for counts in workers:
        at_ms, totals = zip((0.0, 0), *counts, strict=True)
        ended += np.interp(edges_ms, np.minimum(at_ms, runtime_ms), totals)
    rates = np.diff(ended) / (runtime_ms / n / 1000)
    middles_s = (edges_ms[:-1] + edges_ms[1:]) / 2000
    return tuple(zip(middles_s.tolist(), rates.tolist(), strict=True))


def _counts(log: Iterable[str]) -> list[tuple[float, int]]:
    """Milliseconds since the start, and the I/Os that ended until then."""
    lines = sorted(([int(part) for part in line.split(",")] for line in log), key=_at_ms)
    totals = accumulate(sum(counts) for _, _, _, *counts in lines)
    return [(at, total) for (at, *_), total in zip(lines, totals, strict=True)]


def _at_ms(line: Sequence[int]) -> int:
    return line[0]
