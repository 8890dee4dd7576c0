"""Numbers with their units as people write them, in and out: "32GiB", "5ms", "19.8 MB/s"; at most
three digits.
"""

from __future__ import annotations

import re
from decimal import Decimal
from math import ceil, floor, isfinite, log10
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ValidationInfo, WithJsonSchema

SIZE = {
    "B": 1,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
    "PiB": 2**50,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "PB": 10**15,
}
MOST_BYTES = 2**63 - 1
"""What a file or drive may have (off_t), and a column of the results."""
SHOWN = ("ZiB", "EiB", "PiB", "TiB", "GiB", "MiB", "KiB", "B")
"""Units of a size for people, the largest first."""
TIME = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
WATTS = {"mW": 1e-3, "W": 1.0, "kW": 1e3}
RATE = {"s": 1.0, "min": 60.0}
RATE_ALLOWED = 'a rate above 0 with its unit in quotes (/s, /min), as in "800/s"'
NOTHING = "–"
"""Text for a value that was not measured: never 0."""
_RATE = r"([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*/\s*(s|min)"
_NUMBER = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*")


def _parse(text: Any, units: dict[str, Any], kind: str) -> float:
    found = _NUMBER.fullmatch(text) if isinstance(text, str) else None
    if not found or found[2] not in units:
        raise ValueError(
            f"a {kind} is a number and a unit in quotes, one of {', '.join(units)} (as in"
            f' "10{list(units)[2]}")'
        )
    return float(Decimal(found[1]) * Decimal(str(units[found[2]])))


def parse_size(text: Any) -> int:
    """Bytes of a size with its unit; raises ValueError for a bare number, an unknown unit, and
    sizes beyond all that there are.

    >>> parse_size("32GiB")
    34359738368
    """
    if isinstance(text, int) and not isinstance(text, bool):
        return text
    size_bytes = _parse(text, SIZE, "size")
    if size_bytes > MOST_BYTES:
        raise ValueError(f"a size of at most {size(MOST_BYTES)}")
    return round(size_bytes)


def parse_time(text: Any) -> float:
    """Seconds of a time with its unit; raises ValueError for a bare number or an unknown unit.

    >>> parse_time("5ms"), parse_time("10min")
    (0.005, 600.0)
    """
    return text if isinstance(text, float) else _parse(text, TIME, "time")


AS_WRITTEN = {"as_written": True}
"""Context that validates a plan's text: only results write seconds as a bare number."""


def _seconds(given: Any, info: ValidationInfo) -> float:
    if isinstance(given, float) and info.context == AS_WRITTEN:
        raise ValueError("a time has a unit")
    return parse_time(given)


def parse_watts(text: Any) -> float:
    """Watts of a power with its unit; raises ValueError for a bare number or an unknown unit.

    >>> parse_watts("400W"), parse_watts("1.2kW")
    (400.0, 1200.0)
    """
    return text if isinstance(text, float) else _parse(text, WATTS, "power")


def parse_rate(text: str) -> float:
    """Transactions per second of a rate with its unit; raises ValueError for another form, or 0.

    >>> parse_rate("800/s"), parse_rate("48000/min")
    (800.0, 800.0)
    """
    found = re.fullmatch(_RATE, text)
    if not found or not float(found[1]):
        raise ValueError(RATE_ALLOWED)
    return float(found[1]) / RATE[found[2]]


def _rate_or_none(text: str) -> str:
    if text:
        parse_rate(text)
    return text


def _scaled(value: float, steps: list[tuple[str, float]], digits: int = 3) -> str:
    """A value that would round to 1000 of a unit takes the next larger one."""
    unit, size = next(((u, s) for u, s in steps if abs(value) >= 0.9995 * s), steps[-1])
    return f"{rounded(value / size, digits)} {unit}"


def rounded(value: float, digits: int = 3) -> str:
    """A number with at most this many significant digits, without zeros at its end and without an
    exponent.

    >>> rounded(0.00001234), rounded(2.50), rounded(100, 2), rounded(1234)
    ('0.0000123', '2.5', '100', '1230')
    """
    return f"{Decimal(f'{value:.{digits}g}'):f}"


def times(ratio: float, digits: int | None = None) -> str:
    """A ratio for people: two digits after the point below 2, then one, then none; or so many.

    >>> times(0.7684), times(1.349), times(2.5), times(14.2), times(2.5, 2)
    ('0.77x', '1.35x', '2.5x', '14x', '2.50x')
    """
    return (
        f"{ratio:.{_after(ratio) if digits is None else digits}f}x"
        if isfinite(ratio)
        else "unknown"
    )


def times_and_ends(ratio: float, *ends: float) -> tuple[str, ...]:
    """A ratio and the ends of its interval, with a digit more where the interval would vanish.

    >>> times_and_ends(2.5, 2.31, 2.7), times_and_ends(2.5, 2.46, 2.53)
    (('2.5x', '2.3x', '2.7x'), ('2.50x', '2.46x', '2.53x'))
    """
    digits = _after(ratio)
    if times(ratio, digits) in [times(end, digits) for end in ends]:
        digits += 1
    near = [ratio and 0.1 < end / ratio < 10 for end in ends]
    return times(ratio, digits), *(
        times(end, digits if one else None) for end, one in zip(ends, near, strict=True)
    )


def _after(ratio: float) -> int:
    return 2 if abs(ratio) < 1.995 else 1 if abs(ratio) < 9.95 else 0


