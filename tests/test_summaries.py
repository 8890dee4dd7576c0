"""Readings become numbers: rates, means, quotients of sums, and the quantities that the stops ask
for.
"""

import pytest

from kneebench.measurement.derived_metrics import (
    database_busy,
    derived_metrics,
    log_write_latency_10s,
)
from kneebench.measurement.quantities import RATIOS, READ
from kneebench.measurement.sampler import RawSeries, Sampler
from kneebench.measurement.summaries import between, by_second, series, summaries, window
from kneebench.records import Counts, Tally, TransactionTally, noted

SECONDS = [0.0, 1.0, 2.0, 3.0, 4.0]


def raw(**courses: list[float]) -> RawSeries:
    """One meter's track of five looks; "device_reads__sda" is device.reads|sda."""
    names = {name: name.replace("__", "|").replace("_", ".", 1) for name in courses}
    samples = [
        {names[name]: course[sample] for name, course in courses.items()}
        for sample in range(len(SECONDS))
    ]
    return RawSeries("any", SECONDS, samples)


def tally(completed: int = 1000, window_s: float = 4.0, **fields: float) -> Tally:
    counts = Counts(started=completed, committed=completed)
    return Tally.model_validate(
        {
            "users": 4,
            "window_s": window_s,
            "whole_s": window_s,
            "transactions": {"new_order": TransactionTally(whole=counts, window=counts)},
            "latency": None,
            **fields,
        }
    )


def test_a_counter_is_its_difference_over_the_time_of_the_window_not_a_mean_of_seconds() -> None:
    uneven = RawSeries(
        "devices", [0.0, 1.0, 4.0], [{"device.reads|sda": n} for n in (0.0, 100.0, 1000.0)]
    )
    assert summaries(window([uneven], 0, 2))["device.reads"].value == 250
    assert summaries(window([uneven], 0, 2))["device.reads"].high == 300


def test_sources_combine_as_their_quantity_says() -> None:
    found = summaries(
        window([raw(device_reads__a=[0, 1, 2, 3, 4], device_reads__b=[0, 3, 6, 9, 12])], 0, 4)
    )["device.reads"]
    assert (found.value, found.sources) == (4, {"a": 1, "b": 3})
    shares = summaries(
        window([raw(cores_busy__0=[0, 1, 2, 3, 4], cores_busy__1=[0, 0, 0, 0, 0])], 0, 4)
    )["cores.busy"]
    assert shares.value == 0.5
    assert (
        summaries(
            window([raw(device_busy__a=[0, 1, 2, 3, 4], device_busy__b=[0, 0, 0, 0, 0])], 0, 4)
        )["device.busy"].value
        == 1
    )


def test_a_gauge_is_the_mean_of_its_looks_and_absent_means_zero() -> None:
    waits = RawSeries("waits", [0.0, 1.0, 2.0], [{}, {"waits.log|IO:WalSync": 4.0}, {}])
    assert summaries(window([waits], 0, 2))["waits.log"].value == 2
    assert [s.value for s in series([1.0, 2.0], by_second([waits], 0, 2))] == [(4.0, 0.0)]


def test_a_ratio_is_the_quotient_of_two_sums() -> None:
    log = raw(
        log_write_time__=[0, 1, 1, 1, 1],
        log_flush_time__=[0, 0, 0, 0, 1],
        log_flushes__=[0, 1000, 1001, 1002, 1003],
    )
    found = summaries(window([log], 0, 4))["log.write_latency"]
    assert found.value == pytest.approx(2 / 1003)
    assert found.high == 1.0


def test_a_ratio_without_its_parts_or_without_anything_to_divide_by_is_absent() -> None:
    assert "log.write_latency" not in summaries(window([raw(log_flushes__=[0, 1, 2, 3, 4])], 0, 4))
    idle = raw(device_reads__a=[5, 5, 5, 5, 5], device_read_time__a=[1, 1, 1, 1, 1])
    assert "device.read_await" not in summaries(window([idle], 0, 4))


