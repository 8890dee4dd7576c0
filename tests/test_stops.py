"""Every stop fires when it should, and not when it should not; a contract that each file on the
shelf keeps.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from kneebench import run
from kneebench.errors import UnknownPart
from kneebench.ladder import stops
from kneebench.ladder.steps import Climbed
from kneebench.ladder.stops import warming
from kneebench.plan import Plan
from kneebench.plan.ladder import Ladder
from kneebench.plan.stops import Errors, LatencyLimit, LogLatency, Plateau, Saturation
from kneebench.records import Order, Rung, StopResult, Summary
from kneebench.shelf import STOPS
from tests.curves import Usl, answer, failing, latency, rung
from tests.recorded.record import RECORDINGS
from tests.recordings import recorded

LOG = "log__write_latency_10s"


def rungs(*points: tuple[int, float], **quantities: float) -> list[Rung]:
    return [
        rung(Order(configuration="a", phase="search", users=n), x, **quantities) for n, x in points
    ]


def judge(name: str, seen: list[Rung], limits: object = None) -> StopResult:
    return stops.find(name).judge(seen, limits or stops.limits(name, Ladder()))


RISING = [(2, 200.0), (3, 290.0), (4, 380.0), (5, 470.0), (7, 640.0)]
FLAT = [*RISING, (9, 648.0), (12, 652.0)]


# --- the contract ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STOPS.names())
@pytest.mark.parametrize(
    "points",
    [RISING[:1], RISING, FLAT, [(2, 0.0), (3, 0.0), (4, 0.0)]],
    ids=["one rung", "rising", "flat", "dead"],
)
@pytest.mark.parametrize(
    "busy", [{}, {"database__busy": 0.99, LOG: 0.02}], ids=["unmeasured", "everything exceeded"]
)
def test_a_stop_says_what_it_saw_and_its_limit_whatever_it_is_shown(
    name: str, points: list[tuple[int, float]], busy: dict[str, float]
) -> None:
    seen = rungs(*points, **busy)
    found = judge(name, seen)
    assert found.stop == name
    assert found.seen
    assert found.limit
    assert len(found.sentence) > 20
    assert "nan" not in found.sentence
    assert not (found.severity == "caveat" and found.fired)
    assert found == judge(name, seen), "a stop is a pure function of the rungs"
    if found.fired:
        assert 0 <= stops.find(name).beyond(seen, stops.limits(name, Ladder())) <= len(seen)


MAKES = r'(?:StopResult\(\s*stop=|Exceedable\(\s*|ended\()"(\w+)"'
"""What makes a stop reason, with its name."""


def test_every_stop_reason_and_flag_of_a_climb_is_made_by_the_file_of_its_name() -> None:
    ladder = Path(stops.__file__).parent.parent
    made_in = {
        (name, file.relative_to(ladder).as_posix())
        for file in ladder.rglob("*.py")
        for name in re.findall(MAKES, file.read_text())
    }
    shelf = {*STOPS.names(), *STOPS.no_components}
    assert made_in == {(name, f"stops/{name}.py") for name in shelf}


@pytest.mark.parametrize("name", [n for n in STOPS.names() if n != "budget"])
@pytest.mark.parametrize("seed", range(20))
def test_no_stop_but_the_budget_fires_on_a_healthy_climb_that_still_grows(
    name: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    measure = answer(Usl(100.0, 0.001, 0.0), lambda: 0.01 * rng.normal())
    users = [2, 3, 4, 5, 7, 9, 12, 16, 21, 28]
    seen: list[Rung] = []
    for n in users:
        seen.append(measure(Order(configuration="a", phase="search", users=n)))
        assert not judge(name, seen).fired


def on_the_way_up(rungs: Sequence[Rung]) -> Sequence[Rung]:
    """The rungs up to that of the most users: a climb may go down afterwards."""
    most = max((rung.users for rung in rungs), default=0)
    return rungs[: 1 + next((k for k, rung in enumerate(rungs) if rung.users == most), 0)]


@pytest.mark.parametrize("recording", RECORDINGS)
@pytest.mark.parametrize("name", STOPS.names())
def test_a_stop_judges_recorded_climbs_rung_by_rung(name: str, recording: str) -> None:
    """On a recorded climb no stop fires on its way up by the limits of its plan, save a plateau
    that might still grow, and each word on it is a whole sentence; at the end it fires as it did
    when it was measured.
    """
    results = recorded(recording)
    ladder = Plan.model_validate(results.campaign.plan).ladder
    limits = stops.limits(name, ladder)
    for climb in results.climbs:
        upwards = on_the_way_up([r for r in climb.of("search") if not r.invalid])
        for k in range(1, len(upwards)):
            found = judge(name, upwards[:k], limits)
            assert not found.fired or name == "plateau", found.sentence
            assert found.sentence.strip() == found.sentence
        for told in (one for one in climb.stop_results if one.stop == name):
            assert judge(name, upwards, limits).fired == told.fired


def test_what_a_stop_says_has_its_numbers_beside_the_words() -> None:
    slow = rungs(RISING[1], **{LOG: 0.007})
    found = judge("log_latency", [*rungs(RISING[0], **{LOG: 0.001}), *slow])
    assert (found.fired, found.value, found.limit_value) == (True, 0.007, 0.005)
    flat = judge("plateau", rungs(*FLAT))
    assert flat.value is not None and flat.limit_value is not None
    assert flat.value < flat.limit_value == Plateau().elasticity


def test_an_unknown_stop_lists_the_names_there_are() -> None:
    with pytest.raises(UnknownPart, match=r"budget, .* plateau, power, saturation"):
        stops.find("platau")


def test_a_stop_without_limits_in_the_plan_gets_none_of_another() -> None:
    with pytest.raises(UnknownPart, match="available: budget, errors"):
        stops.limits("warming", Ladder())


# --- plateau --------------------------------------------------------------------------------------


def test_two_consecutive_flat_steps_are_a_plateau_and_one_is_not() -> None:
    assert judge("plateau", rungs(*FLAT)).fired
    assert not judge("plateau", rungs(*FLAT[:-1])).fired
    assert not judge("plateau", rungs(*RISING)).fired


def test_the_first_flat_step_of_a_climb_is_not_a_plateau_yet() -> None:
    assert not judge("plateau", rungs((8, 1000.0), (12, 1000.0))).fired


def test_three_growing_rungs_that_do_not_exceed_an_earlier_one_are_a_plateau() -> None:
    """As it was seen on a shared machine."""
    seen = rungs(
        (2, 448.0),
        (3, 559.0),
        (5, 496.0),
        (8, 644.0),
        (12, 830.0),
        (18, 605.0),
        (27, 648.0),
        (41, 737.0),
    )
    assert not judge("plateau", seen[:-1]).fired
    found = judge("plateau", seen)
    assert found.fired
    assert found.sentence.startswith(
        "Plateau: after 12 users none of the next 3 rungs, up to 41 users, had more throughput (the"
        " best -11.2%; rule: 3 consecutive rungs"
    )
    assert stops.find("plateau").beyond(seen, Plateau()) == 3
    assert not judge("plateau", [*seen[:-1], *rungs((41, 840.0))]).fired
    assert judge("plateau", rungs((4, 900.0), (6, 700.0), (9, 760.0), (14, 850.0))).fired
    assert judge("plateau", rungs(*((n, 0.0) for n in (1, 2, 3, 4)))).fired, (
        "nothing at all is no growth"
    )


def test_a_flat_step_between_rising_ones_is_no_plateau() -> None:
    assert not judge("plateau", rungs(*RISING, (9, 640.0), (12, 850.0))).fired


def test_falling_throughput_is_a_plateau_too() -> None:
    assert judge("plateau", rungs(*RISING, (9, 600.0), (12, 500.0))).fired


def test_the_plateau_takes_as_many_steps_as_the_plan_says() -> None:
    assert judge("plateau", rungs(*FLAT[:-1]), Plateau(steps=1)).fired
    assert not judge("plateau", rungs(*FLAT), Plateau(steps=3)).fired


def test_the_plateau_just_above_its_limit_does_not_fire_and_just_below_does() -> None:
    def curve(e: float) -> list[Rung]:
        return rungs(*((n, 1e5 * n**e) for n in (8, 12, 18)))

    assert not judge("plateau", curve(0.0702)).fired
    assert judge("plateau", curve(0.0698)).fired


# --- log latency ----------------------------------------------------------------------------------


def latencies(*seconds: float) -> list[Rung]:
    return [
        rung(
            Order(configuration="a", phase="search", users=2 * (i + 1)), 100.0 * (i + 1), **{LOG: s}
        )
        for i, s in enumerate(seconds)
    ]


def test_a_log_that_becomes_too_slow_stops_the_climb() -> None:
    found = judge("log_latency", latencies(0.001, 0.003, 0.0061))
    assert found.fired
    assert "6.1 ms" in found.sentence
    assert "NOPM" not in found.sentence, "search rungs are not quoted"


def test_a_log_at_its_limit_does_not_stop_the_climb() -> None:
    assert not judge("log_latency", latencies(0.001, 0.005)).fired


def test_a_log_too_slow_from_the_first_rung_is_a_mark_and_no_stop() -> None:
    found = judge("log_latency", latencies(0.009, 0.012, 0.02))
    assert (found.fired, found.severity) == (False, "caveat")
    assert "this is flagged and does not end the climb" in found.sentence


def test_a_log_that_was_not_measured_is_not_judged() -> None:
    assert judge("log_latency", rungs(*RISING)).seen == "not measured"


@pytest.mark.parametrize(
    ("window_s", "windows", "said"),
    [
        (30.0, 3, "mean over 10 s in two of three windows"),
        (21.0, 3, "mean over 7 s in two of three windows"),
        (6.0, 1, "mean over the 6 s window"),
    ],
)
def test_the_log_s_limit_says_how_long_its_means_were(
    window_s: float, windows: int, said: str
) -> None:
    order = Order(configuration="a", phase="search", users=2)
    sources = {str(n): 0.002 for n in range(1, windows + 1)}
    one = rung(order, 100.0, window_s=window_s).model_copy(
        update={
            "quantities": {
                LOG.replace("__", "."): Summary(unit="s", value=0.002, high=0.002, sources=sources)
            }
        }
    )
    found = judge("log_latency", [one])
    assert found.limit == f"5 ms, {said}"
    assert said in found.sentence
    which = "window mean" if windows == 1 else f"{window_s / 3:.3g} s median"
    assert f"Log write 2 ms ({which}) at 2 users" in found.sentence


def test_the_limit_of_the_plan_is_the_one_that_counts() -> None:
    assert judge("log_latency", latencies(0.0005, 0.0015), LogLatency(limit=0.001)).fired


# --- saturation -----------------------------------------------------------------------------------


def test_busy_cores_without_growth_are_saturated() -> None:
    found = judge("saturation", rungs(*FLAT[:-1], database__busy=0.985))
    assert found.fired
    assert "98.5% busy" in found.sentence


def test_busy_cores_that_still_gain_are_not_saturated() -> None:
    assert not judge("saturation", rungs(*RISING, database__busy=0.985)).fired


def test_flat_throughput_on_idle_cores_is_not_saturation() -> None:
    assert not judge("saturation", rungs(*FLAT, database__busy=0.5)).fired


def test_the_first_rung_cannot_be_saturated_as_nothing_is_known_of_its_growth() -> None:
    assert not judge("saturation", rungs((2, 100.0), database__busy=1.0)).fired


def test_saturation_fires_at_its_limit_exactly() -> None:
    assert judge("saturation", rungs(*FLAT[:-1], database__busy=0.97), Saturation()).fired


def test_cores_that_other_processes_keep_busy_are_not_judged_as_the_databases() -> None:
    found = judge("saturation", rungs(*FLAT[:-1], database__busy=0.99, database__others=0.4))
    assert not found.fired
    assert "could not be judged" in found.sentence
    assert "other processes used 40% of the database's cores" in found.sentence


def test_a_few_percent_of_kernel_threads_do_not_hide_saturation() -> None:
    assert judge("saturation", rungs(*FLAT[:-1], database__busy=0.99, database__others=0.08)).fired


def test_cores_that_are_not_busy_are_judged_whatever_other_processes_use() -> None:
    found = judge("saturation", rungs(*FLAT, database__busy=0.5, database__others=0.4))
    assert "Not saturated" in found.sentence


# --- errors ---------------------------------------------------------------------------------------


def test_more_than_one_percent_of_errors_stop_the_climb_and_one_percent_do_not() -> None:
    good = rungs((4, 1000.0))[0]
    started = good.tally.whole.started
    assert not judge("errors", [good]).fired
    assert not judge("errors", [failing(good, started // 100)]).fired
    assert judge("errors", [failing(good, started // 98)]).fired


def test_answers_that_were_lost_count_as_errors() -> None:
    good = rungs((4, 1000.0))[0]
    assert judge("errors", [failing(good, 0, unknown=good.tally.whole.started // 50)]).fired


def test_a_rung_that_started_nothing_has_failed() -> None:
    assert judge("errors", rungs((4, 0.0))).fired


def test_no_errors_at_all_pass_even_a_limit_of_none() -> None:
    assert not judge("errors", rungs((4, 1000.0)), Errors(share=0.0)).fired


# --- latency --------------------------------------------------------------------------------------


def slow(users: int, p99_s: float) -> Rung:
    order = Order(configuration="a", phase="search", users=users)
    tail = latency(p99_s / 4.6)
    one = rung(order, 100.0 * users, tail=tail)
    own = one.tally.transactions["new_order"].model_copy(update={"latency": latency(p99_s / 2.3)})
    transactions = {**one.tally.transactions, "new_order": own}
    tally = one.tally.model_copy(update={"transactions": transactions})
    return one.model_copy(update={"tally": tally})


def test_transactions_that_take_too_long_stop_the_climb() -> None:
    limit = LatencyLimit(limit="20ms")
    rising = [slow(2, 0.005), slow(4, 0.012), slow(8, 0.019)]
    assert not judge("latency", rising, limit).fired
    found = judge("latency", [*rising, slow(12, 0.025)], limit)
    assert found.fired and found.sentence == "P99 latency 25 ms at 12 users (limit 20 ms)"
    assert not judge("latency", [slow(2, 0.021), slow(4, 0.03)], limit).fired


def test_one_type_and_another_percentile_may_be_judged() -> None:
    own = LatencyLimit(limit="20ms", transaction="new_order")
    found = judge("latency", [slow(2, 0.005), slow(4, 0.012)], own)
    assert found.fired and found.sentence.startswith("P99 latency of new order 24 ms")
    median = LatencyLimit(limit="3ms", percentile="p50")
    assert judge("latency", [slow(2, 0.005), slow(4, 0.025)], median).fired


def test_a_rung_alone_beyond_a_limit_says_once_how_far() -> None:
    found = judge("latency", [slow(2, 0.021)], LatencyLimit(limit="20ms"))
    flagged = "P99 latency 21 ms at 2 users (limit 20 ms) exceeds the limit; this is flagged"
    assert (found.sentence, found.severity) == (flagged, "caveat")
    log = judge("log_latency", latencies(0.009)).sentence
    assert log.count("9 ms") == 1 and "the climb" not in log, "a fixed load has none"


def test_a_climb_with_a_limit_of_latency_ends_at_the_most_users_within_it(tmp_path: Path) -> None:
    ladder = {"users": [1, 64], "step": 2, "window": "5s", "final_window": "5s", "repeats": 1}
    stops = {"latency": {"limit": "40ms"}}
    model = {"cores": 4, "cpu_per_transaction": "4ms"}
    plan = Plan.model_validate(
        {
            "database": {"engine": "simulated"},
            "workload": {"warehouses": 300},
            "ladder": {**ladder, "checkpoints": 0, "warm_up": "1s", "stops": stops},
            "storages": {"drive": {"simulated": model}},
        }
    )
    [climb] = run(plan, tmp_path).climbs
    assert climb.stopped_by == "latency"
    measured = {r.users: r.tally.latency for r in climb.of("search", "bisection") if not r.invalid}
    within = sorted(n for n, one in measured.items() if one and one.p99_s <= 0.04)
    assert climb.knee_users in within[-2:], "the last of them may have gained nothing"
    assert max(within) < max(measured)


# --- budget ---------------------------------------------------------------------------------------


def test_the_last_number_of_users_ends_the_climb() -> None:
    assert judge("budget", rungs((64, 100.0)), Ladder(users=(1, 64))).fired
    assert not judge("budget", rungs((63, 100.0)), Ladder(users=(1, 64))).fired


def test_time_ends_the_climb_while_there_is_enough_left_for_what_must_follow() -> None:
    """A rung of 40 s; after two of them a step, a bisection and the first rung again make 200 s."""
    two = rungs((2, 100.0), (3, 150.0))
    assert judge("budget", two, Ladder(budget=199.0)).fired
    assert not judge("budget", two, Ladder(budget=200.0)).fired


def test_the_budget_counts_the_flat_steps_at_the_end_as_beyond_the_knee() -> None:
    ladder = Ladder(users=(1, 9))
    assert stops.find("budget").beyond(rungs(*RISING), ladder) == 0
    assert stops.find("budget").beyond(rungs(*FLAT[:-1]), ladder) == 1


def test_a_plateau_has_the_users_from_where_it_holds() -> None:
    assert judge("plateau", rungs(*FLAT)).users == 7
    assert judge("plateau", rungs(*RISING)).users is None
    hidden = rungs((2, 200.0), (4, 500.0), (8, 450.0), (16, 495.0), (32, 470.0))
    assert judge("plateau", hidden).users == 4


@pytest.mark.parametrize(
    ("before", "after", "flagged"),
    [(200.0, 400.0, True), (200.0, 210.0, False), (0.0, 400.0, False), (200.0, 0.0, False)],
)
def test_a_first_rung_that_did_nothing_says_nothing_of_warming(
    before: float, after: float, flagged: bool
) -> None:
    again = rung(Order(configuration="a", phase="drift_check", users=2), after)
    climbed = Climbed((*rungs((2, before), *RISING[1:]), again), (), "plateau")
    assert bool(warming.judge(climbed, Ladder())) == flagged
