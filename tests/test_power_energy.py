"""The energy of a stretch of time, from readings: exact within its bounds, and none where something
speaks against it.
"""

from __future__ import annotations

import math
import random
import time
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneebench.brief.power_meters import _lacking
from kneebench.campaign.power import use_kept
from kneebench.measurement.power.energy import energy_at, measured_power, watts_by_second
from kneebench.measurement.power.lag import lag_of
from kneebench.measurement.power.record import PowerRecord, PowerSample
from kneebench.measurement.power.recorder import PowerRecorder
from kneebench.measurement.power.recordings import NewSamples, RecordedPower
from kneebench.plan.power import Power
from kneebench.records import (
    LOAD_NOT_SEEN,
    CampaignPower,
    MeasuredPower,
    MeterLag,
    PowerMeterFacts,
    PowerWindow,
)


def gauge(watts, every_s: float = 1.0, until_s: float = 120.0, without=()) -> PowerRecord:
    """Readings of a power that is a function of time; none in some stretches."""
    record = PowerRecord(counts_energy=False, every_s=every_s)
    for n in range(int(until_s / every_s)):
        at_s = n * every_s
        if any(begin <= at_s < end for begin, end in without):
            record.add([PowerSample(at_s, None, "no answer")])
        else:
            record.add([PowerSample(at_s, watts(at_s))])
    return record


def counter(joules, every_s: float = 1.0, until_s: float = 120.0) -> PowerRecord:
    record = PowerRecord(counts_energy=True, every_s=every_s)
    record.add(
        [PowerSample(n * every_s, joules(n * every_s)) for n in range(int(until_s / every_s))]
    )
    return record


def moving(at_s: float) -> float:
    return 200 + 20 * math.sin(at_s / 3)


def of(record: PowerRecord, begin_s: float, end_s: float, lag_s: float = 0.0) -> MeasuredPower:
    return measured_power("wall", record, begin_s, end_s, lag_s)


def test_a_counters_energy_is_exact_between_readings() -> None:
    found = of(counter(lambda at_s: 150.0 * at_s), 20.25, 60.75)
    assert found.watts == pytest.approx(150.0, rel=1e-9)
    assert found.joules == pytest.approx(150.0 * 40.5, rel=1e-9)
    assert found.caveats == ()


def test_a_gauges_energy_is_that_of_its_power() -> None:
    found = of(gauge(moving), 20.5, 70.5)
    true = sum(moving(20.5 + n / 100) for n in range(5000)) / 100
    assert found.joules == pytest.approx(true, rel=0.002)
    assert found.high_w == pytest.approx(220, abs=2)


@given(st.floats(1, 50), st.floats(0.1, 30), st.floats(0.1, 30))
def test_the_energy_of_two_stretches_is_that_of_both_together(
    begin_s: float, first_s: float, second_s: float
) -> None:
    record = gauge(moving)
    a, b, c = (energy_at(record, begin_s + s) for s in (0.0, first_s, first_s + second_s))
    assert (b - a) + (c - b) == pytest.approx(c - a, rel=1e-9)
    assert b >= a


def test_a_lag_is_taken_into_account_up_to_a_tenth_of_the_stretch() -> None:
    def step(at_s: float) -> float:
        return (300.0 if at_s >= 41.0 else 100.0) + at_s % 2

    late = gauge(step, every_s=0.25)
    assert of(late, 20, 40, lag_s=1.0).watts == pytest.approx(100.5, abs=2)
    assert of(late, 20, 40, lag_s=-1.0).watts == pytest.approx(100.5, abs=2)
    assert of(late, 40, 60, lag_s=1.0).watts == pytest.approx(300.5, abs=4)
    assert "late" in of(late, 20, 29.9, lag_s=1.0).why
    assert of(late, 20, 30, lag_s=1.0).why == ""


def test_a_gap_is_no_energy_and_says_why() -> None:
    record = gauge(moving, without=[(40.0, 70.0)])
    found = of(record, 30, 60)
    assert (found.watts, found.joules) == (None, None)
    assert found.why == "no reading for 31 s (no answer) (limit 3 s)"
    assert found.kinds == ("gap",)
    assert of(record, 5, 35).why == ""
    assert of(record, 72, 110).why == ""


def test_reasons_of_one_kind_are_counted_together_whatever_their_words() -> None:
    gaps = (of(gauge(moving, without=[(40.0, end)]), 30, 60) for end in (50.0, 70.0))
    late = of(gauge(moving, until_s=50), 40, 60)
    assert _lacking(WALL, [*gaps, late]) == (
        "2 rungs, such as: no reading for 11 s (no answer) (limit 3 s); 1 rung: no reading after it"
    )


