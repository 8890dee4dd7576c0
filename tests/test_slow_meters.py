"""A meter may be slow, may fail and may be closed: the tick never waits for it, and its rates are
over its own times.
"""

from __future__ import annotations

import threading
import time
from itertools import pairwise
from statistics import median

import pytest

from kneebench.lab.programs import wait_until
from kneebench.measurement.sampler import Sampler
from kneebench.measurement.summaries import between, summaries, window

RATE_PER_S = 100.0
READING_S = 1.5
LONGEST_S = 60
"""Until a machine that is slow has done what a test needs."""


class Slow:
    """A counter that rises evenly; a reading of it takes 1.5 s, and more where its thread stands
    still, and gives the count in the middle of that time.
    """

    name, quantities, notes, every_s = "devices", ("device.reads",), (), 0.5

    def __init__(self, fails_at: int = 0) -> None:
        self.closed, self.readings, self.fails_at = False, 0, fails_at
        self.threads: set[str] = set()
        self.took_s: list[float] = []

    def read(self) -> dict[str, float]:
        self.readings += 1
        self.threads.add(threading.current_thread().name)
        if self.readings == self.fails_at:
            raise OSError("the controller does not answer")
        began_s = time.monotonic()
        time.sleep(READING_S)
        ended_s = time.monotonic()
        self.took_s.append(ended_s - began_s)
        return {"device.reads|sda": RATE_PER_S * (began_s + ended_s) / 2}

    def close(self) -> None:
        assert not self.closed
        self.closed = True


def test_a_meter_that_takes_longer_than_a_second_delays_no_tick_and_has_the_right_rate() -> None:
    meter = Slow()
    sampler = Sampler([meter], time.monotonic)
    took_s: list[float] = []
    seconds: list[float | None] = []
    while len(seconds) < 5 or (None not in seconds and len(seconds) < LONGEST_S):
        time.sleep(1.0)
        began_s = time.monotonic()
        n = sampler.sample()
        took_s.append(time.monotonic() - began_s)
        rates = between(sampler.raw_series, n - 1, n).get("device.reads", {})
        seconds.append(rates.get("sda"))
    sampler.close()
    assert median(took_s) < READING_S / 3
    assert between(sampler.raw_series, 0, n)["device.reads"]["sda"] == pytest.approx(
        RATE_PER_S, rel=0.05
    )
    assert None in seconds, "a second without a new reading has no rate, not one of 0"
    assert all(rate == pytest.approx(RATE_PER_S, rel=0.1) for rate in seconds if rate is not None)
    assert summaries(window(sampler.raw_series, 0, n))["device.reads"].high == pytest.approx(
        RATE_PER_S, rel=0.1
    )
    read_s = between(sampler.raw_series, 0, n)["meters.read_time"]["devices"]
    assert READING_S <= read_s <= max(meter.took_s) + 0.2 * READING_S


def test_a_slow_meter_is_read_in_a_thread_of_its_own_and_closed_after_its_last_reading() -> None:
    meter = Slow()
    sampler = Sampler([meter], time.monotonic)
    time.sleep(0.2)
    sampler.close()
    assert meter.closed
    assert meter.threads <= {"MainThread", "meter devices"}
    assert "meter devices" not in {thread.name for thread in threading.enumerate()}


def test_a_failure_in_the_thread_of_a_slow_meter_is_raised_by_the_next_sample() -> None:
    meter = Slow(fails_at=3)
    sampler = Sampler([meter], time.monotonic)
    deadline = time.monotonic() + LONGEST_S
    with pytest.raises(OSError, match="controller"):
        while time.monotonic() < deadline:
            sampler.sample()
            time.sleep(0.05)
    sampler.close()
    assert meter.closed


def test_meters_are_closed_even_where_the_first_sample_fails() -> None:
    first, failing = Slow(), Slow(fails_at=1)
    with pytest.raises(OSError, match="controller"):
        Sampler([first, failing], time.monotonic)
    assert first.closed
    assert failing.closed


class Sampled:
    """A gauge that is 0 and 4 in turn, read ten times per second."""

    name, quantities, notes, every_s = "waits", ("waits.log",), (), 0.1
    rate = "waits.samples|server"

    def __init__(self) -> None:
        self.at_s: list[float] = []

    def read(self) -> dict[str, float]:
        self.at_s.append(time.monotonic())
        return {"waits.log|sync": 4.0} if len(self.at_s) % 2 else {}


def test_a_gauge_that_is_sampled_ten_times_per_second_has_the_mean_of_its_samples() -> None:
    meter = Sampled()
    sampler = Sampler([meter], time.monotonic)
    for readings in (11, 21):
        assert wait_until(lambda least=readings: len(meter.at_s) >= least, LONGEST_S)
        sampler.sample()
    elapsed_s = time.monotonic() - meter.at_s[0]
    sampler.close()
    found = between(sampler.raw_series, 0, 2)
    assert found["waits.log"]["sync"] == pytest.approx(2.0, abs=0.4)
    assert 0.8 * 20 / elapsed_s < found["waits.samples"]["server"] < 10.5
    pauses_s = [later - before for before, later in pairwise(meter.at_s)]
    assert median(pauses_s) == pytest.approx(0.1, abs=0.05)


class SampledSeldom(Sampled):
    """Once, in the time of a test."""

    every_s = 3600.0


def test_a_sampled_gauge_without_a_new_sample_keeps_its_last_mean() -> None:
    sampler = Sampler([SampledSeldom()], time.monotonic)
    sampler.sample()
    sampler.sample()
    sampler.close()
    assert [value["waits.log|sync"] for value in sampler.raw_series[1].values] == [4.0] * 3
