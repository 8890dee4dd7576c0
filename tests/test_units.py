"""Numbers and sizes for people: few digits, no exponents, and back again."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kneebench.analysis.wording import value_with_ends
from kneebench.records import Estimate
from kneebench.units import (
    SHOWN,
    SIZE,
    exact_size,
    parse_size,
    rate,
    rounded,
    significant,
    size,
    time,
)

FORM = re.compile(r"([0-9]+)(?:\.([0-9]+))? ([kKMGTPEZ]?i?B)")
BYTES = st.one_of(
    st.integers(0, 2**70),
    st.builds(lambda power, more: 2**power + more, st.integers(0, 69), st.integers(-1, 1)),
    st.builds(lambda unit, number: SIZE[unit] * number, st.sampled_from([*SIZE]), st.integers()),
).filter(lambda value: 0 <= value <= 2**70)


def bytes_of(text: str) -> float:
    number, unit = text.split(" ")
    binary = {name: 1024.0**power for power, name in enumerate(reversed(SHOWN))}
    return float(number) * {**binary, **SIZE}[unit]


def digits_of(text: str) -> int:
    """Significant digits of a number: without the zeros that only say where its point is."""
    found = FORM.fullmatch(text)
    assert found, f"{text!r} is no number with a unit"
    return len((found[1] + (found[2] or "")).lstrip("0"))


@given(BYTES)
@example(24_678_400 * 2**10)
@example(10**8 * 2**40)
@example(1023 * 2**20)
@example(2**70)
def test_a_size_has_at_most_three_digits_and_is_the_bytes_to_that_precision(value: int) -> None:
    text = size(value)
    assert digits_of(text) <= 3
    assert bytes_of(text) == pytest.approx(value, rel=0.006)


@given(BYTES)
@example(24_678_400 * 2**10)
@example(10**8 * 2**40)
@example(40 * 10**9)
def test_a_size_as_a_plan_writes_it_has_four_digits_if_it_is_exact_and_else_three(
    value: int,
) -> None:
    text = exact_size(value)
    assert digits_of(text) <= 4
    if digits_of(text) == 4 and value < 2**63:
        assert parse_size(text.replace(" ", "")) == value
    assert bytes_of(text) == pytest.approx(value, rel=0.006)


@pytest.mark.parametrize("unit", SIZE)
def test_a_size_that_a_plan_writes_is_read_back_as_the_same_bytes(unit: str) -> None:
    for number in (1, 2, 384, 999, 1.5, 0.25):
        value = number * SIZE[unit]
        if value == int(value):
            assert parse_size(exact_size(int(value)).replace(" ", "")) == value


def test_a_size_of_400_digits_is_no_size() -> None:
    for digits in (8, 400):
        with pytest.raises(ValueError, match="a size of at most 8 EiB"):
            parse_size(f"{'9' * digits}TiB")


@given(st.floats(-1e12, 1e12).filter(lambda value: value == 0 or abs(value) > 1e-9))
def test_a_rounded_number_has_no_exponent(value: float) -> None:
    text = rounded(value, 2)
    assert re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text)
    assert float(text) == pytest.approx(value, rel=0.051)


@given(st.floats(1, 1e12))
@example(1640.0)
def test_a_rate_has_no_zeros_behind_its_point(value: float) -> None:
    assert not re.match(r"0\.0", rate(value))


@given(st.floats(1, 1e6), st.floats(1.0002, 3))
@example(107_130, 1.002)
def test_an_interval_never_vanishes_in_its_digits(value: float, wide: float) -> None:
    of = Estimate(value=value, low=value / wide, high=value * wide, n=3)
    for written in (significant, time):
        numbers = re.findall(r"[0-9][0-9.,]*(?: [a-zµ]+(?=[ )]))?", value_with_ends(of, written))
        assert len({one.removesuffix(" to") for one in numbers}) == 3, numbers
