"""The final runs: interleaved, each from its own restore, latency of all at a fixed rate that the
report itself decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from kneebench.ladder.climb import measure_orders
from kneebench.ladder.final_runs import FinalRuns
from kneebench.plan.ladder import Ladder
from kneebench.records import Climb, Configuration, Order, Rung
from tests.curves import Usl, answer, climb, rung, walk


def climbed(name: str, lone_per_s: float, **ladder) -> Climb:
    return walk(
        climb(Configuration(id=name, storage=name), Ladder(**ladder), 4),
        answer(Usl(lone_per_s, 0.02, 0.0004 if name != "b" else 0.002)),
    )[0]


A, B, C = climbed("a", 900), climbed("b", 400), climbed("c", 700)
PER_S = {"a": 2000.0, "b": 500.0, "c": 1500.0}
"""What the final runs measure at each knee: not what its climb saw."""


def as_measured(order: Order) -> Rung:
    return rung(order, order.rate_per_s or PER_S[order.configuration])


def visited(
    climbs: Sequence[Climb], ladder: Ladder, measure: Callable[[Order], Rung] = as_measured
) -> list[tuple[Order | None, list[Order]]]:
    """Each visit's load and its orders, as they come when every order is measured at once."""
    made: list[tuple[Order | None, list[Order]]] = []

    def measured(order: Order) -> Rung:
        made[-1][1].append(order)
        return measure(order)

    for repetition in FinalRuns(climbs, ladder).restored_runs():
        loads = [load.order for load in repetition.loads.values()]
        made.append((loads[0] if loads else None, []))
        measure_orders(repetition.steps, measured)
    return made


def orders(
    climbs: Sequence[Climb], ladder: Ladder, measure: Callable[[Order], Rung] = as_measured
) -> list[Order]:
    return [order for _, some in visited(climbs, ladder, measure) for order in some]


def test_two_configurations_take_turns_there_and_back() -> None:
    knees = [order for order in orders([A, B], Ladder(repeats=4)) if order.phase == "final_run"]
    assert [order.configuration for order in knees] == list("abbaabba")
    assert [order.repeat for order in knees] == [1, 1, 2, 2, 3, 3, 4, 4]


def test_without_whole_cycles_a_window_begins_after_what_the_fastest_has_had() -> None:
    def measured(order: Order) -> Rung:
        return as_measured(order).model_copy(update={"age_transactions": 300_000})

    def begins_at(ladder: Ladder, climbs: Sequence[Climb] = (A, B)) -> list[int]:
        found = []
        for runs in FinalRuns(climbs, ladder).restored_runs():
            found.append(runs.begins_at)
            measure_orders(runs.steps, measured)
        return found

    assert {*begins_at(Ladder(users=8, repeats=2, checkpoints=1))} == {0}
    assert {*begins_at(Ladder(repeats=2, checkpoints=0))} == {0}, "climbs, to other loads"
    assert {*begins_at(Ladder(users=8, repeats=2, checkpoints=0), [A])} == {0}, "alone"
    found = {*begins_at(Ladder(users=8, repeats=2, checkpoints=0))}
    had = [one.rungs[0].tally.throughput_per_s * one.rungs[0].warm_up_s for one in (A, B)]
    assert found == {round(max(had))}, "in its first warm-up, however late a run began"
    assert max(had) > min(had) > 0


def test_three_configurations_take_turns_there_and_back() -> None:
    assert [
        order.configuration
        for order in orders([A, B, C], Ladder(repeats=2))
        if order.phase == "final_run"
    ] == list("abccba")


def test_every_repeat_has_its_knee_closed_and_its_latency_at_one_rate_open() -> None:
    found = orders([A, B, C], Ladder(repeats=3))
    for phase, rates in (("final_run", {None}), ("fixed_rate", {350.0})):
        assert sorted((o.configuration, o.repeat) for o in found if o.phase == phase) == [
            (configuration, repeat) for configuration in "abc" for repeat in (1, 2, 3)
        ]
        assert {o.rate_per_s for o in found if o.phase == phase} == rates
    assert {(o.configuration, o.users) for o in found if o.phase == "final_run"} == {
        (c.configuration.id, c.knee_users) for c in (A, B, C)
    }


def test_the_fixed_rate_is_a_share_of_the_lowest_knee_as_its_final_run_measured_it() -> None:
    seen = min(
        next(r for r in c.rungs if r.users == c.knee_users).tally.throughput_per_s for c in (A, B)
    )
    assert seen != pytest.approx(500.0, rel=0.1)
    assert {
        o.rate_per_s
        for o in orders([A, B], Ladder(fixed_rate_share=0.7))
        if o.phase == "fixed_rate"
    } == {350.0}


def test_the_rate_is_decided_by_the_first_turn_and_stays_whatever_later_repeats_do() -> None:
    def slower_each_time(order: Order) -> Rung:
        return rung(order, order.rate_per_s or PER_S[order.configuration] / order.repeat)

    assert {
        o.rate_per_s
        for o in orders([A, B], Ladder(fixed_rate_share=0.5, repeats=3), slower_each_time)
        if o.phase == "fixed_rate"
    } == {250.0}


