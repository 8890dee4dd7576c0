"""The climb as a generator: orders out, rungs in; the knee where the curve has it; resume by
replay.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kneebench.analysis.elasticity import between
from kneebench.analysis.knee_fit import users_interval
from kneebench.ladder.steps import between as halfway
from kneebench.ladder.steps import first, following, of_climb
from kneebench.plan.ladder import Ladder
from kneebench.records import Check, Climb, Configuration, Order, Rung
from tests.curves import Usl, answer, climb, failing, rung, walk

CONFIGURATION = Configuration(id="disk", storage="disk")
CURVE = Usl(900.0, 0.02, 0.0004)
"""Peak at 49 users."""
ENDLESS = Usl(100.0, 0.0, 0.0)


def climbed(measure, *, cores: int = 4, **ladder) -> tuple[Climb, list[Order]]:
    """Without the rung that warms the database up, which nothing is judged by."""
    found, orders = walk(climb(CONFIGURATION, Ladder(**ladder), cores), measure)
    return found.model_copy(
        update={"rungs": tuple(r for r in found.rungs if r.order.phase != "warm_up")}
    ), [o for o in orders if o.phase != "warm_up"]


def phases(orders: list[Order]) -> list[str]:
    return [o.phase for o in orders]


def course(orders: list[Order]) -> list[str]:
    """The phases in turn."""
    return [phase for phase, _ in groupby(phases(orders))]


# --- the course of a climb ------------------------------------------------------------------------


def test_a_climb_searches_until_it_is_flat_then_runs_the_first_rung_again() -> None:
    found, orders = climbed(answer(CURVE), users=(0, 512))
    assert course(orders) == ["search", "drift_check"], "without noise no rung narrows it down"
    assert orders[0].users == orders[-1].users == 4
    assert found.stopped_by == "plateau"
    assert found.rungs == tuple(map(answer(CURVE), orders))
    assert found.stop_results[0].stop == "plateau"
    assert found.stop_results[0].fired
    assert {v.stop for v in found.stop_results} == {
        "budget",
        "errors",
        "log_latency",
        "plateau",
        "saturation",
    }


def test_without_noise_the_knee_is_the_first_rung_near_where_growth_ends() -> None:
    found, _ = climbed(answer(CURVE), users=(0, 512))
    assert found.knee_users is not None and found.bracket is not None
    knee = CURVE.throughput_per_s(found.knee_users)
    assert knee >= 0.97 * CURVE.throughput_per_s(CURVE.peak_users)
    bend = next(
        n
        for n in range(4, 200)
        if between(n, CURVE.throughput_per_s(n), 1.01 * n, CURVE.throughput_per_s(1.01 * n)) < 0.07
    )
    before = CURVE.throughput_per_s(found.bracket[0])
    assert before < 0.97 * CURVE.throughput_per_s(bend) <= knee
    assert found.bracket[0] < found.knee_users <= bend


def test_rungs_rise_by_the_step_and_always_by_one_at_least() -> None:
    _, orders = climbed(answer(ENDLESS), users=(1, 40), step=1.33, cores=1)
    assert [o.users for o in orders if o.phase == "search"] == [
        1,
        2,
        3,
        4,
        5,
        7,
        9,
        12,
        16,
        21,
        28,
        37,
        40,
    ]


@pytest.mark.parametrize(
    "invalid", ["", "the load generator was 90% busy"], ids=["valid", "invalid"]
)
def test_a_climb_begins_with_a_rung_of_eight_users_a_core_that_warms_the_database_and_is_not_judged(
    invalid: str,
) -> None:
    def warm_up_is_slow(order: Order) -> Rung:
        return (
            failing(rung(order, 10.0, invalid=invalid), 1000)
            if order.phase == "warm_up"
            else answer(CURVE)(order)
        )

    usual, _ = climbed(answer(CURVE), users=(2, 512))
    found, orders = walk(climb(CONFIGURATION, Ladder(users=(2, 512)), 4), warm_up_is_slow)
    assert (orders[0].phase, orders[0].users) == ("warm_up", 32)
    assert phases(orders).count("warm_up") == 1
    assert found.rungs[0].order == orders[0]
    assert (found.knee_users, found.stopped_by, found.stop_results) == (
        usual.knee_users,
        usual.stopped_by,
        usual.stop_results,
    )


@pytest.mark.parametrize(
    ("users", "warm_up"), [((4, 20), [20]), ((32, 512), []), (32, [])], ids=["few", "many", "fixed"]
)
def test_it_is_within_the_plan_s_users_and_left_out_where_the_climb_begins_with_as_many(
    users: tuple[int, int] | int, warm_up: list[int]
) -> None:
    _, orders = walk(climb(CONFIGURATION, Ladder(users=users), 4), answer(CURVE))
    assert [o.users for o in orders if o.phase == "warm_up"] == warm_up


def warming() -> Callable[[Order], Rung]:
    """A drive that does 900/s while a climb fills the cache: flat from the first rung on; then the
    curve.
    """
    warm = False

    def measure(order: Order) -> Rung:
        nonlocal warm
        warm |= order.phase == "drift_check"
        return answer(CURVE)(order) if warm else rung(order, 900.0)

    return measure


def test_a_climb_that_warmed_the_database_is_made_once_more_and_only_the_second_counts() -> None:
    found, orders = climbed(warming(), users=(4, 512))
    again = [o for o in orders if o.repeat]
    assert course(orders[: len(orders) - len(again)]) == ["search", "drift_check"]
    assert course(again) == ["search", "drift_check"]
    assert [r.order for r in found.rungs] == again
    assert len({o.key for o in orders}) == len(orders), "every rung has a file of its own"
    steady, _ = climbed(answer(CURVE), users=(4, 512))
    assert (found.knee_users, found.bracket, found.stopped_by) == (
        steady.knee_users,
        steady.bracket,
        steady.stopped_by,
    )
    (why,) = (v for v in found.stop_results if v.stop == "warming")
    assert why.severity == "caveat"
    assert re.search(
        r"rerunning the first rung \(4 users\) gave [\d.]+% more throughput .* The \d+ rungs of the"
        r" first climb \(stop reason: plateau\)",
        why.sentence,
    )


def test_a_database_that_keeps_warming_is_climbed_twice_and_no_more() -> None:
    measured: list[Order] = []

    def ever_faster(order: Order) -> Rung:
        measured.append(order)
        return rung(order, 900.0 * 1.06 ** len(measured))

    _, orders = climbed(ever_faster, users=(4, 12))
    assert {of_climb(o) for o in orders} == {0, 1}
    assert phases(orders).count("drift_check") == 2


def drifting(again: float, until: int = 1) -> Callable[[Order], Rung]:
    """The curve, with so many times its throughput when the first rung is rerun, in so many
    climbs.
    """
    return lambda o: rung(
        o,
        CURVE.throughput_per_s(o.users)
        * (again if o.phase == "drift_check" and o.repeat < until else 1.0),
    )


@pytest.mark.parametrize("again", [0.88, 1.14])
def test_a_first_rung_that_does_about_as_much_last_is_not_climbed_again(again: float) -> None:
    found, orders = climbed(drifting(again), users=(4, 512))
    assert {o.repeat for o in orders} == {0}
    assert not [v for v in found.stop_results if v.stop == "warming"]


@pytest.mark.parametrize(
    ("again", "seen", "because"),
    [
        (0.5, "50% less", "something slowed it down"),
        (1.2, "20% more", "the cache was still warming"),
    ],
)
def test_a_first_rung_that_differs_last_in_either_direction_has_the_climb_made_again(
    again: float, seen: str, because: str
) -> None:
    found, orders = climbed(drifting(again), users=(4, 512))
    assert {o.repeat for o in orders} == {0, 1}
    (flag,) = [v for v in found.stop_results if v.stop == "warming"]
    assert (flag.seen, flag.limit) == (seen, "15% more, or 13% less")
    assert f"gave {seen} throughput" in flag.sentence and because in flag.sentence


@pytest.mark.parametrize("allowed", [True, False])
def test_a_knee_of_a_climb_that_changed_again_or_was_not_made_again_is_not_to_be_trusted(
    allowed: bool,
) -> None:
    found, _ = climbed(drifting(0.5, until=2), users=(4, 512), climb_again=allowed)
    flags = [v.sentence for v in found.stop_results if v.stop == "warming"]
    assert len(flags) == 1 + allowed
    assert flags[-1] == (
        "The knee is not to be trusted: rerunning the first rung (4 users) gave 50% less throughput"
        " (limit 15% more, or 13% less)"
    )


def test_a_noisy_climb_may_differ_more_but_not_by_any_amount() -> None:
    def noisy(order: Order) -> Rung:
        measured = drifting(0.82)(order)
        wave = 0.8 if order.users in (6, 13, 30) and order.phase == "search" else 1.0
        return rung(order, measured.tally.throughput_per_s * wave)

    _, orders = climbed(noisy, users=(4, 512), step=1.5)
    assert {o.repeat for o in orders} == {0}


def test_two_climbs_that_do_not_fit_the_budget_are_one() -> None:
    once = [o for o in climbed(warming(), users=(4, 512))[1] if not o.repeat]
    twice_s = 2 * 40.0 * len(once)
    for budget_s, climbs in ((twice_s, {0, 1}), (twice_s - 1, {0})):
        _, orders = climbed(warming(), users=(4, 512), budget=budget_s)
        assert {o.repeat for o in orders} == climbs, "rungs of 40 s"


def test_a_climb_with_a_failed_check_is_not_made_again_for_it_must_stay_in_the_results() -> None:
    measured, failed = (
        warming(),
        Check(name="new_orders", passed=False, seen="1", limit="0", sentence="one is lost"),
    )
    found, orders = climbed(
        lambda order: measured(order).model_copy(update={"checks": (failed,)}), users=(4, 512)
    )
    assert {o.repeat for o in orders} == {0}
    assert found.rungs[0].checks == (failed,)


def test_a_plan_may_want_one_climb_only() -> None:
    _, orders = climbed(warming(), users=(4, 512), climb_again=False)
    assert {o.repeat for o in orders} == {0}


def test_a_climb_begins_at_the_plan_s_first_number_or_if_that_is_0_at_one_user_per_core() -> None:
    assert climbed(answer(CURVE), users=(0, 512), cores=6)[1][0].users == 6
    assert climbed(answer(CURVE), users=(16, 512), cores=6)[1][0].users == 16
    assert climbed(answer(CURVE), users=(2, 512), cores=6)[1][0].users == 2
    assert climbed(answer(CURVE), users=(0, 2), cores=6)[1][0].users == 2


def test_users_used_up_ends_at_the_last_number() -> None:
    found, orders = climbed(answer(ENDLESS), users=(1, 10))
    assert (found.stopped_by, found.knee_users) == ("budget", 10)
    assert found.stop_results[0].sentence == "User limit reached: 10 users"
    assert orders[-2].users == 10


def test_a_climb_stays_within_its_time() -> None:
    found, orders = climbed(answer(ENDLESS), users=(1, 512), budget=300.0)
    assert found.stopped_by == "budget"
    assert sum(r.tally.whole_s for r in found.rungs) <= 300
    assert orders[-1].phase == "drift_check"


def test_a_climb_that_is_flat_from_its_first_rung_goes_down_to_one_user() -> None:
    found, orders = climbed(lambda o: rung(o, 1000.0), users=(0, 512), cores=2, step=1.5)
    assert [o.users for o in orders] == [2, 3, 5, 8, 1, 2]
    assert (found.knee_users, found.bracket) == (1, (1, 1))


def test_a_climb_that_begins_above_its_knee_goes_down_until_throughput_falls() -> None:
    found, orders = climbed(lambda o: rung(o, 100.0 * min(o.users, 9)), users=(16, 512), step=1.5)
    assert [o.users for o in orders] == [16, 24, 36, 54, 11, 7, 5, 16]
    assert (found.knee_users, found.bracket) == (11, (7, 11))


def test_no_number_of_users_is_measured_twice_in_a_climb_but_for_the_first() -> None:
    _, orders = climbed(lambda o: rung(o, 1000.0 if o.users > 1 else 400.0), users=(1, 64), cores=1)
    users = [o.users for o in orders if o.phase != "drift_check"]
    assert len(set(users)) == len(users)


@pytest.mark.parametrize("bend", range(5, 60))
def test_a_sharp_bend_lies_in_the_bracket_and_the_knee_is_at_most_a_step_beyond_it(
    bend: int,
) -> None:
    found, _ = climbed(lambda o: rung(o, 100.0 * min(o.users, bend)), users=(4, 512), step=1.5)
    assert found.knee_users is not None and found.bracket is not None
    assert found.bracket[0] <= bend <= 1.03 * found.bracket[1]
    assert 0.95 * bend <= found.knee_users <= 1.56 * bend


# --- stops in a climb -----------------------------------------------------------------------------


def log_of(limit_users: int, throughput: Usl = ENDLESS):
    """A log that takes more than 5 ms above so many users."""
    return lambda o: rung(
        o,
        throughput.throughput_per_s(o.users),
        log__write_latency_10s=0.0049 * o.users / limit_users,
    )


def test_a_slow_log_stops_the_climb_and_the_knee_is_the_last_rung_within_the_limit() -> None:
    found, orders = climbed(log_of(20), users=(16, 512), step=1.5)
    assert [o.users for o in orders] == [16, 24, 20, 16]
    assert (found.stopped_by, found.knee_users) == ("log_latency", 20)
    found, orders = climbed(log_of(17), users=(16, 512), step=1.5)
    assert (found.knee_users, found.bracket) == (16, (16, 20))


def test_a_log_too_slow_from_the_start_marks_the_climb_which_goes_on_to_its_plateau() -> None:
    found, _ = climbed(log_of(1, CURVE), users=(8, 512))
    assert found.stopped_by == "plateau"
    assert [v.severity for v in found.stop_results if v.stop == "log_latency"] == ["caveat"]


def test_saturated_cores_stop_the_climb_one_rung_after_the_knee() -> None:
    found, _ = climbed(
        lambda o: rung(o, 100.0 * min(o.users, 16), database__busy=min(1.0, o.users / 16)),
        users=(4, 512),
        step=1.5,
    )
    assert found.stopped_by == "saturation"
    assert (found.knee_users, found.bracket) == (21, (14, 21))


def test_errors_at_the_first_rung_leave_no_knee() -> None:
    found, orders = climbed(lambda o: failing(rung(o, 100.0), 1000), users=(4, 512))
    assert (found.stopped_by, found.knee_users, found.bracket) == ("errors", None, None)
    assert len(orders) == 1


def test_errors_later_leave_the_rung_before_them_as_the_knee() -> None:
    found, _ = climbed(
        lambda o: failing(rung(o, 100.0 * o.users), 1000 if o.users > 8 else 0),
        users=(4, 512),
        step=2.0,
    )
    assert (found.stopped_by, found.knee_users) == ("errors", 8)


def test_the_lowest_knee_wins_when_two_stops_fire_at_once() -> None:
    flat = [rung(Order(configuration="disk", phase="search", users=n), 1000.0) for n in (8, 12)]
    found, _ = climbed(
        lambda o: rung(
            o, flat[0].tally.throughput_per_s, database__busy=0.99 if o.users >= 18 else 0.9
        ),
        users=(8, 512),
        step=1.5,
    )
    assert (found.stopped_by, found.knee_users) == ("plateau", 1)
    assert {v.stop for v in found.stop_results if v.fired} == {"plateau", "saturation"}


def test_the_budget_is_not_named_where_another_stop_found_the_knee() -> None:
    found, _ = climbed(
        lambda o: rung(o, 100.0 * min(o.users, 16), database__busy=min(1.0, o.users / 16)),
        users=(8, 24),
        step=1.5,
    )
    assert {v.stop for v in found.stop_results if v.fired} == {"budget", "saturation"}
    assert (found.stopped_by, found.knee_users) == ("saturation", 18)


def test_an_invalid_rung_ends_the_climb_with_the_load_generator_as_the_limit() -> None:
    def measure(order: Order) -> Rung:
        return rung(
            order,
            100.0 * order.users,
            invalid="client CPU 91%" if order.users > 8 else "",
            load_generator__busy=0.91 if order.users > 8 else 0.4,
        )

    found, orders = climbed(measure, users=(4, 512), step=2.0)
    assert [o.users for o in orders] == [4, 8, 16]
    assert (found.stopped_by, found.knee_users) == ("load_generator", 8)
    assert "Load generator bottleneck at 16 users: client CPU 91%" in found.stop_results[0].sentence
    found, _ = climbed(lambda o: rung(o, 100.0, invalid="client CPU 91%"), users=(4, 512))
    assert found.knee_users is None


def test_a_rung_that_is_invalid_for_another_reason_does_not_blame_the_load_generator() -> None:
    lost = "2 of 16 users lost their connection, so the load was incomplete"
    found, _ = climbed(
        lambda o: rung(
            o, 100.0 * o.users, invalid=lost if o.users > 8 else "", load_generator__busy=0.4
        ),
        users=(4, 512),
        step=2.0,
    )
    assert (found.stopped_by, found.stop_results[0].stop, found.knee_users) == (
        "invalid",
        "invalid",
        8,
    )
    assert found.stop_results[0].sentence.startswith(f"Invalid rung at 16 users: {lost}")
    assert "load generator" not in found.stop_results[0].sentence


def test_an_invalid_rung_below_the_first_ends_the_narrowing() -> None:
    found, _ = climbed(
        lambda o: rung(o, 100.0 * min(o.users, 16), invalid="x" if o.users < 16 else ""),
        users=(16, 512),
        step=1.5,
    )
    assert [r.users for r in found.rungs if r.invalid] == [11]
    assert found.knee_users == 16


def test_a_fixed_load_is_one_rung_that_is_not_called_a_knee() -> None:
    found, orders = climbed(lambda o: rung(o, 100.0, database__busy=0.981), users=601)
    assert [(o.phase, o.users) for o in orders] == [("fixed_load", 601)]
    assert (found.stopped_by, found.knee_users, found.bracket) == ("fixed_load", 601, (601, 601))
    assert found.stop_results[0].sentence == "Fixed load of 601 users, not a knee"
    interval = users_interval(found)
    assert interval is not None and (interval.low, interval.high) == (601, 601)


# --- resume ---------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(
    factors=st.lists(st.floats(0.6, 1.6), min_size=80, max_size=80),
    busy=st.floats(0.5, 1.0),
    log_s=st.floats(0.0, 0.008),
    step=st.sampled_from([1.33, 1.5, 2.0]),
    cores=st.integers(1, 8),
    cut=st.integers(0, 80),
    bad=st.integers(5, 200),
)
def test_replaying_any_prefix_of_kept_rungs_gives_the_same_orders(
    factors, busy, log_s, step, cores, cut, bad
) -> None:
    """A campaign killed after `cut` rungs: the kept ones are sent again as they come back from
    JSON, the rest is measured.
    """
    ladder = Ladder(users=(1, 100), step=step)
    measured: dict[str, Rung] = {}

    def measure(order: Order) -> Rung:
        x = 50 * order.users**0.6 * factors[len(measured)]
        quantities = {"database__busy": busy, "log__write_latency_10s": log_s * order.users / 20}
        measured[order.key] = rung(
            order, x, invalid="client" if order.users > bad else "", **quantities
        )
        return measured[order.key]

    whole, orders = walk(climb(CONFIGURATION, ladder, cores), measure)
    kept = {
        o.key: Rung.model_validate_json(measured[o.key].model_dump_json()) for o in orders[:cut]
    }
    again, orders_again = walk(
        climb(CONFIGURATION, ladder, cores), lambda o: kept.get(o.key) or measured[o.key]
    )
    assert (orders_again, again) == (orders, whole)
    assert len({o.key for o in orders}) == len(orders), "each rung has a file of its own"
    assert all(1 <= o.users <= 100 for o in orders)
    if whole.knee_users is not None and whole.bracket is not None:
        assert whole.bracket[0] <= whole.knee_users <= whole.bracket[1]


@given(users=st.integers(1, 5000), step=st.floats(1.051, 4.0), last=st.integers(1, 10_000))
def test_steps_always_rise_until_the_last_number(users: int, step: float, last: int) -> None:
    assert following(users, step, last) == last or users < following(users, step, last) < last


@given(low=st.integers(1, 5000), high=st.integers(1, 5000))
def test_halfway_is_strictly_between_or_nothing(low: int, high: int) -> None:
    middle = halfway(low, high)
    assert middle is None or low < middle < high
    if high - low >= 2 and low < high:
        assert middle is not None or high < low * 1.5


@given(users=st.tuples(st.integers(0, 100), st.integers(100, 200)), cores=st.integers(0, 256))
def test_the_first_number_is_within_the_plan_s_range(users: tuple[int, int], cores: int) -> None:
    assert max(1, users[0]) <= first(users, cores) <= users[1]
