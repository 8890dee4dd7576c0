"""One rung from the first connection to the last check, on a server whose every count follows from
a formula.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kneebench._core import GeneratorSpec
from kneebench.databases.engines.postgres.footprint import GIB
from kneebench.databases.engines.postgres.server_settings import rules
from kneebench.databases.managed.directory_findings import Machine
from kneebench.errors import DatabaseLost, InvalidMeasurement, UnknownPart
from kneebench.measurement.delay import remarks
from kneebench.measurement.held_window import HeldWindow
from kneebench.measurement.measure import MeasuredRung, measure
from kneebench.measurement.validity import invalid, judged
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Event, Moved, Order, Phase, Remark, Watch
from kneebench.workload import generator_spec
from tests.curves import rung
from tests.formula import Formula, FormulaLoad
from tests.only import rungs_of


def plan(**ladder: object) -> Plan:
    fields = {
        "window": "10s",
        "final_window": "20s",
        "warm_up_limit": "60s",
        "checkpoints": 0,
        **ladder,
    }
    return Plan.model_validate(
        {
            "meters": ["log_writes", "tables", "cores", "checkpoints"],
            "workload": {"warehouses": 40},
            "ladder": fields,
            "storages": {"disk": {"path": "."}},
        }
    )


SEARCH = Order(configuration="disk", phase="search", users=8)
FINAL_RUN = Order(configuration="disk", phase="final_run", users=8, repeat=1)


def spec_of(plan: Plan, order: Order) -> GeneratorSpec:
    return generator_spec(plan.workload, plan.seed, order)


def measured(
    server: Formula,
    order: Order = SEARCH,
    asked: Plan | None = None,
    watch: Watch = lambda event: None,
) -> MeasuredRung:
    return measure(order, rungs_of(asked or plan()), server, watch)


def test_a_rung_holds_what_the_formula_says_and_passes_every_check() -> None:
    rung = measured(Formula()).rung
    assert rung.tally.window_s == 10
    assert rung.tally.nopm == 60 * 40 * 45 * 0.99
    assert rung.tpm == pytest.approx(240_000)
    assert [check.name for check in rung.checks if not check.passed] == []
    assert rung.quantity("log.write_latency") == pytest.approx(0.004)
    assert rung.quantity("log.write_latency_10s") == pytest.approx(0.004)
    assert rung.quantity("database.busy") == pytest.approx(0.98)
    assert rung.steady
    assert not rung.invalid


def test_the_warm_up_of_a_flat_load_is_half_the_window_and_longer_while_caches_fill() -> None:
    assert measured(Formula()).rung.warm_up_s == 5
    filling = measured(Formula(filling_s=12)).rung
    assert filling.warm_up_s > 20
    assert filling.tally.nopm == measured(Formula()).rung.tally.nopm, (
        "nothing of the filling is in the window"
    )


def test_a_load_that_never_settles_is_marked_not_steady_at_the_limit() -> None:
    rung = measured(Formula(filling_s=25), asked=plan(warm_up_limit="30s")).rung
    assert (rung.warm_up_s, rung.steady) == (30, False)
    assert rung.notes[0].startswith("not steady: New-Orders drift by")


def test_a_fixed_warm_up_is_not_judged() -> None:
    rung = measured(Formula(filling_s=100), asked=plan(warm_up="3s")).rung
    assert (rung.warm_up_s, rung.steady) == (3, True)
    assert rung.notes == ("warm-up fixed at 3 s by the plan; steady state not checked",)


def test_series_and_seconds_cover_the_whole_rung_on_one_clock() -> None:
    found = measured(Formula())
    commits = next(series for series in found.series if series.quantity == "database.commits")
    assert commits.at_s == tuple(range(1, 16)), "and no part of a second after the users have gone"
    assert {second.at_s for second in found.seconds} == set(range(15))


def test_a_rung_that_is_quoted_starts_at_a_checkpoint_and_holds_whole_cycles() -> None:
    server = Formula(checkpoint_every_s=30)
    found = measured(server, FINAL_RUN, plan(checkpoints=2))
    assert found.rung.warm_up_s == 25, "the clock began at 5 s: the first checkpoint is at 30 s"
    assert found.rung.tally.window_s == 60
    assert found.rung.quantities["checkpoints.timed"].value * 60 == pytest.approx(2)
    assert found.rung.notes == ()


def test_a_fixed_warm_up_is_followed_by_the_wait_for_a_checkpoint_too() -> None:
    found = measured(Formula(checkpoint_every_s=30), FINAL_RUN, plan(checkpoints=2, warm_up="7s"))
    assert (found.rung.warm_up_s, found.rung.tally.window_s) == (25, 60)
    assert found.rung.notes == ("warm-up fixed at 7 s by the plan; steady state not checked",)


def test_what_reads_the_meters_keeps_to_the_load_generators_cores_while_it_measures() -> None:
    before, seen = os.sched_getaffinity(0), []
    asked = plan()
    asked = asked.model_copy(
        update={
            "workload": asked.workload.model_copy(update={"load_generator_cores": (min(before),)})
        }
    )
    measured(Formula(), asked=asked, watch=lambda event: seen.append(os.sched_getaffinity(0)))
    assert {frozenset(cores) for cores in seen} == {frozenset({min(before)})}
    assert os.sched_getaffinity(0) == before


def test_a_search_rung_does_not_wait_for_checkpoints() -> None:
    assert (
        measured(Formula(checkpoint_every_s=30), SEARCH, plan(checkpoints=2)).rung.tally.window_s
        == 10
    )


def test_a_window_that_waits_for_the_end_of_a_cycle_says_so_and_how_long_at_most() -> None:
    events: list[Event] = []
    measured(Formula(), FINAL_RUN, plan(checkpoints=1), events.append)
    ending = "measuring until a checkpoint starts"
    left = [one.left_s or 0.0 for one in events if one.doing.endswith(ending)]
    assert len(left) > 30
    assert left == sorted(left, reverse=True)
    assert left[0] > 30 > left[-1] >= 0


def test_checkpoints_that_never_come_end_the_wait_with_a_note() -> None:
    rung = measured(Formula(), FINAL_RUN, plan(checkpoints=1)).rung
    assert [note.partition(":")[0] for note in rung.notes] == [
        "no checkpoint started within 60 s, so the window does not start at one",
        "the window does not contain the required 1 whole checkpoint cycles",
    ]
    blind = Formula(measures=frozenset({"log_writes", "tables", "cores"}))
    assert (
        "does not report checkpoints"
        in measured(blind, FINAL_RUN, plan(checkpoints=1)).rung.notes[0]
    )


def test_one_order_too_many_in_the_database_fails_a_check() -> None:
    rung = measured(Formula(extra_orders=1)).rung
    assert [check.name for check in rung.checks if not check.passed] == ["new_orders"]


def test_unexplained_rollbacks_and_scans_fail_their_checks() -> None:
    rung = measured(Formula(extra_rollbacks=2, scans=742)).rung
    assert [check.name for check in rung.checks if not check.passed] == [
        "rollbacks",
        "sequential_scans",
    ]


def test_a_busy_client_makes_the_rung_invalid() -> None:
    assert (
        measured(Formula(load_generator_cpu_share=0.81)).rung.invalid
        == "the load generator was 81% busy (limit 80%) and limited the throughput"
    )
    assert not measured(Formula(load_generator_cpu_share=0.79)).rung.invalid


def test_a_delay_in_the_load_generator_is_noted_above_2_percent_and_invalid_above_half() -> None:
    none, some, much = (measured(Formula(delay_share=share)).rung for share in (0.019, 0.08, 0.51))
    assert not none.notes and not none.invalid
    assert some.quantity("load_generator.delay") == pytest.approx(0.08 * 0.002 / 1.08)
    assert some.notes == (
        "delay in the load generator 148 µs, 8% of the mean latency, which excludes it"
        " (receive stamps)",
    )
    assert (
        much.invalid
        == "the load generator delayed its transactions by 51% of their mean latency (limit 50%):"
        " it had too little CPU time"
    )
    assert [check.name for check in much.checks if not check.passed] == [], (
        "users / throughput is latency and delay"
    )


def test_a_rung_whose_delay_is_estimated_or_not_measured_says_so() -> None:
    rung = measured(Formula(delay_share=0.08)).rung
    (note,) = remarks(rung.tally.model_copy(update={"delay_stamped": 0}))
    assert note.words.endswith("(from the scheduler: Unix sockets and TLS have no receive stamps)")
    (words,) = measured(Formula(delay_share=None)).rung.notes
    assert words.startswith("delay in the load generator not measured")


def test_workers_that_share_a_core_are_no_more_than_that_core() -> None:
    tally = measured(Formula(load_generator_cpu_share=0.9)).rung.tally.model_copy(
        update={"load_generator_threads": 4}
    )
    busy = [
        tally.model_copy(update={"load_generator_cores": cores}).load_generator_busy
        for cores in (None, 8, 4, 2, 1)
    ]
    assert busy == pytest.approx([0.225, 0.225, 0.225, 0.45, 0.9], rel=0.01)
    order = Order(configuration="disk", phase="final_run", users=8)
    (why,) = invalid(order, tally.model_copy(update={"load_generator_cores": 1}), 0.01)
    assert "busy" in why.words and (why.value, why.limit) == (pytest.approx(0.9), 0.8)


@pytest.mark.parametrize("phase", ["final_run", "fixed_rate", "drift_check", "bisection"])
def test_a_quoted_rung_is_invalid_if_more_transactions_failed_than_the_errors_stop_allows(
    phase: Phase,
) -> None:
    order = SEARCH.model_copy(update={"phase": phase})
    assert measured(Formula(failed=5000), order).rung.invalid.endswith(
        "%, limit 1%); first error: the server's words"
    )
    assert not measured(Formula(failed=500), order).rung.invalid


@pytest.mark.parametrize("phase", ["search", "fixed_load"])
def test_the_errors_of_a_rung_that_the_stop_judges_leave_it_valid(phase: Phase) -> None:
    assert not measured(
        Formula(failed=5000), SEARCH.model_copy(update={"phase": phase})
    ).rung.invalid


def test_a_rung_that_only_warms_up_is_never_invalid() -> None:
    order = SEARCH.model_copy(update={"phase": "warm_up"})
    assert not measured(Formula(failed=5000, load_generator_cpu_share=0.9), order).rung.invalid


def test_a_few_failed_transactions_do_not_hide_a_database_that_counts_differently() -> None:
    assert [
        check.name for check in measured(Formula(failed=10)).rung.checks if not check.passed
    ] == []
    found = measured(Formula(failed=10, extra_rollbacks=20_000)).rung
    assert "tpm_nopm" in [check.name for check in found.checks if not check.passed]


@pytest.mark.parametrize("code", ["53100", "53200", "53300", "57P01", "57P03", "58030", "58P01"])
def test_a_server_that_runs_out_or_shuts_down_stops_the_campaign_with_its_words(code: str) -> None:
    with pytest.raises(
        InvalidMeasurement,
        match=f"search on disk, 8 users: 3 transactions failed with {code}: the server's words; ",
    ):
        measured(Formula(failed=3, error=code))


@pytest.mark.parametrize("code", ["40P01", "57014", "XX000", "connection"])
def test_other_errors_are_left_to_the_errors_stop(code: str) -> None:
    assert measured(Formula(failed=3, error=code)).rung.tally.errors[0].code == code


def test_without_the_meter_of_tables_the_rung_says_that_scans_were_not_checked() -> None:
    note = "sequential scans not checked: no meter reports them"
    asked = plan().model_copy(update={"meters": ("log_writes", "cores", "checkpoints")})
    assert note in measured(Formula(scans=742), asked=asked).rung.notes
    assert note not in measured(Formula()).rung.notes


@pytest.mark.parametrize(("decks", "after_s"), [(40, 0), (1, 1)])
def test_the_load_goes_on_for_a_second_if_much_is_under_way_when_the_window_ends(
    decks: int, after_s: float
) -> None:
    """8 users of 4,000 transactions per second in 10 s, and of 100."""
    for phase, seconds in (("search", after_s), ("warm_up", 0)):
        rung = measured(Formula(decks=decks), SEARCH.model_copy(update={"phase": phase})).rung
        assert rung.tally.whole_s - rung.warm_up_s - rung.tally.window_s == seconds


def test_users_lost_under_a_living_server_make_the_rung_invalid() -> None:
    assert measured(Formula(lose_users=2)).rung.invalid.startswith(
        "2 of 8 users lost their connection"
    )


def test_a_database_lost_in_mid_rung_says_what_was_done_seen_and_what_to_do() -> None:
    server = Formula(dies_at_s=8)
    with pytest.raises(DatabaseLost) as told:
        measured(server)
    assert told.value.what == "search on disk, 8 users, measuring (7 s after the start)"
    assert "all 8 connections were lost" in told.value.seen
    assert "out of memory" in told.value.seen
    assert told.value.do


def test_all_connections_lost_is_a_lost_database_even_if_the_server_is_back() -> None:
    with pytest.raises(DatabaseLost, match="all 8 connections were lost"):
        measured(Formula(lose_users=8))


def test_a_server_that_lets_nobody_in_is_told_before_the_clock_starts() -> None:
    with pytest.raises(
        InvalidMeasurement, match="cannot connect 8 users: too many clients"
    ) as told:
        measured(Formula(refuses="too many clients"))
    assert told.value.do == "what helps against 'too many clients'; completed rungs are saved"


def test_an_unknown_meter_is_refused() -> None:
    with pytest.raises(UnknownPart, match="wattage"):
        measured(Formula(), asked=plan().model_copy(update={"meters": ("wattage",)}))


class Interrupted(BaseException):
    """As Ctrl-C."""


def test_users_are_stopped_however_a_rung_ends() -> None:
    loads: list[FormulaLoad] = []

    class Kept(Formula):
        def load_generator(self, spec: GeneratorSpec) -> FormulaLoad:
            loads.append(super().load_generator(spec))
            return loads[-1]

    def interrupt(event: Event) -> None:
        raise Interrupted

    with pytest.raises(Interrupted):
        measured(Kept(), watch=interrupt)
    with pytest.raises(DatabaseLost):
        measured(Kept(dies_at_s=3))
    measured(Kept())
    assert [load.stopped for load in loads] == [1, 1, 1]


def test_progress_is_told_every_second_with_the_time_left() -> None:
    events: list[Event] = []
    measured(Formula(decks=1), watch=events.append)
    assert len(events) == 16
    assert [event.doing for event in events[-2:]] == [
        "search on disk, 8 users: measuring",
        "search on disk, 8 users: cooling down",
    ]
    lefts = [event.left_s for event in events if event.left_s is not None]
    assert lefts == sorted(lefts, reverse=True)
    assert all(event.share is not None and 0 <= event.share <= 1 for event in events)
    assert events[5].data["nopm"] == 60 * 45


def test_a_plan_may_have_users_share_connections() -> None:
    shared = plan().model_copy(
        update={"workload": plan().workload.model_copy(update={"connections": 7})}
    )
    assert (
        spec_of(plan(), SEARCH).connections,
        spec_of(shared, SEARCH).connections,
    ) == (0, 7)
    machine = Machine(cores=2, memory_bytes=8 * GIB, log_space_bytes=8 * GIB)
    assert rules(Study(shared).only_database, machine)["max_connections"] == "31"
    assert int(rules(Study(plan()).only_database, machine)["max_connections"]) > 31


def test_a_generator_spec_follows_from_the_plan_and_the_rungs_name() -> None:
    spec = spec_of(plan(), SEARCH)
    assert (spec.users, spec.warehouses, spec.profile, spec.seed) == (8, 40, "spec", 9300)
    assert spec.workers >= 1
    streams = {
        spec_of(plan(), o).stream
        for o in (SEARCH, FINAL_RUN, FINAL_RUN.model_copy(update={"repeat": 2}))
    }
    assert len(streams) == 3
    assert spec_of(plan(), SEARCH) == spec


def test_the_plans_own_client_threads_and_cores_win() -> None:
    asked = Plan.model_validate(
        {
            "workload": {"load_generator_threads": 3, "load_generator_cores": [0, 1]},
            "storages": {"disk": {"path": "."}},
        }
    )
    assert (
        spec_of(asked, SEARCH).workers,
        spec_of(asked, SEARCH).cores,
    ) == (
        3,
        [0, 1],
    )


def test_the_formula_is_a_storage_path_away_from_devices(tmp_path: Path) -> None:
    asked = plan().model_copy(update={"meters": ("devices", "log_writes")})
    formula = Formula(paths=[Path("/dev/shm")])
    rung = measure(SEARCH, rungs_of(asked), formula, lambda event: None).rung
    assert "memory-backed storage (tmpfs): no device under it" in rung.notes
    assert "device.reads" not in rung.quantities


def test_a_rung_keeps_how_much_its_warm_up_discarded_and_how_far_an_unsteady_window_moved() -> None:
    steady = measured(Formula()).rung
    assert (steady.discarded, steady.moved) == (5 * 4000, None)
    filling = measured(Formula(filling_s=100), asked=plan(warm_up_limit="30s")).rung
    assert filling.discarded == pytest.approx(30 * 4000 * 0.575, rel=0.01)
    assert filling.moved
    assert filling.moved.nopm == pytest.approx(0.07, abs=0.02)
    assert filling.moved.reads is None


def test_of_a_window_with_checkpoint_cycles_only_what_moved_before_it_too_counts() -> None:
    asked = plan(checkpoints=1, warm_up_limit="10s")
    filled = measured(Formula(filling_s=33, checkpoint_every_s=40), FINAL_RUN, asked).rung
    assert (filled.warm_up_s, filled.steady, filled.moved) == (35, False, Moved(nopm=0.0))
    filling = measured(Formula(filling_s=120, checkpoint_every_s=40), FINAL_RUN, asked).rung
    assert filling.moved
    assert 0.05 < filling.moved.nopm < 0.25


@pytest.mark.parametrize(
    ("phase", "ready", "severities"),
    [
        ("final_run", False, ["caveat"]),
        ("final_run", True, ["invalid"]),
        ("final_run", None, ["caveat"]),
        ("warm_up", False, []),
        ("warm_up", True, []),
    ],
)
def test_log_files_made_in_a_window_are_a_caveat_where_they_could_not_be_made_before(
    phase: Phase, ready: bool | None, severities: list[str]
) -> None:
    order = Order(configuration="disk", phase=phase, users=4)
    held = HeldWindow(0, 10, 10.0, 0.0, log_ready=ready)
    found, _ = judged(rung(order, 1000.0, log__segments_made=3.0), held, ())
    assert [one.severity for one in found.remarks if one.kind == "log_made"] == severities


@pytest.mark.parametrize(
    ("phase", "late_s", "said"),
    [
        ("final_run", 0.0, True),
        ("final_run", 60.0, False),
        ("warm_up", 0.0, False),
    ],
)
def test_silent_seconds_are_a_caveat_unless_the_clock_stalled_or_the_database_was_warming_up(
    phase: Phase, late_s: float, said: bool
) -> None:
    order = Order(configuration="disk", phase=phase, users=4)
    silent = Remark(kind="silent", severity="caveat", words="no response for 4 s")
    found, _ = judged(rung(order, 1000.0), HeldWindow(0, 10, 10.0, late_s), [silent])
    assert (silent in found.remarks) == said


@pytest.mark.parametrize(("ordered_s", "kinds"), [(24.0, []), (23.9, ["long_window"])])
def test_a_window_may_last_a_quarter_longer_than_ordered_and_no_more(
    ordered_s: float, kinds: list[str]
) -> None:
    found = rung(Order(configuration="disk", phase="final_run", users=4), 1000.0)
    assert found.tally.window_s == 30.0
    said, _ = judged(found, HeldWindow(0, 30, ordered_s, 0.0), ())
    assert [one.kind for one in said.remarks if one.severity == "invalid"] == kinds
