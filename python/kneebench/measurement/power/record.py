"""What a meter of power was read, in the order of time.

Times are seconds of one clock. A meter's own counter is joules so far; a gauge is watts. A gauge
that shows less than a running server takes has given no reading.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from kneebench.units import rounded

RECENT = 600
"""Readings that the period is taken from."""
IDLE_SHARE = 0.1
"""A running server never takes less than this share of its idle power."""


class PowerSample(NamedTuple):
    """One reading: `value` in watts, or in joules so far; or `why` there is none. `refused`: the
    meter answered, with a value that cannot be.
    """

    at_s: float
    value: float | None
    why: str = ""
    refused: bool = False


class PowerRecord:
    """All samples of one meter; `every_s`: between two readings, as ordered."""

    def __init__(self, *, counts_energy: bool, every_s: float) -> None:
        self.counts_energy, self.every_s = counts_energy, every_s
        self.idle_w: float | None = None
        """Power of the server that it covers without load, 0 before that is known; None: it covers
        none, and may show 0."""
        self.at_s: list[float] = []
        self.values: list[float] = []
        self.joules: list[float] = []
        """Since the first sample."""
        self.failed: list[PowerSample] = []

    def add(self, samples: Sequence[PowerSample]) -> None:
        """Samples that follow those before."""
        for given in samples:
            one = self._of_a_running_server(given)
            if one.value is None:
                self.failed.append(one)
            else:
                self.joules.append(self._joules(one.at_s, one.value))
                self.at_s.append(one.at_s)
                self.values.append(one.value)

    def _of_a_running_server(self, one: PowerSample) -> PowerSample:
        if one.value is None or self.counts_energy or self.idle_w is None:
            return one
        if 0 < one.value >= IDLE_SHARE * self.idle_w:
            return one
        why = f"it answered {rounded(one.value)} W, and a running server takes more"
        return one._replace(value=None, why=why)

    def _joules(self, at_s: float, value: float) -> float:
        if not self.values:
            return 0.0
        if self.counts_energy:
            return self.joules[-1] + value - self.values[-1]
        return self.joules[-1] + (at_s - self.at_s[-1]) * (value + self.values[-1]) / 2

    @property
    def latest_s(self) -> float:
        """When the latest value was read; minus infinity without any."""
        return self.at_s[-1] if self.at_s else float("-inf")

    def period_s(self) -> float | None:
        """How often the meter itself has a new value: the middle time between two changes; None
        before there are two. Readings more seldom than that have it as theirs.

        >>> record = PowerRecord(counts_energy=False, every_s=1.0)
        >>> record.add([PowerSample(t, 100.0 + t // 3) for t in range(12)])
        >>> record.period_s()
        3.0
        """
        gaps = self._between_changes()
        return median(gaps) if gaps else None

    def update_s(self) -> float:
        """Time in which the meter has shown that it can have a new value: a quarter of the times
        between two changes are no longer, and it is not read more often. A coarse meter on a steady
        machine changes more seldom than this.

        >>> record = PowerRecord(counts_energy=False, every_s=1.0)
        >>> watts = enumerate([1, 2, 3, 3, 3, 3, 3, 4, 5])
        >>> record.add([PowerSample(float(at_s), one) for at_s, one in watts])
        >>> record.update_s()
        1.0
        """
        gaps = sorted(self._between_changes())
        return max(gaps[len(gaps) // 4] if gaps else 0.0, self.reading_s())

    def reading_s(self) -> float:
        """Time between two readings, as ordered or as seen."""
        gaps = [b - a for a, b in pairwise(self.at_s[-RECENT:])]
        return max(median(gaps) if gaps else 0.0, self.every_s)

    def _between_changes(self) -> list[float]:
        times, values = self.at_s[-RECENT:], self.values[-RECENT:]
        changed = [t for t, (a, b) in zip(times[1:], pairwise(values), strict=True) if a != b]
        return [b - a for a, b in pairwise(changed)]

    def too_little(self, before: int, after: int) -> float:
        """Longest time between these samples in which a counter counted less than a running server
        takes, from one of its new values to another.
        """
        if not self.counts_energy or not self.idle_w:
            return 0.0
        longest_s = lasted_s = 0.0
        last_s, last = self.at_s[before], self.values[before]
        for at_s, value in zip(
            self.at_s[before + 1 : after + 1], self.values[before + 1 : after + 1], strict=True
        ):
            if value == last:
                continue
            little = value - last < IDLE_SHARE * self.idle_w * (at_s - last_s)
            lasted_s = lasted_s + at_s - last_s if little else 0.0
            longest_s, last_s, last = max(longest_s, lasted_s), at_s, value
        return longest_s

    def still(self, begin_s: float, end_s: float) -> tuple[float, float]:
        """The longest run of one value that reaches into this time: how long it is, with what is
        before and after, and the value.
        """
        first, last = bisect_left(self.at_s, begin_s), bisect_right(self.at_s, end_s) - 1
        longest = (0.0, 0.0)
        at = first
        while at <= last:
            low = high = at
            while low and self.values[low - 1] == self.values[at]:
                low -= 1
            while high + 1 < len(self.values) and self.values[high + 1] == self.values[at]:
                high += 1
            if min(self.at_s[high], end_s) > max(self.at_s[low], begin_s):
                longest = max(longest, (self.at_s[high] - self.at_s[low], self.values[at]))
            at = high + 1
        return longest

    def within(self, begin_s: float, end_s: float) -> tuple[int, int]:
        """The indexes of the last sample up to the beginning and of the first one from the end.
        Raises IndexError where there is none.
        """
        before, after = bisect_right(self.at_s, begin_s) - 1, bisect_left(self.at_s, end_s)
        if before < 0 or after >= len(self.at_s):
            raise IndexError
        return before, after

    def failures(self, begin_s: float, end_s: float) -> list[PowerSample]:
        """Readings without a value in this time."""
        return [one for one in self.failed if begin_s <= one.at_s <= end_s]