def test_a_share_of_one_second_is_never_above_one_though_the_kernel_counts_in_steps() -> None:
    assert (
        summaries(window([raw(cores_busy__0=[0, 1.01, 2.0, 3.0, 4.0])], 0, 4))["cores.busy"].high
        == 1
    )


def test_series_hold_a_value_a_second_with_the_ratios_beside_what_was_read() -> None:
    reads = raw(device_reads__a=[0, 10, 30, 30, 40], device_read_time__a=[0, 1, 2, 2, 3])
    found = {(s.quantity, s.source): s for s in series(SECONDS[1:], by_second([reads], 0, 4))}
    assert found["device.reads", "a"].value == (10, 20, 0, 10)
    assert found["device.reads", "a"].at_s == (1, 2, 3, 4)
    assert found["device.read_await", ""].value == (
        0.1,
        0.05,
        0.1,
    ), "a second without reads has no await"
    assert found["device.read_await", ""].at_s == (1, 2, 4)


def test_the_database_is_as_busy_as_its_least_busy_core() -> None:
    cores = raw(
        cores_busy__0=[0, 1, 2, 3, 4],
        cores_busy__1=[0, 0.5, 1, 1.5, 2],
        cores_busy__2=[0, 0, 0, 0, 0],
    )
    found = database_busy(window([cores], 0, 4), cores=[0, 1])
    assert found
    assert (found.value, found.sources) == (0.5, {"0": 1, "1": 0.5})
    assert database_busy(window([cores], 0, 4), cores=[]) is None, (
        "a server elsewhere has no cores here"
    )


def test_two_of_three_log_windows_above_a_limit_is_a_median_above_it() -> None:
    samples = 31
    times = [0.0 if n < 10 else (n - 10) * 0.006 for n in range(samples)]
    log = RawSeries(
        "log_writes",
        [float(n) for n in range(samples)],
        [
            {"log.write_time|": t, "log.flush_time|": 0.0, "log.flushes|": float(n)}
            for n, t in enumerate(times)
        ],
    )
    found = log_write_latency_10s(window([log], 0, samples - 1))
    assert found
    assert found.sources == pytest.approx({"1": 0.0, "2": 0.006, "3": 0.006})
    assert found.value == pytest.approx(0.006)
    short = log_write_latency_10s(window([log], 15, 30))
    assert short
    assert list(short.sources) == ["1", "2", "3"], "thirds of a shorter window"


def test_a_window_too_short_for_three_means_gives_one_over_all_of_it() -> None:
    """A backend reports once a second at most: times and flushes in thirds of 2 s would be of
    different seconds.
    """
    times = [0.0, 0.0, 0.0, 0.06, 0.06, 0.12, 0.12]
    log = RawSeries(
        "log_writes",
        [float(n) for n in range(7)],
        [
            {"log.write_time|": t, "log.flush_time|": 0.0, "log.flushes|": float(n)}
            for n, t in enumerate(times)
        ],
    )
    found = log_write_latency_10s(window([log], 0, 6))
    assert found
    assert (found.value, found.sources) == (pytest.approx(0.02), {"1": pytest.approx(0.02)})


def test_cpu_per_transaction_is_cores_used_over_throughput() -> None:
    processes = raw(
        processes_cpu__server=[0, 2, 4, 6, 8], processes_cpu__load_generator=[0, 1, 1, 1, 1]
    )
    found = derived_metrics(
        window([processes], 0, 4),
        tally(completed=1000, load_generator_cpu_s=0.2, load_generator_threads=1),
        cores=[],
    )
    assert found["server.cpu_per_transaction"].value == pytest.approx(0.008)
    assert found["load_generator.cpu_per_transaction"].value == pytest.approx(0.0002)
    assert found["load_generator.busy"].value == pytest.approx(0.05)


def others(cores: list[int], load_generator_cores: list[int]) -> float:
    """Two cores, of four seconds each: the first 4 s busy, the second 2 s; the server used 2 s, the
    load generator 1 s.
    """
    samples = {
        "cores_busy__0": 4,
        "cores_busy__1": 2,
        "processes_cpu__server": 2,
        "processes_cpu__load_generator": 1,
    }
    busy = raw(**{name: [end * n / 4 for n in range(5)] for name, end in samples.items()})
    return derived_metrics(window([busy], 0, 4), tally(), cores, load_generator_cores)[
        "database.others"
    ].value


