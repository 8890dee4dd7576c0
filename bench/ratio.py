"""A ratio with its interval and its aim: the row that every benchmark gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from kneebench.analysis.estimate import estimate, paired_ratio
from kneebench.records import Estimate, Record


class Ratio(Record):
    """One row of the table.

    `aim` bounds `value` from above (`at_most`) or from below, None bounds nothing; `beside` are
    figures to read it by.

    `holds`: the value is within its aim. `doubtful`: the interval holds the aim, so that another
    run may say otherwise.
    """

    name: str
    value: float
    low: float
    high: float
    n: int
    aim: float | None
    at_most: bool
    unit: str = "x"
    note: str = ""
    beside: Mapping[str, float] = {}

    @property
    def holds(self) -> bool:
        """The value is within its aim."""
        if self.aim is None:
            return True
        return self.value <= self.aim if self.at_most else self.value >= self.aim

    @property
    def doubtful(self) -> bool:
        """The interval reaches to both sides of the aim."""
        return self.aim is not None and self.low < self.aim < self.high


class Size(Record):
    """How thorough: `quick` only shows that a benchmark runs (its figures mean nothing).

    `images`: where loaded databases are kept for the benchmarks that follow; None: nowhere.
    """

    quick: bool = False
    images: Path | None = None

    def pick(self, full: float, quick: float) -> float:
        """The one or the other."""
        return quick if self.quick else full

    def count(self, full: int, quick: int) -> int:
        """The one or the other, of whole things."""
        return quick if self.quick else full


def at_most(
    name: str, found: Estimate, aim: float, *, note: str = "", unit: str = "x", **beside: float
) -> Ratio:
    """A row whose value must not exceed the aim."""
    return _row(name, found, aim, True, note, unit, beside)


def at_least(
    name: str, found: Estimate, aim: float, *, note: str = "", unit: str = "x", **beside: float
) -> Ratio:
    """A row whose value must reach the aim."""
    return _row(name, found, aim, False, note, unit, beside)


def told(name: str, found: Estimate, *, note: str = "", unit: str = "x", **beside: float) -> Ratio:
    """A row without an aim: what something costs, whatever it is."""
    return _row(name, found, None, True, note, unit, beside)


def turns(ours: Sequence[float], theirs: Sequence[float]) -> Estimate:
    """The ratio of pairs measured in turn, and its interval."""
    return paired_ratio(ours, theirs)


def medians(ours: Sequence[float], theirs: Sequence[float]) -> Estimate:
    """The ratio of medians; the interval is that of the paired ratios, moved to it."""
    pairs, value = paired_ratio(ours, theirs), median(ours) / median(theirs)
    moved = {"value": value, "low": min(value, pairs.low), "high": max(value, pairs.high)}
    return pairs.model_copy(update={**moved, "method": f"ratio of medians; {pairs.method}"})


def alone(values: Sequence[float]) -> Estimate:
    """Values that are measured on their own, such as seconds."""
    return estimate(values)


def largest(values: Sequence[float]) -> Estimate:
    """The largest of some values, for an aim that all must reach: it has no interval."""
    most = max(values)
    return Estimate(value=most, low=most, high=most, n=len(values), method="the largest")


def _row(
    name: str,
    found: Estimate,
    aim: float | None,
    bound: bool,
    note: str,
    unit: str,
    beside: Mapping[str, float],
) -> Ratio:
    return Ratio(
        name=name,
        value=found.value,
        low=found.low,
        high=found.high,
        n=found.n,
        aim=aim,
        at_most=bound,
        note=note,
        unit=unit,
        beside=beside,
    )
