"""From readings to numbers: a value for each second, and one for the window.

A counter's value is its difference over the time between two samples, a gauge's the mean of the
samples. Both work for a second (two samples running) and for the window (its first sample and its
last), so that a ratio is always the quotient of two sums over the same time. A database's sessions
may report their counts once a second only: what a single second says of them is rough, sums over 5
s and more are good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import chain
from statistics import fmean
from typing import NamedTuple

from kneebench.engine_properties import Quantity
from kneebench.measurement.quantities import RATIOS, READ, Ratio
from kneebench.measurement.sampler import RawSeries
from kneebench.records import Series, Summary

Values = dict[str, dict[str, float]]
"""quantity -> source -> value, between two samples."""
COMBINED: dict[str, Callable[[Iterable[float]], float]] = {"sum": sum, "mean": fmean, "max": max}


class Window(NamedTuple):
    """The samples from `first` to `last`: what was read over the whole of it, and in each of its
    seconds.
    """

    raw_series: Sequence[RawSeries]
    first: int
    last: int
    whole: Values
    seconds: Sequence[Values]


def window(
    raw_series: Sequence[RawSeries], first: int, last: int, seconds: Sequence[Values] = ()
) -> Window:
    """A window; `seconds` are the values of its seconds, if already computed."""
    return Window(
        raw_series,
        first,
        last,
        between(raw_series, first, last),
        seconds or by_second(raw_series, first, last),
    )


def between(raw_series: Sequence[RawSeries], first: int, last: int) -> Values:
    """What was read between two samples: a counter's rate, a gauge's mean.

    >>> samples = [{"device.reads|sda": reads} for reads in (100.0, 400.0, 1000.0)]
    >>> between([RawSeries("devices", [0.0, 1.0, 2.0], samples)], 0, 2)
    {'device.reads': {'sda': 450.0}}
    """
    found: Values = {}
    for raw in raw_series:
        samples = raw.values[first + 1 : last + 1]
        before, after = raw.values[first], raw.values[last]
        elapsed_s = raw.at_s[last] - raw.at_s[first]
        for key in dict.fromkeys(chain.from_iterable(samples)):
            name, source, quantity = _read(key)
            if quantity.kind == "histogram":
                continue
            value = (
                _mean(key, samples)
                if quantity.kind == "gauge"
                else _rate(before.get(key), after.get(key), elapsed_s, quantity)
            )
            if value is not None:
                found.setdefault(name, {})[source] = value
    return found


@cache
def _read(key: str) -> tuple[str, str, Quantity]:
    name, _, source = key.partition("|")
    return name, source, READ[name]


def _mean(key: str, samples: Sequence[dict[str, float]]) -> float:
    """A gauge that a sample does not have (a wait event that nobody is in) is 0 in it."""
    return sum([sample.get(key, 0.0) for sample in samples]) / len(samples)


def _rate(
    before: float | None, after: float | None, elapsed_s: float, quantity: Quantity
) -> float | None:
    if before is None or after is None or elapsed_s <= 0:
        return None
    rate = (after - before) / elapsed_s
    # the kernel counts core time in steps of 10 ms: one second may seem to hold 1.01
    return min(rate, 1.0) if quantity.unit == "share" else rate


def histogram(window: Window, quantity: str) -> dict[str, int]:
    """How often each bucket of a histogram was hit in a window; a bucket that a sample does not
    have was not hit before it.

    >>> samples = [{}, {"log.kernel_histogram|96": 2.0}, {"log.kernel_histogram|96": 5.0}]
    >>> trace = [RawSeries("log_histogram", [0.0, 1.0, 2.0], samples)]
    >>> histogram(window(trace, 0, 2), "log.kernel_histogram")
    {'96': 5}
    """
    found: dict[str, int] = {}
    for raw in window.raw_series:
        before, after = raw.values[window.first], raw.values[window.last]
        for key, count in after.items():
            name, _, bucket = key.partition("|")
            if name == quantity:
                found[bucket] = round(count - before.get(key, 0.0))
    return found


def combined(values: Values, quantity: str) -> float | None:
    """A quantity over all its sources; None where it was not read."""
    sources = values.get(quantity)
    return COMBINED[READ[quantity].over](sources.values()) if sources else None


def quotient(values: Values, ratio: Ratio) -> float | None:
    """A ratio over all sources; None where a part was not read or nothing happened to divide by.

    >>> kernel = {"log.kernel_time": {"kernel": 0.5}, "log.kernel_flushes": {"kernel": 100.0}}
    >>> quotient(kernel, RATIOS["log.write_latency"])
    0.005
    """
    if not all(map(values.get, (*ratio.numerators, *ratio.denominators))):
        return quotient(values, RATIOS[ratio.instead]) if ratio.instead else None
    if not (divisor := sum(combined(values, name) or 0.0 for name in ratio.denominators)):
        return None
    return sum(combined(values, name) or 0.0 for name in ratio.numerators) / divisor


def quotients(values: Values, ratio: Ratio) -> dict[str, float]:
    """A ratio by source, for the sources that all its parts have."""
    parts = [values.get(name, {}) for name in (*ratio.numerators, *ratio.denominators)]
    if ratio.instead and not all(parts):
        return quotients(values, RATIOS[ratio.instead])
    shared = [source for source in parts[0] if all(source in part for part in parts)]
    each = {
        source: quotient(
            {n: {source: values[n][source]} for n in (*ratio.numerators, *ratio.denominators)},
            ratio,
        )
        for source in shared
    }
    return {source: value for source, value in each.items() if value is not None}


def by_second(raw_series: Sequence[RawSeries], first: int, last: int) -> list[Values]:
    """The values of each second between two samples."""
    return [between(raw_series, sample - 1, sample) for sample in range(first + 1, last + 1)]


def summaries(window: Window) -> dict[str, Summary]:
    """Every quantity that was read and every ratio of them, over the samples of a window; `high` is
    the highest second.
    """
    found: dict[str, Summary] = {}
    for name, quantity in READ.items():
        if (value := combined(window.whole, name)) is not None:
            high = max(
                (v for s in window.seconds if (v := combined(s, name)) is not None), default=value
            )
            found[name] = Summary(
                unit=quantity.unit, value=value, high=high, sources=window.whole[name]
            )
    for name, ratio in RATIOS.items():
        if (value := quotient(window.whole, ratio)) is not None:
            high = max(
                (v for s in window.seconds if (v := quotient(s, ratio)) is not None), default=value
            )
            found[name] = Summary(
                unit=ratio.unit, value=value, high=high, sources=quotients(window.whole, ratio)
            )
    return found


def series(times_s: Sequence[float], seconds: Sequence[Values]) -> tuple[Series, ...]:
    """One value a second of every quantity by source, and of every ratio over all sources (source
    ""); a time for each second.
    """
    courses: dict[tuple[str, str], dict[float, float]] = {}
    for at_s, values in zip(times_s, seconds, strict=True):
        for name, sources in values.items():
            for source, value in sources.items():
                if (course := courses.get((name, source))) is None:
                    # a gauge that most samples do not have is 0 in them
                    gauge = READ[name].kind == "gauge"
                    course = courses[name, source] = dict.fromkeys(times_s, 0.0) if gauge else {}
                course[at_s] = value
        for name, ratio in RATIOS.items():
            if (whole := quotient(values, ratio)) is not None:
                courses.setdefault((name, ""), {})[at_s] = whole
    units = {name: read.unit for name, read in READ.items()} | {
        name: ratio.unit for name, ratio in RATIOS.items()
    }
    return tuple(
        Series(
            quantity=name,
            source=source,
            unit=units[name],
            at_s=tuple(course),
            value=tuple(course.values()),
        )
        for (name, source), course in courses.items()
    )