def test_what_neither_server_nor_load_generator_used_of_the_databases_cores_was_others() -> None:
    assert others(cores=[0, 1], load_generator_cores=[]) == pytest.approx((6 - 3) / 8)
    assert others(cores=[0], load_generator_cores=[0]) == pytest.approx((4 - 3) / 4)


def test_a_load_generator_on_cores_of_its_own_uses_none_of_the_databases() -> None:
    assert others(cores=[0], load_generator_cores=[1]) == pytest.approx((4 - 2) / 4)
    assert others(cores=[0], load_generator_cores=[]) == pytest.approx((4 - 2.5) / 4), (
        "anywhere: half of its time is taken to be here"
    )


def test_a_server_elsewhere_leaves_unknown_what_others_used() -> None:
    elsewhere = raw(cores_busy__0=[0, 1, 2, 3, 4], processes_cpu__load_generator=[0, 0, 0, 0, 0])
    assert "database.others" not in derived_metrics(window([elsewhere], 0, 4), tally(), cores=[])


@pytest.mark.parametrize(
    ("device", "server", "others", "share"),
    [
        (100.0, 60.0, 40.0, 0.4),
        (100.0, 60.0, 90.0, 0.4),
        (100.0, 20.0, 10.0, 0.1),
        (100.0, 150.0, 30.0, 0.0),
    ],
)
def test_others_caused_no_more_of_a_devices_io_than_the_server_left(
    device: float, server: float, others: float, share: float
) -> None:
    rates = {
        "device_write_bytes__sda": device,
        "processes_io__server": server,
        "processes_io__others": others,
    }
    moved = raw(**{name: [rate * n for n in range(5)] for name, rate in rates.items()})
    found = derived_metrics(window([moved], 0, 4), tally(), cores=[])
    assert found["device.others"].value == pytest.approx(share)


def test_without_a_device_nobody_caused_its_io() -> None:
    moved = raw(processes_io__server=[0, 1, 2, 3, 4], processes_io__others=[0, 9, 18, 27, 36])
    assert "device.others" not in derived_metrics(window([moved], 0, 4), tally(), cores=[])


def test_the_log_is_shared_out_by_the_users_transactions_and_not_by_a_count_that_lags() -> None:
    log = {"log_bytes__database": [n * 6_000.0 for n in range(5)]}
    log["log_flushes__database"] = [n * 4.0 for n in range(5)]
    late = {"database_commits__database": [0.0, 0.0, 8.0, 16.0, 24.0]}
    load = {"load_transactions__load_generator": [n * 12.0 for n in range(5)]}
    found = summaries(window([raw(**log, **late), raw(**load)], 0, 4))
    assert found["log.bytes_per_transaction"].value == 500
    assert found["log.commits_per_flush"].value == 3


def test_every_ratio_is_of_quantities_that_are_read() -> None:
    for ratio in RATIOS.values():
        assert {*ratio.numerators, *ratio.denominators} <= READ.keys()


class Stepping:
    """A meter whose looks take a quarter of a second on its own clock."""

    name, quantities, notes = "devices", ("device.reads",), noted("test", "a note")

    def __init__(self) -> None:
        self.at_s = 100.0

    def read(self) -> dict[str, float]:
        self.at_s += 0.25
        return {"device.reads|sda": self.at_s}


def test_a_look_is_dated_by_the_servers_clock_in_its_middle_and_its_cost_is_kept() -> None:
    meter = Stepping()
    book = Sampler([meter], lambda: meter.at_s)
    meter.at_s += 0.75
    assert book.sample() == 1
    assert book.raw_series[1].at_s == [0.125, 1.125]
    assert between(book.raw_series, 0, 1)["meters.read_time"] == {"load": 0, "devices": 0.25}
    assert book.remarks == noted("test", "a note")
