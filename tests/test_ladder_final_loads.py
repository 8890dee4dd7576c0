"""Final runs whose log writes exceed the limit: they step down to the next lower measured number of
users and are measured again, long ones and rounds alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from kneebench.analysis.final_estimates import Wanted, rounds_so_far
from kneebench.ladder.climb import measure_orders
from kneebench.ladder.final_runs import FinalRuns
from kneebench.ladder.rounds import Rounds
from kneebench.plan.ladder import Ladder
from kneebench.records import Climb, Configuration, Order, Rung, StopResult
from tests.curves import climb, rung, walk
from tests.loads_simulated import RULES, is_like_the_campaigns, quoted
from tests.remarks import invalid

LIMIT_S = 0.005
PER_USER = {"slow": 100.0, "fast": 400.0, "other": 400.0}
Measure = Callable[[Order], Rung]
Said = list[tuple[str, str]]


def took(order: Order, log_s: float) -> Rung:
    """A rung whose throughput grows with users, so that only the log ends a climb."""
    per_s = order.rate_per_s or PER_USER[order.configuration] * order.users
    return rung(order, per_s, log__write_latency=log_s, log__write_latency_10s=log_s)


def searched(order: Order) -> Rung:
    """As a search sees it: 1 ms of log write with 8 users, 6 ms with 16."""
    slow = 0.006 if order.users > 12 else 0.001 * order.users / 2.5
    return took(order, slow if order.configuration == "slow" else 0.0002)


def climbed(name: str, constraint: str = "", **keys: object) -> Climb:
    configuration = Configuration(id=name, storage=name, constraint=constraint)
    ladder = Ladder.model_validate({"users": [2, 32], "step": 1.5, **keys})
    return walk(climb(configuration, ladder, 2), searched)[0]


SLOW, FAST, OTHER = climbed("slow"), climbed("fast"), climbed("other", "1 core")


def finally_took(log_s: dict[int, float], other: float = 0.0002) -> Measure:
    """Final runs of the slow storage with these log writes by users."""

    def measured(order: Order) -> Rung:
        scatter = 1 + order.repeat / 1e4  # two equal runs have no interval
        mean_s = log_s.get(order.users, 0.001) if order.configuration == "slow" else other
        return took(order, mean_s * scatter)

    return measured


def long_runs(
    climbs: Sequence[Climb], measure: Measure, **keys: object
) -> tuple[list[Order], Said]:
    """The orders of long final runs, and what was reported."""
    orders: list[Order] = []
    said: Said = []

    def measured(order: Order) -> Rung:
        orders.append(order)
        return measure(order)

    def report(configuration: Configuration, result: StopResult) -> None:
        said.append((configuration.id, result.sentence))

    for runs in FinalRuns(climbs, Ladder.model_validate(keys), report=report).restored_runs():
        measure_orders(runs.steps, measured)
    return orders, said


def rounds(climbs: Sequence[Climb], measure: Measure, **keys: object) -> list[list[Order]]:
    """The orders of each restore of short rounds."""
    fields = {"rounds": "short", "checkpoints": 0, "repeats": [10, 12], "restore_every": 4}
    ladder = Ladder.model_validate({**fields, **keys})
    wanted = Wanted(ladder.precision, ladder.fewest_repeats, ladder.most_repeats)
    made: list[list[Order]] = []

    def measured(order: Order) -> Rung:
        made[-1].append(order)
        return measure(order)

    all_rounds = Rounds(climbs, ladder, lambda some: bool(rounds_so_far(some, wanted).ended_by))
    for runs in all_rounds.restored_runs():
        made.append([])
        measure_orders(runs.steps, measured)
    return made


def finals(orders: Sequence[Order], configuration: str) -> list[tuple[int, int]]:
    """(users, repeat) of a configuration's final runs."""
    return [
        (one.users, one.repeat)
        for one in orders
        if (one.configuration, one.phase) == (configuration, "final_run")
    ]


def test_the_climb_measured_these_numbers_of_users() -> None:
    lower = sorted({r.users for r in SLOW.of("search", "bisection") if r.users <= 12})
    assert (SLOW.knee_users, lower) == (12, [2, 3, 5, 8, 12])
    assert SLOW.stopped_by == "log_latency"


