"""The latency from P50 to P99.99: of all repeats together, and no further than samples reach."""

from __future__ import annotations

import pytest

from kneebench.analysis.fixed_rate import together
from kneebench.analysis.latency_spectrum import LEAST_BEYOND, named_quantiles, spectrum
from kneebench.brief import Brief
from kneebench.records import Latency
from kneebench.units import time
from tests.recordings import recorded, section


def fixed_rate(climb: int = 0) -> list[Latency]:
    rungs = recorded().climbs[climb].of("fixed_rate")
    return [rung.tally.latency for rung in rungs if rung.tally.latency]


def test_the_named_quantiles_are_those_of_the_merged_histogram() -> None:
    some = fixed_rate()
    found, whole = named_quantiles(some), together(some)
    assert found["P50"].latency_s == whole.p50_s
    assert found["P99"].latency_s == whole.p99_s
    assert found["P99.9"].latency_s == whole.p999_s


def test_a_quantile_that_too_few_transactions_exceed_is_left_out() -> None:
    some = fixed_rate()
    n = sum(one.n for one in some)
    assert ("P99.99" in named_quantiles(some)) is (n >= LEAST_BEYOND * 10_000)
    curve = spectrum(some)
    assert curve[0].share == pytest.approx(0.5, abs=0.01)
    assert n * (1 - curve[-1].share) >= LEAST_BEYOND - 1e-6
    assert [one.latency_s for one in curve] == sorted(one.latency_s for one in curve)


def test_without_histograms_there_is_no_spectrum() -> None:
    bare = [one.model_copy(update={"histogram": ""}) for one in fixed_rate()]
    assert spectrum(bare) == [] and named_quantiles(bare) == {}


def test_the_appendix_has_the_spectrum_each_transaction_type_and_the_devices_by_users() -> None:
    brief = Brief(recorded())
    full, devices = section(brief, "latency-spectrum"), section(brief, "devices-by-users")
    quantiles, types = full.tables
    whole = together(fixed_rate())
    assert time(whole.p50_s) in quantiles.rows[0].cells
    assert [row.cells[1] for row in types.rows[:5]] == [
        "New-Order",
        "Payment",
        "Order-Status",
        "Delivery",
        "Stock-Level",
    ]
    shares = [float(row.cells[2].rstrip("%")) for row in types.rows[:5]]
    assert sum(shares) == pytest.approx(100, abs=0.3)
    climb = recorded().climbs[0]
    users = {rung.users for rung in climb.of("search", "bisection") if not rung.invalid}
    rows = [row for row in devices.tables[0].rows if row.cells[0] == climb.configuration.name]
    assert [int(row.cells[1]) for row in rows] == sorted(users)
    assert [row.cells[1] for row in rows if row.tone == "strong"] == [str(climb.knee_users)]
    assert full.part == devices.part == "appendix"
