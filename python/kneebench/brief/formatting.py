"""Formatting of numbers in the brief: at most three digits, with their unit."""

from __future__ import annotations

from math import floor, log10

from kneebench import units
from kneebench.analysis.wording import FEW
from kneebench.records import Estimate, Latency

NOTHING = "–"
"""Text for a value that was not measured: never 0."""


def significant(value: float, digits: int = 3) -> str:
    """A number with this many significant digits and thousands separators.

    >>> significant(33908.2), significant(0.01234), significant(1480000), significant(0)
    ('33,900', '0.0123', '1,480,000', '0')
    """
    if not value:
        return "0"
    places = digits - 1 - floor(log10(abs(value)))
    return f"{round(value, places):,.{max(places, 0)}f}"


def interval(of: Estimate, digits: int = 3) -> str:
    """Low and high of an estimate, without the value.

    >>> interval(Estimate(value=33908, low=33104, high=34733, n=3))
    '33,100 to 34,700'
    """
    return f"{significant(of.low, digits)} to {significant(of.high, digits)}" if of.n > 1 else "one run, no interval"


def time_interval(of: Estimate) -> str:
    """The interval of a time.

    >>> time_interval(Estimate(value=0.0202, low=0.0198, high=0.0207, n=3))
    '19.8 ms to 20.7 ms'
    """
    return f"{time(of.low)} to {time(of.high)}" if of.n > 1 else "one run, no interval"


def count(value: float | None) -> str:
    """A count with thousands apart, to the unit above 100.

    >>> count(33908.2), count(None)
    ('33,908', '–')
    """
    return NOTHING if value is None else units.count(value)


def time(value_s: float | None) -> str:
    """A time with three digits.

    >>> time(0.0202), time(0.00002), time(None)
    ('20.2 ms', '20 µs', '–')
    """
    return NOTHING if value_s is None else units.time(value_s)


def size(value_bytes: float | None) -> str:
    """A size with three digits.

    >>> size(16384.0), size(0)
    ('16 KiB', '0 B')
    """
    return NOTHING if value_bytes is None else units.size(value_bytes)


def rate(value_bytes: float) -> str:
    """Traffic, in the unit that drives are sold by.

    >>> rate(19_800_000.0), rate(0)
    ('19.8 MB/s', '0 MB/s')
    """
    return f"{significant(value_bytes / 1e6)} MB/s"


def percent(share: float | None) -> str:
    """A share as a per cent.

    >>> percent(0.0312), percent(1.0), percent(None)
    ('3.1%', '100%', '–')
    """
    return NOTHING if share is None else f"{100 * share:.1f}".removesuffix(".0") + "%"


def percentile(value_s: float, certain: bool) -> str:
    """A percentile, with a note if too few samples exceed it (docs/method.md, latency).

    >>> percentile(0.0202, True), percentile(0.0202, False)
    ('20.2 ms', '20.2 ms (n too small)')
    """
    return units.time(value_s) + ("" if certain else f" ({FEW})")


def p999(latency: Latency | None) -> str:
    """A 99.9th percentile."""
    return percentile(latency.p999_s, latency.p999_is_certain) if latency else NOTHING


def listed(names: list[str]) -> str:
    """Names in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def sentence(text: str) -> str:
    """A sentence as it stands between others.

    >>> sentence("plateau: elasticity 0.04"), sentence("It passed.")
    ('Plateau: elasticity 0.04.', 'It passed.')
    """
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def plural(number: int, thing: str) -> str:
    """A number of things.

    >>> plural(1, "rung"), plural(3, "rung")
    ('1 rung', '3 rungs')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