def test_runs_within_the_limit_on_average_stay_also_where_one_of_them_exceeds_it() -> None:
    def one_slow(order: Order) -> Rung:
        slow = 0.0056 if order.repeat == 2 else 0.0045
        return took(order, slow if order.configuration == "slow" else 0.0002)

    orders, said = long_runs([SLOW, FAST], one_slow)
    assert finals(orders, "slow") == [(12, 1), (12, 2), (12, 3)]
    assert said == []


def test_runs_beyond_the_limit_are_measured_again_at_the_next_lower_measured_number() -> None:
    orders, said = long_runs([SLOW, FAST], finally_took({12: 0.0052, 8: 0.0046}))
    assert finals(orders, "slow") == [(12, 1), (12, 2), (12, 3), (8, 4), (8, 5), (8, 6)]
    assert said == [
        (
            "slow",
            "Log write 5.2 ms at 12 users in 3 final runs (limit 5 ms); measured again at 8 users",
        )
    ]


def test_the_step_is_taken_again_while_the_runs_exceed_the_limit() -> None:
    orders, said = long_runs([SLOW, FAST], finally_took({12: 0.0052, 8: 0.0051, 5: 0.0049}))
    assert {users for users, _ in finals(orders, "slow")} == {12, 8, 5}
    assert len(said) == 2


def test_without_fewer_measured_users_the_fewest_stay() -> None:
    slow = dict.fromkeys((12, 8, 5, 3, 2), 0.0055)
    orders, _ = long_runs([SLOW, FAST], finally_took(slow))
    assert [users for users, _ in finals(orders, "slow")][-3:] == [2, 2, 2]


def test_far_beyond_the_limit_two_runs_decide_and_one_never_does() -> None:
    orders, said = long_runs([SLOW, FAST], finally_took({12: 0.008}), repeats=5)
    assert finals(orders, "slow")[:3] == [(12, 1), (12, 2), (8, 3)]
    assert "in 2 final runs" in said[0][1]
    close = finally_took({12: 0.006})
    assert finals(long_runs([SLOW, FAST], close, repeats=5)[0], "slow")[5] == (8, 6)


@pytest.mark.parametrize("climbs", [[SLOW, FAST, OTHER], [FAST, OTHER, SLOW]])
def test_the_storages_it_is_compared_with_are_measured_beside_it_and_no_others(
    climbs: list[Climb],
) -> None:
    orders, _ = long_runs(climbs, finally_took({12: 0.0052}))
    assert [users for users, _ in finals(orders, "fast")] == [FAST.knee_users] * 6
    assert [repeat for _, repeat in finals(orders, "other")] == [1, 2, 3]
    again = [one.configuration for one in orders if one.repeat > 3 and one.phase == "final_run"]
    ahead = ["fast", "slow"] if climbs[0] is SLOW else ["slow", "fast"]
    assert again == [*ahead, *ahead[::-1], *ahead]


def test_a_climb_that_exceeded_the_limit_from_its_first_rung_on_does_not_step_down() -> None:
    def always(order: Order) -> Rung:
        return took(order, 0.009)

    ladder = Ladder(users=(2, 16), step=1.5)
    flagged, _ = walk(climb(SLOW.configuration, ladder, 2), always)
    assert any(result.severity == "caveat" for result in flagged.stop_results)
    orders, said = long_runs([flagged, FAST], finally_took(dict.fromkeys(range(20), 0.009)))
    assert len({users for users, _ in finals(orders, "slow")}) == 1
    assert said == []


def test_a_fixed_load_and_an_unmeasured_log_do_not_step_down() -> None:
    fixed, _ = walk(climb(SLOW.configuration, Ladder(users=8), 2), lambda order: took(order, 0.004))
    orders, _ = long_runs([fixed], finally_took({8: 0.009}), users=8)
    assert finals(orders, "slow") == [(8, 1), (8, 2), (8, 3)]

    def unmeasured(order: Order) -> Rung:
        return rung(order, order.rate_per_s or PER_USER[order.configuration] * order.users)

    orders, _ = long_runs([SLOW], unmeasured)
    assert finals(orders, "slow") == [(12, 1), (12, 2), (12, 3)]


def test_invalid_runs_do_not_decide() -> None:
    def disturbed(order: Order) -> Rung:
        one = finally_took({12: 0.0052} if order.repeat == 2 else {12: 0.0049})(order)
        return invalid(one, "disturbed" if order.repeat == 2 else "")

    orders, _ = long_runs([SLOW, FAST], disturbed)
    assert finals(orders, "slow") == [(12, 1), (12, 2), (12, 3)]