def test_in_the_first_turn_all_but_the_last_are_restored_again_for_the_fixed_rate() -> None:
    letters = {"final_run": "k", "fixed_rate": "r"}
    repetitions = [
        (
            "".join(order.configuration + letters[order.phase] for order in some),
            load.key if load else "",
        )
        for load, some in visited([A, B, C], Ladder(repeats=2))
    ]
    assert repetitions[:3] == [("ak", ""), ("bk", ""), ("ckcr", "")]
    assert repetitions[3:5] == [
        ("br", f"b.final_run-{B.knee_users}-1"),
        ("ar", f"a.final_run-{A.knee_users}-1"),
    ]
    assert repetitions[5:] == [("ckcr", ""), ("bkbr", ""), ("akar", "")]


def test_where_a_first_rung_is_invalid_its_climb_stands_in_for_it() -> None:
    def invalid(order: Order) -> Rung:
        return rung(
            order,
            order.rate_per_s or PER_S[order.configuration],
            invalid="the load generator" if (order.configuration, order.repeat) == ("b", 1) else "",
        )

    seen = next(r for r in B.rungs if r.users == B.knee_users).tpm / 60
    assert {
        o.rate_per_s
        for o in orders([B], Ladder(fixed_rate_share=0.5), invalid)
        if o.phase == "fixed_rate"
    } == {round(0.5 * seen, 3)}


def test_the_open_loop_has_several_times_the_users_that_are_busy_on_the_slowest() -> None:
    """350/s, of which each takes as long as at B's knee: its users / 500/s."""
    busy = 350.0 * (B.knee_users or 0) / 500.0
    (users,) = {o.users for o in orders([A, B], Ladder()) if o.phase == "fixed_rate"}
    assert 4 * busy + 8 <= users < 4 * busy + 9


def test_every_order_has_a_key_of_its_own() -> None:
    keys = [order.key for order in orders([A, B, C], Ladder(repeats=3))]
    assert len(set(keys)) == len(keys) == 18


def test_a_configuration_without_a_knee_is_left_out_and_without_any_there_is_no_report() -> None:
    none = Climb(configuration=Configuration(id="x", storage="x"), rungs=())
    assert {order.configuration for order in orders([A, none], Ladder())} == {"a"}
    assert visited([none], Ladder()) == []


def test_a_fixed_load_is_reported_at_its_users() -> None:
    fixed, _ = walk(
        climb(Configuration(id="f", storage="f"), Ladder(users=60), 4), lambda o: rung(o, 500.0)
    )
    found = orders([fixed], Ladder(users=60, repeats=1), lambda o: rung(o, 480.0))
    assert [(o.phase, o.users) for o in found] == [("final_run", 60), ("fixed_rate", 64)]
    assert found[1].rate_per_s == pytest.approx(336.0, rel=1e-3)


def test_a_rate_in_the_plan_is_measured_from_the_first_turn_without_another_restore() -> None:
    letters = {"final_run": "k", "fixed_rate": "r"}
    repetitions = [
        ("".join(order.configuration + letters[order.phase] for order in some), load)
        for load, some in visited([A, B, C], Ladder(repeats=2, latency_rate="18000/min"))
    ]
    assert repetitions == [
        (f"{configuration}k{configuration}r", None) for configuration in "abccba"
    ]


def test_a_rate_in_the_plan_is_the_rate_of_every_configuration() -> None:
    found = orders([A, B], Ladder(latency_rate="300/s"))
    assert {order.rate_per_s for order in found if order.phase == "fixed_rate"} == {300.0}


def test_load_levels_follow_the_final_runs_at_shares_of_each_configurations_own_knee() -> None:
    def slower_each_time(order: Order) -> Rung:
        return rung(order, order.rate_per_s or PER_S[order.configuration] / order.repeat)

    made = visited([A, B], Ladder(repeats=2, load_levels=[25, 90]), slower_each_time)
    (load_a, levels_a), (load_b, levels_b) = made[-2:]
    assert [load and (load.phase, load.users, load.rate_per_s) for load in (load_a, load_b)] == [
        ("warm_up", A.knee_users, None),
        ("warm_up", B.knee_users, None),
    ]
    for levels, mean_per_s in ((levels_a, 2000 / 2**0.5), (levels_b, 500 / 2**0.5)):
        assert [(one.phase, one.repeat, one.restore) for one in levels] == [
            ("load_level", 25, 0),
            ("load_level", 90, 0),
        ]
        shares = [one.rate_per_s / mean_per_s for one in levels if one.rate_per_s]
        assert shares == pytest.approx([0.25, 0.9], rel=1e-4)
    phases = {order.phase for _, some in made[:-2] for order in some}
    assert phases == {"final_run", "fixed_rate"}, "all of them before"


def test_load_levels_are_measured_without_a_fixed_rate_and_of_a_fixed_load_without_repeats() -> (
    None
):
    fixed = {"users": 8, "repeats": 0, "fixed_rate_share": 0}
    alone = climbed("a", 900, **fixed)
    found = orders([alone], Ladder(load_levels=True, **fixed))
    per_s = alone.rungs[0].tally.throughput_per_s
    assert [(one.phase, one.repeat) for one in found] == [
        ("load_level", level) for level in (25, 50, 75, 90)
    ]
    assert [one.rate_per_s for one in found] == pytest.approx(
        [0.25 * per_s, 0.5 * per_s, 0.75 * per_s, 0.9 * per_s], rel=1e-4
    )
    assert not orders([alone], Ladder(**fixed)), "off unless the plan has them"
