"""The report's visits: interleaved, each from its own restore, latency of all at one rate."""

from __future__ import annotations

import pytest
from curves import answer, rung, walk

from kneebench.analysis.usl import Usl
from kneebench.ladder.climb import climb
from kneebench.ladder.report import report
from kneebench.plan.plan import Ladder
from kneebench.records import Cell, Climb


def climbed(name: str, lone_per_s: float, **ladder) -> Climb:
    return walk(climb(Cell(id=name, storage=name), Ladder(**ladder), 4), answer(Usl(lone_per_s, 0.02, 0.0004 if name != "b" else 0.002)))[0]


A, B, C = climbed("a", 900), climbed("b", 400), climbed("c", 700)


def test_two_cells_take_turns_there_and_back() -> None:
    visits = report([A, B], Ladder(repeats=4))
    assert [v.cell.id for v in visits] == list("abbaabba")
    assert [v.repeat for v in visits] == [1, 1, 2, 2, 3, 3, 4, 4]


def test_three_cells_take_turns_there_and_back() -> None:
    assert [v.cell.id for v in report([A, B, C], Ladder(repeats=2))] == list("abccba")


def test_each_visit_measures_its_knee_closed_and_then_all_at_one_rate_open() -> None:
    for visit in report([A, B], Ladder(repeats=2)):
        knee, latency = visit.orders
        own = A if visit.cell.id == "a" else B
        assert (knee.phase, knee.users, knee.rate_per_s, knee.repeat) == ("report", own.knee_users, None, visit.repeat)
        assert (latency.phase, latency.repeat) == ("latency", visit.repeat)
        assert knee.cell == latency.cell == visit.cell.id


def test_the_one_rate_is_the_share_of_the_lowest_knee_s_throughput() -> None:
    visits = report([A, B], Ladder(latency_share=0.7))
    lowest = min(next(r for r in c.rungs if r.users == c.knee_users).tally.throughput_per_s for c in (A, B))
    assert {v.orders[1].rate_per_s for v in visits} == {round(0.7 * lowest, 3)}


def test_the_open_loop_has_as_many_users_everywhere() -> None:
    assert {v.orders[1].users for v in report([A, B], Ladder())} == {max(A.knee_users or 0, B.knee_users or 0)}


def test_every_order_has_a_key_of_its_own() -> None:
    keys = [o.key for v in report([A, B, C], Ladder(repeats=3)) for o in v.orders]
    assert len(set(keys)) == len(keys) == 18


def test_a_cell_without_a_knee_is_left_out_and_without_any_there_is_no_report() -> None:
    none = Climb(cell=Cell(id="x", storage="x"), rungs=())
    assert {v.cell.id for v in report([A, none], Ladder())} == {"a"}
    assert report([none], Ladder()) == []


def test_a_fixed_load_is_reported_at_its_users() -> None:
    fixed, _ = walk(climb(Cell(id="f", storage="f"), Ladder(users=60), 4), lambda o: rung(o, 500.0))
    visits = report([fixed], Ladder(users=60, repeats=1))
    assert [(o.phase, o.users) for o in visits[0].orders] == [("report", 60), ("latency", 60)]
    assert visits[0].orders[1].rate_per_s == pytest.approx(350.0, rel=1e-3)