def test_the_fixed_rate_stays_if_it_is_still_well_below_the_lowest_throughput() -> None:
    """From 12 to 8 users the slow storage falls from 1,200 to 800/s: 50% of the one is 75%."""
    measure = finally_took({12: 0.0052})
    orders, _ = long_runs([SLOW, FAST], measure, fixed_rate_share=0.5)
    rates = [(one.configuration, one.repeat) for one in orders if one.phase == "fixed_rate"]
    assert {one.rate_per_s for one in orders if one.phase == "fixed_rate"} == {600.0}
    assert sorted(rates) == [
        (configuration, n) for configuration in ("fast", "slow") for n in (1, 2, 3)
    ]


def test_a_rate_too_near_the_lower_throughput_is_chosen_again_and_measured_on_all() -> None:
    """From 12 to 8 users: 70% of 1,200/s is 840/s, more than the 800/s with 8 users."""
    orders, _ = long_runs([SLOW, FAST, OTHER], finally_took({12: 0.0052}))
    by_rate: dict[float, list[tuple[str, int]]] = {}
    for one in orders:
        if one.rate_per_s:
            by_rate.setdefault(one.rate_per_s, []).append((one.configuration, one.repeat))
    assert list(by_rate) == [840.0, 560.0]
    assert {
        configuration: len([c for c, _ in by_rate[560.0] if c == configuration])
        for configuration in PER_USER
    } == {
        "slow": 3,
        "fast": 3,
        "other": 3,
    }
    keys = [one.key for one in orders]
    assert len(keys) == len(set(keys)), "each run has a file of its own"


def test_the_same_rungs_give_the_same_orders() -> None:
    measure = finally_took({12: 0.0052, 8: 0.0051})
    assert long_runs([SLOW, FAST], measure)[0] == long_runs([SLOW, FAST], measure)[0]
    assert rounds([SLOW, FAST], measure) == rounds([SLOW, FAST], measure)


def test_rounds_begin_again_with_fewer_users_on_a_restore_of_their_own() -> None:
    made = rounds([SLOW, FAST], finally_took({12: 0.0052}))
    users = [
        {o.users for o in some if (o.configuration, o.phase) == ("slow", "final_run")}
        for some in made
    ]
    assert users == [{12}, {12}, {12}, {8}, {8}, {8}]
    every = [order for some in made for order in some]
    assert [repeat for _, repeat in finals(every, "slow")] == [*range(1, 21)]
    assert [repeat for _, repeat in finals(every, "fast")] == [*range(1, 21)]
    assert [order.restore for order in made[3]] == [4] * len(made[3])


def test_rounds_far_beyond_the_limit_end_with_their_restore() -> None:
    made = rounds([SLOW, FAST], finally_took({12: 0.007}))
    users = [
        {o.users for o in some if (o.configuration, o.phase) == ("slow", "final_run")}
        for some in made
    ]
    assert users == [{12}, {8}, {8}, {8}]


def test_by_simulation_the_mean_is_within_the_limit_where_the_search_alone_is_not() -> None:
    """docs/decisions/load-within-the-limit.md has the whole table."""
    alone, mean = (
        quoted(RULES[name], (0.06, 0.03), 400)
        for name in ("the search alone", "the mean not above")
    )
    assert alone.printed_above > 0.1
    assert mean.printed_above == 0
    assert mean.truly_above < alone.truly_above / 3
    assert mean.below < 0.3
    assert all(map(is_like_the_campaigns, ([1.02, 1.1, 0.97], [0.9, 1.3, 0.7], [1.0, 1.0, 1.01])))


@pytest.mark.parametrize("keys", [{"repeats": [4, 4]}, {"repeats": 7}])
def test_rounds_that_are_not_precise_by_then_step_down_too(keys: dict[str, object]) -> None:
    def scattered(order: Order) -> Rung:
        one = finally_took({12: 0.0052})(order)
        window_s = one.tally.window_s * (1 + order.repeat % 2 * (order.configuration == "slow"))
        return one.model_copy(update={"tally": one.tally.model_copy(update={"window_s": window_s})})

    every = [order for some in rounds([SLOW, FAST], scattered, **keys) for order in some]
    most = 4 if keys["repeats"] == [4, 4] else 7
    users = [users for users, _ in finals(every, "slow")]
    assert users == [12] * most + [8] * most
