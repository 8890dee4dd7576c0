"""Transactions that are compared are equally heavy, or the comparison says that they are not."""

from __future__ import annotations

import pytest

from kneebench.analysis.outcome import exit_code, failed_checks, order_weights, weight_checks
from kneebench.brief import Brief
from kneebench.records import Results
from tests.recordings import each, recorded, with_phase, with_throughput, without

LOG = "log.bytes_per_transaction"


def compared(log_bytes: tuple[float, float], ratio: float) -> Results:
    """The recording, with so much log per transaction on disk and in memory, and so many times the
    throughput in memory.
    """
    results = without(recorded(), "device.write_bytes_per_transaction")
    for climb, (logged, per_s) in enumerate(zip(log_bytes, (1000.0, 1000.0 * ratio), strict=True)):
        results = with_phase(results, climb, "final_run", log__bytes_per_transaction=logged)
        results = each(results, climb, lambda r, x=per_s: with_throughput(r, x), "final_run")
    return results


@pytest.mark.parametrize(
    ("log_bytes", "ratio", "said", "failed"),
    [
        ((5000, 4900), 1.0, False, False),
        ((5000, 4300), 1.0, True, False),
        ((5000, 3900), 1.1, True, True),
        ((10000, 5000), 1.5, True, True),
        ((10000, 5000), 10.0, True, False),
        ((5000, 10000), 1.5, True, True),
    ],
)
def test_heavier_transactions_are_said_and_fail_a_check_where_they_may_explain_the_difference(
    log_bytes: tuple[float, float], ratio: float, said: bool, failed: bool
) -> None:
    results = compared(log_bytes, ratio)
    (check,) = weight_checks(results)
    assert check.passed is not failed
    assert bool([*order_weights(results)]) is said
    assert (exit_code(results) == 4) is failed
    assert (f"comparison: {check.sentence}" in [*failed_checks(results)]) is failed
    assert ("Transactions were not equally heavy" in Brief(results).html()) is (said and not failed)


def test_both_figures_are_said_the_heavier_first() -> None:
    (weight,) = order_weights(compared((10240, 5120), 1.5))
    assert weight.sentence == "log per transaction: 10 KiB on disk, 5 KiB on memory (2.00x)"
    failed = [*failed_checks(compared((10240, 5120), 1.5))]
    assert failed == [
        f"comparison: the transactions compared are not equally heavy: {weight.sentence}"
    ]


def test_writes_to_devices_are_said_and_fail_nothing() -> None:
    results = compared((5000, 5000), 1.0)
    for climb, written in enumerate((3e4, 1e4)):
        values = {"device__write_bytes_per_transaction": written}
        results = with_phase(results, climb, "final_run", **values)
    assert [one.sentence for one in order_weights(results)] == [
        "writes to its devices per transaction: 29.3 KiB on disk, 9.77 KiB on memory (3.00x)"
    ]
    assert [check.passed for check in weight_checks(results)] == [True]
    disk, memory = results.climbs
    less = memory.configuration.model_copy(update={"memory_bytes": 2**30})
    limited = (disk, memory.model_copy(update={"configuration": less}))
    apart = results.model_copy(update={"climbs": limited})
    assert [*order_weights(apart)] == [], "with less memory changed pages are written more often"


def test_a_heavier_log_at_the_fixed_rate_is_a_caveat_and_fails_nothing() -> None:
    results = compared((5000, 5000), 1.0)
    assert any(climb.of("fixed_rate") for climb in results.climbs), "a recording with a fixed rate"
    for climb, logged in enumerate((8192, 4096)):
        results = with_phase(results, climb, "fixed_rate", log__bytes_per_transaction=logged)
    [said] = [one.sentence for one in order_weights(results)]
    assert said == ("log per transaction at the fixed rate: 8 KiB on disk, 4 KiB on memory (2.00x)")
    assert said in Brief(results).html()
    assert [check.passed for check in weight_checks(results)] == [True]


def test_one_storage_an_unfinished_campaign_and_a_log_that_was_not_measured_have_no_check() -> None:
    results = compared((10000, 5000), 1.0)
    alone = results.model_copy(update={"climbs": results.climbs[:1]})
    assert weight_checks(alone) == weight_checks(without(results, LOG)) == ()
    unfinished = results.model_copy(update={"finished": False})
    assert weight_checks(unfinished) == ()