def size(value_bytes: float | None, digits: int = 3) -> str:
    """A size for people: 1000 to 1023 of a unit are a share of the next larger one.

    >>> size(34359738368), size(1_500_000), size(0), size(None)
    ('32 GiB', '1.43 MiB', '0 B', '–')
    >>> size(1000 * 2**20), size(10**20)
    ('0.977 GiB', '86.7 EiB')
    """
    if value_bytes is None:
        return NOTHING
    power = len(SHOWN) - 1
    while power and abs(value_bytes) < 999.5 * 2.0 ** (10 * (power - 1)):
        power -= 1
    return f"{rounded(value_bytes / 2.0 ** (10 * power), digits)} {SHOWN[-1 - power]}"


def exact_size(value_bytes: int) -> str:
    """A size as a plan would write it: the largest unit in which it is exact with at most four
    digits, two of them decimals; else three digits.

    >>> exact_size(3 * 2**29), exact_size(40 * 10**9), exact_size(384 * 2**20)
    ('1.5 GiB', '40 GB', '384 MiB')
    >>> exact_size(24_678_400 * 2**10), exact_size(1023 * 2**20)
    ('23.5 GiB', '1023 MiB')
    """
    for unit in sorted(SIZE, key=lambda unit: -SIZE[unit]):
        hundredths, rest = divmod(100 * value_bytes, SIZE[unit])
        if value_bytes >= SIZE[unit] > 1 and not rest:
            text = f"{hundredths / 100:.2f}".rstrip("0").rstrip(".")
            if len(text.replace(".", "")) <= 4:
                return f"{text} {unit}"
    return size(value_bytes)


def time(value_s: float | None, digits: int = 3) -> str:
    """A time for people.

    >>> time(0.00487), time(90), time(0.00021), time(0), time(None)
    ('4.87 ms', '1.5 min', '210 µs', '0 ns', '–')
    """
    if value_s is None:
        return NOTHING
    units = ("h", "min", "s", "ms", "us", "ns")
    return _scaled(value_s, [(unit.replace("us", "µs"), TIME[unit]) for unit in units], digits)


def rough_time(duration_s: float) -> str:
    """A remaining or expected time for people, no finer than it is known.

    >>> rough_time(0.4), rough_time(59), rough_time(200), rough_time(9000)
    ('1 s', '59 s', '4 min', '2.5 h')
    """
    if duration_s < 100:
        return f"{ceil(duration_s)} s"
    return f"{ceil(duration_s / 60)} min" if duration_s < 5400 else f"{duration_s / 3600:.1f} h"


def count(value: float | None) -> str:
    """A count for people, with thousands separators; to the unit above 100.

    >>> count(83912.4), count(3.14159), count(None)
    ('83,912', '3.14', '–')
    """
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def significant(value: float, digits: int = 3) -> str:
    """A number with this many significant digits and thousands separators.

    >>> significant(33908.2), significant(0.01234), significant(1480000), significant(0)
    ('33,900', '0.0123', '1,480,000', '0')
    """
    if not value:
        return "0"
    places = digits - 1 - floor(log10(abs(value)))
    return f"{round(value, places):,.{max(places, 0)}f}"


def rate(value_bytes: float) -> str:
    """Traffic, in the unit that drives are sold by; below 0.1 MB/s in a smaller one.

    >>> rate(19_800_000.0), rate(450_000.0), rate(1640.0), rate(0)
    ('19.8 MB/s', '0.450 MB/s', '1.64 kB/s', '0 MB/s')
    """
    if 0 < value_bytes < 1e5:
        return _scaled(value_bytes, [("kB/s", 1e3), ("B/s", 1.0)])
    return f"{significant(value_bytes / 1e6)} MB/s"


def bit_rate(bytes_per_s: float) -> str:
    """Traffic of a network, in the unit that links are sold by.

    >>> bit_rate(125e6), bit_rate(1.19e6)
    ('1 Gbit/s', '9.52 Mbit/s')
    """
    steps = [("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)]
    return _scaled(8 * bytes_per_s, steps)


def power(watts: float | None, digits: int = 3) -> str:
    """Power for people.

    >>> power(347.4), power(0.0123), power(1210), power(None)
    ('347 W', '12.3 mW', '1.21 kW', '–')
    """
    if watts is None:
        return NOTHING
    return _scaled(watts, [("kW", 1e3), ("W", 1.0), ("mW", 1e-3)], digits) if watts else "0 W"


def energy(joules: float | None) -> str:
    """Energy for people, three digits.

    >>> energy(0.0123), energy(20844.0), energy(None)
    ('12.3 mJ', '20.8 kJ', '–')
    """
    if joules is None:
        return NOTHING
    steps = [("MJ", 1e6), ("kJ", 1e3), ("J", 1.0), ("mJ", 1e-3), ("µJ", 1e-6)]
    return _scaled(joules, steps) if joules else "0 J"


SIZE_PATTERN = r"[0-9.]+\s*(B|[KMGTP]iB|[kMGTP]B)"
Bytes = Annotated[
    int,
    BeforeValidator(parse_size),
    WithJsonSchema({"type": "string", "pattern": f"^{SIZE_PATTERN}$"}),
]
Seconds = Annotated[
    float,
    BeforeValidator(_seconds),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9.]+\s*(ns|us|ms|s|min|h)$"}),
]
Watts = Annotated[
    float,
    BeforeValidator(parse_watts),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9.]+\s*(mW|W|kW)$"}),
]
Rate = Annotated[
    str,
    AfterValidator(_rate_or_none),
    WithJsonSchema({"type": "string", "pattern": f"^({_RATE})?$"}),
]
"""Transactions per second or minute, kept as written; empty for none."""
