"""Rounds: every configuration in turn in each round, on databases restored and loaded alike, until
the ratio is precise enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

import pytest

from kneebench.analysis.final_estimates import Wanted, estimate_of, rounds_so_far
from kneebench.analysis.knee import knee_rung
from kneebench.analysis.rounds import rounds_estimate
from kneebench.ladder.climb import measure_orders
from kneebench.ladder.final_runs import RestoredRuns
from kneebench.ladder.rounds import Rounds
from kneebench.plan import Plan
from kneebench.plan.ladder import Ladder
from kneebench.records import Climb, Configuration, Estimate, Order, Rung
from tests.curves import Usl, answer, climb, rung, walk

PER_S = {"a": 2000.0, "b": 500.0, "c": 1500.0}


def climbed(name: str, lone_per_s: float, kappa: float = 0.0004) -> Climb:
    curve = Usl(lone_per_s, 0.02, kappa)
    return walk(climb(Configuration(id=name, storage=name), Ladder(), 4), answer(curve))[0]


A, B, C = climbed("a", 900), climbed("b", 400, 0.002), climbed("c", 700)


def ladder(**changes: object) -> Ladder:
    fields = {"rounds": "short", "checkpoints": 0, "repeats": [8, 12], "restore_every": 4}
    return Ladder.model_validate({**fields, **changes})


def as_measured(order: Order) -> Rung:
    return rung(order, order.rate_per_s or PER_S[order.configuration])


def searched_per_s(climb: Climb) -> float:
    found = knee_rung(climb)
    assert found
    return found.tally.throughput_per_s


def restored(
    climbs: Sequence[Climb], plan: Ladder, measure: Callable[[Order], Rung] = as_measured
) -> list[tuple[RestoredRuns, list[Order], bool]]:
    """The runs of each restore, their orders, and whether conditions are checked after them."""
    made = []
    wanted = Wanted(plan.precision, plan.fewest_repeats, plan.most_repeats)
    rounds = Rounds(climbs, plan, lambda rungs: bool(rounds_so_far(rungs, wanted).ended_by))
    for runs in rounds.restored_runs():
        orders: list[Order] = []

        def measured(order: Order, orders: list[Order] = orders) -> Rung:
            orders.append(order)
            return measure(order)

        made.append((runs, orders, measure_orders(runs.steps, measured)))
    return made


def test_every_other_round_also_measures_every_configuration_at_the_fixed_rate() -> None:
    _, orders, _ = restored([A, B], ladder())[0]
    assert [(o.configuration, o.phase) for o in orders] == [
        ("a", "final_run"),
        ("b", "final_run"),
        ("a", "fixed_rate"),
        ("b", "fixed_rate"),
        ("b", "final_run"),
        ("a", "final_run"),
        ("b", "final_run"),
        ("a", "final_run"),
        ("b", "fixed_rate"),
        ("a", "fixed_rate"),
        ("a", "final_run"),
        ("b", "final_run"),
    ]
    assert {o.rate_per_s for o in orders if o.phase == "fixed_rate"} == {350.0}


def test_with_three_configurations_each_begins_and_ends_a_round_in_its_turn() -> None:
    orders = [o for _, some, _ in restored([A, B, C], ladder(repeats=6)) for o in some]
    finals = [o.configuration for o in orders if o.phase == "final_run"]
    assert "".join(finals) == "abccbabcaacbcabbac"


def test_every_restore_loads_all_configurations_as_the_slowest_is_in_the_longest_warm_up() -> None:
    """33 s, of which the last is the window of the load; a faster configuration completes as much
    sooner.
    """
    slow = B.model_copy(
        update={"rungs": (B.rungs[0].model_copy(update={"warm_up_s": 33.0}), *B.rungs[1:])}
    )
    made = restored([A, slow], ladder(repeats=8))
    assert [runs.restore for runs, *_ in made] == [1, 2]
    for runs, orders, _ in made:
        per_s = {one.configuration.id: searched_per_s(one) for one in (A, slow)}
        assert [*runs.loads] == ["a", "b"], "the fastest first"
        assert runs.loads["b"].warm_up_s == 32.0
        assert runs.loads["a"].warm_up_s == pytest.approx(33 * per_s["b"] / per_s["a"] - 1)
        assert {load.order.users for load in runs.loads.values()} == {A.knee_users, B.knee_users}
        assert {order.restore for order in orders} == {runs.restore}


def test_load_levels_follow_the_last_round_on_one_more_restore_of_each_configuration() -> None:
    made = restored([A, B], ladder(repeats=8, load_levels=[50]))
    assert [runs.restore for runs, *_ in made] == [1, 2, 3, 3]
    for (_, levels, checked), per_s in zip(made[-2:], (2000.0, 500.0), strict=True):
        [(level, restore)] = [(one.rate_per_s, one.restore) for one in levels]
        assert (level, restore, checked) == (pytest.approx(per_s / 2, rel=1e-3), 3, True)


def test_rounds_end_when_three_units_agree_and_go_on_while_they_do_not() -> None:
    alike = restored([A, B], ladder(repeats=[4, 30]))
    assert max(order.repeat for _, orders, _ in alike for order in orders) == 10

    def scattered(order: Order) -> Rung:
        factor = 1 + order.repeat % 2 if order.configuration == "a" else 1.0
        return rung(order, order.rate_per_s or factor * PER_S[order.configuration])

    most = restored([A, B], ladder(repeats=[4, 30]), scattered)
    assert max(order.repeat for _, orders, _ in most for order in orders) == 30


def test_a_round_in_which_a_server_did_nothing_has_no_ratio() -> None:
    def idle_once(order: Order) -> Rung:
        per_s = 0.0 if order.repeat == 2 else PER_S[order.configuration]
        return rung(order, order.rate_per_s or per_s)

    made = restored([A, B], ladder(repeats=[4, 30]), idle_once)
    assert max(order.repeat for _, orders, _ in made for order in orders) > 10


def test_a_figure_of_every_other_round_has_the_interval_of_rounds_that_are_apart() -> None:
    nopm = [[96.0, 99.0, 101.0, 104.0], [104.0, 101.0, 99.0, 96.0]] * 3

    def estimated(apart: int) -> Estimate:
        rungs = [
            rung(
                Order(
                    configuration="a",
                    phase="fixed_rate",
                    users=8,
                    repeat=1 + apart * number,
                    restore=1 + number // 4,
                ),
                1000.0,
            )
            for number in range(24)
        ]
        values = chain.from_iterable(nopm)
        return estimate_of(rungs, lambda _: next(values))

    assert estimated(1) == rounds_estimate(nopm, 1.0)
    assert estimated(2) == rounds_estimate(nopm, 2.0)
    assert estimated(2).high < estimated(1).high, "they resemble each other less"


def test_conditions_are_checked_on_the_last_restore_only() -> None:
    checked = [check for *_, check in restored([A, B], ladder(repeats=[4, 30]))]
    assert checked == [False, False, True]


def test_one_configuration_alone_ends_by_the_precision_of_its_own_throughput() -> None:
    orders = [o for _, some, _ in restored([A], ladder(repeats=[4, 30])) for o in some]
    assert max(order.repeat for order in orders) == 10


def test_a_round_in_which_a_configuration_was_invalid_does_not_count() -> None:
    def measure(order: Order) -> Rung:
        invalid = "disturbed" if order.configuration == "b" and order.repeat in (2, 3) else ""
        return rung(order, order.rate_per_s or PER_S[order.configuration], invalid=invalid)

    orders = [o for _, some, _ in restored([A, B], ladder(repeats=[4, 30]), measure) for o in some]
    assert max(order.repeat for order in orders) > 10


def test_no_rounds_are_measured_without_a_knee() -> None:
    nothing = Climb(configuration=A.configuration, rungs=(), stop_results=(), stopped_by="errors")
    assert restored([nothing], ladder()) == []


@pytest.mark.parametrize(
    ("changes", "allowed"),
    [
        ({"repeats": [9, 3]}, "the smaller number first"),
        ({"repeats": [0, 3]}, "at least 1"),
        ({"repeats": 51}, "less than or equal to 50"),
        ({"rounds": "long", "repeats": [3, 9]}, "one number"),
        ({"checkpoints": 2}, "their windows hold none"),
        ({"rounds": "long", "repeats": 3, "precision": 0.2, "restore_every": 4}, "short"),
        ({"precision": 0}, "precision"),
        ({"restore_every": 0}, "restore_every"),
    ],
)
def test_a_ladder_that_its_rounds_cannot_follow_is_refused(
    changes: dict[str, object], allowed: str
) -> None:
    with pytest.raises(ValueError, match=allowed):
        ladder(**changes)


def test_storages_on_one_external_server_cannot_be_measured_in_rounds() -> None:
    def plan(*urls: str) -> Plan:
        storages = {f"s{n}": {"url": url} for n, url in enumerate(urls)}
        short = {"rounds": "short", "checkpoints": 0, "repeats": 10}
        return Plan.model_validate({"storages": storages, "ladder": short})

    plan("postgresql://a@db1/x", "postgresql://a@db2/x")
    with pytest.raises(ValueError, match="side by side"):
        plan("postgresql://a@db1/x", "postgresql://b@db1/y")


@pytest.mark.parametrize(
    ("repeats", "noisy", "sentence"),
    [
        ((4, 30), False, "precise enough after 10 rounds of at most 30: NOPM half-width 0%"),
        ((4, 12), True, "stopped after 12 rounds, the plan's limit: NOPM half-width"),
        ((12, 12), True, "12 rounds, as planned: NOPM half-width"),
        ((13, 20), False, "round 12 of at most 20: NOPM half-width 0% (wanted 10%)"),
    ],
)
def test_a_sentence_says_how_far_the_rounds_are_or_what_ended_them(
    repeats: tuple[int, int], noisy: bool, sentence: str
) -> None:
    count = int(sentence.split("after ")[-1].split()[0]) if "precise" in sentence else 12
    orders = [
        Order(
            configuration=configuration,
            phase="final_run",
            users=8,
            repeat=n,
            restore=1 + (n - 1) // 4,
        )
        for n in range(1, count + 1)
        for configuration in "ab"
    ]
    rungs = [
        rung(one, 500 * (2 if noisy and one.configuration == "a" and one.repeat % 3 else 1))
        for one in orders
    ]
    assert rounds_so_far(rungs, Wanted(0.10, *repeats)).sentence.startswith(sentence)


@pytest.mark.parametrize("rounds", [1, 4, 8])
def test_rounds_on_one_or_two_restores_have_no_half_width_yet(rounds: int) -> None:
    """Two restores that agree by chance, or do not, say as little as one."""
    orders = [
        Order(configuration="a", phase="final_run", users=8, repeat=n, restore=1 + (n - 1) // 4)
        for n in range(1, rounds + 1)
    ]
    so_far = rounds_so_far([rung(order, 500.0) for order in orders], Wanted(0.10, 4, 12))
    assert (so_far.half_width, so_far.sentence) == (None, f"round {rounds} of at most 12")