def test_one_reading_that_is_missing_is_no_gap() -> None:
    assert of(gauge(moving, without=[(40.0, 40.5)]), 30, 60).why == ""


def test_readings_that_do_not_enclose_a_stretch_are_none_of_it() -> None:
    record = gauge(moving, until_s=50)
    assert of(record, 40, 60).why == "no reading after it"
    assert of(record, -5, 20).why == "no reading before it"


def test_readings_that_do_not_change_are_not_believed() -> None:
    record = gauge(lambda at_s: moving(min(at_s, 40.0)) if at_s < 100 else moving(at_s))
    assert of(record, 35, 65).why.endswith("did not change for 59 s (limit 3 s)")
    assert of(record, 35, 65).still_s == 59.0
    assert of(record, 10, 40).why == ""
    assert of(record, 102, 112).why == ""


def test_a_freeze_of_more_than_a_tenth_of_a_stretch_is_not_believed() -> None:
    slow = gauge(lambda at_s: moving(at_s // 8 * 8), until_s=400)
    frozen = gauge(lambda at_s: moving((300 if 300 <= at_s < 340 else at_s) // 8 * 8), until_s=400)
    assert of(slow, 280, 350).why == ""
    assert of(frozen, 280, 350).why.endswith("did not change for 43 s (limit 24 s)")
    assert of(gauge(lambda at_s: moving(at_s // 60 * 60), until_s=900), 150, 850).why == ""


ZERO = [PowerSample(n, 0.0 if 40 <= n < 60 else moving(n)) for n in range(100)]


def of_a_server(samples: list[PowerSample], idle_w: float | None) -> PowerRecord:
    record = PowerRecord(counts_energy=False, every_s=1.0)
    record.idle_w = idle_w
    record.add(samples)
    return record


def test_a_running_server_takes_no_0_w() -> None:
    found = of(of_a_server(ZERO, 0.0), 30, 90)
    assert (found.watts, found.high_w) == (None, None)
    assert found.why.startswith("no reading for 21 s (it answered 0 W, and a running server")
    drive = [PowerSample(n, n % 2 * 0.1 if 40 <= n < 60 else moving(n)) for n in range(100)]
    assert of(of_a_server(drive, None), 30, 90).watts == pytest.approx(133, abs=3)


def test_a_running_server_takes_no_tenth_of_its_idle_power() -> None:
    low = [one._replace(value=9.0 + one.at_s % 2 / 5) if one.value == 0 else one for one in ZERO]
    assert "(it answered 9" in of(of_a_server(low, 100.0), 30, 90).why
    assert of(of_a_server(low, 80.0), 30, 90).why == ""
    record = counter(lambda at_s: 200.0 * at_s - 191.0 * min(max(at_s - 40, 0), 20))
    record.idle_w = 100.0
    assert "less than a tenth of idle power for 20 s" in of(record, 30, 90).why
    record.idle_w = 80.0
    assert of(record, 30, 90).why == ""


def test_two_readings_of_0_w_are_left_out() -> None:
    samples = [PowerSample(n, 0.0 if n in (50, 70) else moving(n)) for n in range(100)]
    found = of(of_a_server(samples, 0.0), 30, 90)
    assert found.watts == pytest.approx(of(gauge(moving), 30, 90).watts, rel=0.005)


def test_a_short_stretch_without_any_change_is_not_believed() -> None:
    record = gauge(lambda at_s: 100.0 + (at_s // 8), every_s=1.0)
    assert "did not change at all" in of(record, 41, 46).why


def test_a_counter_that_does_not_change_counts_nothing() -> None:
    record = counter(lambda at_s: 150.0 * min(at_s, 40.0))
    assert "its counter did not change" in of(record, 35, 70).why


def test_a_value_that_cannot_be_makes_its_stretch_invalid_and_no_other() -> None:
    record = gauge(moving, until_s=50)
    record.add([PowerSample(50.0, None, "4294967296 stands for no value", refused=True)])
    record.add([PowerSample(51.0 + n, moving(51.0 + n)) for n in range(60)])
    assert of(record, 40, 60).why == "4294967296 stands for no value"
    assert of(record, 10, 40).why == ""
    assert of(record, 55, 85).why == ""


def test_a_stretch_shorter_than_twenty_periods_is_flagged() -> None:
    slow = gauge(lambda at_s: 100.0 + at_s // 5 % 7, until_s=400)
    assert slow.period_s() == 5.0
    assert of(slow, 100, 160).caveats == ("its 1 min have 12 periods of 5 s (at least 20)",)
    assert of(slow, 100, 201).caveats == ()
    seldom = gauge(moving, every_s=6.0, until_s=400)
    assert seldom.period_s() == 6.0


def test_a_coarse_counter_is_flagged_and_a_fine_one_is_not() -> None:
    coarse = counter(lambda at_s: 3600.0 * (150.0 * at_s // 3600), until_s=400)
    fine = counter(lambda at_s: 150.0 * at_s, until_s=400)
    assert any("its counter goes by" in one for one in of(coarse, 50, 350).caveats)
    assert of(fine, 50, 350).caveats == ()


def test_each_second_has_its_own_power() -> None:
    record = counter(lambda at_s: 100.0 * at_s if at_s < 30 else 3000.0 + 300.0 * (at_s - 30))
    assert watts_by_second(record, 28, 32) == pytest.approx([100.0, 100.0, 300.0, 300.0])


STEPS = [(30.0, 34.1), (39.25, 45.4), (49.55, 54.7)]


@pytest.mark.parametrize("late_s", [0.0, 0.4, 2.15, 7.0])
@pytest.mark.parametrize("every_s", [0.1, 0.5, 1.0])
def test_a_lag_is_found_by_a_load_that_is_switched_on_and_off(
    late_s: float, every_s: float
) -> None:
    noise = random.Random(7)

    def loaded(at_s: float) -> float:
        on = any(begin <= at_s - late_s < end for begin, end in STEPS)
        return 100 + 60 * on + noise.uniform(-3, 3)

    found = lag_of("wall", gauge(loaded, every_s=every_s), STEPS, 70.0)
    assert found.lag_s == pytest.approx(late_s, abs=0.1 + every_s / 2)
    assert found.step_w == pytest.approx(60, rel=0.2)


def test_a_meter_that_is_too_late_is_refused_and_says_so() -> None:
    def late(at_s: float) -> float:
        return 100 + 60 * any(begin <= at_s - 12.4 < end for begin, end in STEPS)

    found = lag_of("wall", gauge(late, every_s=0.25), STEPS, 70.0)
    assert (found.lag_s, "more than 12 s late" in found.why) == (None, True)
    recorder = PowerRecorder(Power(), [])
    recorder.use_lags([found])
    measured = recorder._measured("wall", gauge(moving), 20, 60)
    assert (measured.watts, measured.why) == (None, found.why)


WALL = PowerMeterFacts(name="wall", type="command", scope="wall")


class Elsewhere:
    """A meter of a machine whose clock is 1000 s ahead; its second answer is slow to come."""

    def __init__(self) -> None:
        self.meters = (RecordedPower(WALL, counts_energy=False, every_s=0.1),)
        self.calls = 0

    def new_samples(self) -> NewSamples:
        now_s = time.monotonic() + 1000
        self.calls += 1
        time.sleep(0.4 if self.calls == 2 else 0.0)
        return NewSamples(now_s, ((PowerSample(now_s, 100.0),),), (0.0,))

    def close(self) -> None:
        pass


def test_readings_of_another_machine_are_on_our_clock() -> None:
    recorder = PowerRecorder(Power(), [Elsewhere()])
    recorder.take()
    before_s = time.monotonic()
    recorder.take()
    assert recorder._records["wall"].latest_s == pytest.approx(before_s, abs=0.1)


WALL_IDLE = MeasuredPower(meter="wall", watts=90.0)


def test_lags_and_idle_power_of_a_killed_run_are_used_again() -> None:
    lags = {"disk": (MeterLag(meter="wall", lag_s=0.7, step_w=40.0),)}
    idle = {"disk": PowerWindow(began_at=0, ended_at=60, meters=(WALL_IDLE,))}
    power = CampaignPower(lags=lags, idle=idle)
    kept: Any = SimpleNamespace(campaign=SimpleNamespace(power=power))
    recorder = PowerRecorder(Power(), [Elsewhere()])
    use_kept(kept, recorder)
    assert recorder._measured("wall", gauge(moving), 20, 60).lag_s == 0.7
    assert recorder._records["wall"].idle_w == 90.0


def test_a_meter_of_something_else_has_no_lag() -> None:
    noise = random.Random(8)
    found = lag_of("wall", gauge(lambda at_s: 100 + noise.uniform(-30, 30)), STEPS, 70.0)
    assert (found.lag_s, found.why) == (None, LOAD_NOT_SEEN)
    assert lag_of("wall", gauge(lambda at_s: 100.0), STEPS, 70.0).why == LOAD_NOT_SEEN
    short = gauge(moving, until_s=40)
    assert "not read all through" in lag_of("wall", short, STEPS, 70.0).why
