"""The simulated engine against what queueing theory says of it."""

from __future__ import annotations

import threading
import time
from functools import cache
from typing import Any

import pytest

from kneebench._core import GeneratorSpec, merge_histograms
from kneebench.databases.engines.simulated.server import METERS, Simulated
from kneebench.databases.engines.simulated.storage import SimulatedStorage
from kneebench.databases.several import engine_of
from kneebench.errors import PlanError
from kneebench.lab.journal import Journal
from kneebench.measurement.quantities import READ
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.plan.workload import Workload
from kneebench.records import (
    Configuration,
    Counts,
    Event,
    Latency,
    Record,
    Second,
    Tally,
    Tick,
    TransactionTally,
)
from tests import simulated_truth as truth

CALM = {
    "cpu_per_transaction": "2ms",
    "cold_reads_per_transaction": 0.0,
    "noise": 0.0,
    "restore_noise": 0.0,
    "log_time_per_commit": "0ms",
}
"""Four cores, 2,000 transactions per second at most, no noise, a warm cache."""
CONFIGURATION = Configuration(id="drive", storage="drive")


class Seen(Record):
    """A rung's tally, what the meters counted in its window, and the ticks."""

    tally: Tally
    counted: dict[str, float]
    ticks: tuple[Tick, ...]


def storage(**changes: Any) -> SimulatedStorage:
    return SimulatedStorage.model_validate({**CALM, **changes})


def ignored(event: Event) -> None:
    """Nobody watches."""


def plan(seed: int = 1, warehouses: int = 50, **changes: Any) -> Plan:
    table = {"simulated": storage(**changes).model_dump()}
    return Plan.model_validate(
        {
            "seed": seed,
            "database": {"engine": "simulated"},
            "workload": {"warehouses": warehouses},
            "storages": {"drive": table},
        }
    )


def spec(users: int, **changes: Any) -> GeneratorSpec:
    asked = {
        "users": users,
        "warehouses": 50,
        "profile": "spec",
        "home": "all",
        "seed": 1,
        "stream": users,
        "retries": 10,
        "workers": 1,
    }
    return GeneratorSpec(**{**asked, **changes})


def rung(
    server: Simulated, users: int, window_s: int = 20, warm_up_s: int = 2, **changes: Any
) -> Seen:
    generator = server.load_generator(spec(users, **changes))
    generator.ready()
    generator.go()
    ticks = [generator.tick() for _ in range(warm_up_s)]
    generator.mark("window")
    before = readings(server)
    ticks += [generator.tick() for _ in range(window_s)]
    after = readings(server)
    tally = Tally.model_validate(generator.stop())
    counted = {name: after[name] - before.get(name, 0.0) for name in after}
    return Seen(
        tally=tally, counted=counted, ticks=tuple(Tick.model_validate(tick) for tick in ticks)
    )


def readings(server: Simulated) -> dict[str, float]:
    return {name: value for meter in METERS for name, value in server.readings(meter).items()}


def measured(users: int, seed: int = 1, restore: int = 0, **changes: Any) -> Seen:
    """A rung on the restore for a climb, or on a later one; `changes` that are no figure of the
    storage go to the load generator.
    """
    ours = {
        name: changes.pop(name) for name in list(changes) if name in SimulatedStorage.model_fields
    }
    planned = plan(seed, changes.get("warehouses", 50), **ours)
    opened = engine_of(Study(planned).databases, Journal())
    with opened.restored(CONFIGURATION, ignored, restore) as server:
        assert isinstance(server, Simulated)
        return rung(server, users, **changes)


@cache
def climbed(users: int) -> Seen:
    return measured(users)


def mean_s(seen: Seen) -> float:
    assert seen.tally.latency
    return seen.tally.latency.mean_s


def commits_per_flush(seen: Seen) -> float:
    return seen.counted["database.commits|database"] / seen.counted["log.flushes|database"]


# --- the model against theory ---------------------------------------------------------------------


@pytest.mark.parametrize("users", [1, 4, 16, 64])
def test_throughput_never_exceeds_the_bound(users: int) -> None:
    assert climbed(users).tally.throughput_per_s < 1.01 * min(
        truth.bound(storage()), users / truth.alone_s(storage())
    )


@pytest.mark.parametrize(
    ("changes", "scarce"),
    [
        ({}, "cores"),
        ({"cpu_beside_read": "1ms"}, "cores"),
        ({"read_latency": "10ms"}, "data device"),
        ({"writes_per_transaction": 8.0, "write_latency": "3ms"}, "data device"),
        ({"log_time_per_commit": "2ms"}, "log"),
    ],
)
def test_enough_users_reach_the_bound_of_the_scarcest_resource(
    changes: dict[str, Any], scarce: str
) -> None:
    assert truth.scarcest(storage(**changes)) == scarce
    assert measured(64, **changes).tally.throughput_per_s == pytest.approx(
        truth.bound(storage(**changes)), rel=0.02
    )


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"log_latency": "5ms"},
        {"reads_per_transaction": 8.0},
        {"log_time_per_commit": "1ms"},
        {"cpu_per_flush": "1ms"},
        {"cpu_after_flush": "1ms"},
        {"cpu_beside_flush": "1ms", "cpu_beside_read": "1ms"},
        {"log_on_data_drive": True},
    ],
)
def test_one_users_latency_equals_the_sum_of_its_stages(changes: dict[str, Any]) -> None:
    assert mean_s(measured(1, window_s=60, **changes)) == pytest.approx(
        truth.alone_s(storage(**changes)), rel=0.02
    )


@pytest.mark.parametrize("users", [2, 4, 6, 16])
@pytest.mark.parametrize(
    "drive", [{}, {"read_latency": "2ms", "read_channels": 2}, {"affinity": 1.0}]
)
def test_without_a_log_throughput_is_what_mean_value_analysis_says(
    users: int, drive: dict[str, Any]
) -> None:
    no_log = storage(log_latency="0ms", **drive)
    assert truth.throughput(no_log, users) == pytest.approx(truth.mva(no_log, users), rel=0.01)


@pytest.mark.parametrize("users", [1, 3, 8, 40, 200])
def test_littles_law_holds_within_two_percent(users: int) -> None:
    seen = climbed(users)
    assert users / seen.tally.throughput_per_s == pytest.approx(mean_s(seen), rel=0.02)


def test_commits_per_flush_rise_with_users() -> None:
    shared = [commits_per_flush(measured(users, log_latency="5ms")) for users in (1, 4, 16)]
    assert shared == sorted(shared)
    assert (
        shared[0] < 1.15 < 2 < shared[-1]
    )  # above 1: transactions that only read commit without a flush


def test_a_slower_log_lowers_throughput_and_lets_more_commits_share_a_flush() -> None:
    quick, slow = measured(4, log_latency="1ms"), measured(4, log_latency="10ms")
    assert slow.tally.throughput_per_s < 0.6 * quick.tally.throughput_per_s
    assert commits_per_flush(slow) > commits_per_flush(quick)


def test_the_time_of_a_flush_is_the_plans_plus_what_its_commits_add() -> None:
    seen = measured(32, log_latency="5ms", log_time_per_commit="1ms", window_s=60)
    committers = commits_per_flush(seen) * truth.COMMITS["spec"] / (truth.COMMITS["spec"] + 0.08)
    flush_s = seen.counted["log.flush_time|database"] / seen.counted["log.flushes|database"]
    assert flush_s == pytest.approx(0.005 + 0.001 * committers, rel=0.02)


def test_a_flush_waits_for_a_core_and_what_follows_it_takes_one() -> None:
    """The cores work for transactions, and for flushes within, after and beside them."""
    each = {"cpu_per_flush": "0.5ms", "cpu_after_flush": "1ms", "cpu_beside_flush": "2ms"}
    seen = measured(8, window_s=60, cpu_beside_read="0.1ms", **each)
    counted, done = seen.counted, seen.tally.window.completed
    busy_s = sum(counted[f"cores.busy|{core}"] for core in range(4))
    flushes, reads = counted["log.flushes|database"], counted["device.reads|sim0"]
    assert busy_s == pytest.approx(0.002 * done + 0.0035 * flushes + 0.0001 * reads, rel=0.03)
    latency_s = [
        one.counted["log.flush_time|database"] / one.counted["log.flushes|database"]
        for one in (measured(users, cpu_per_flush="0.5ms") for users in (1, 64))
    ]
    assert latency_s[0] == pytest.approx(0.001, rel=0.05), "0.5 ms of the drive, 0.5 ms of a core"
    assert latency_s[1] > 2 * latency_s[0], "the cores are busy"


def test_a_log_on_the_datas_drive_shares_its_channel() -> None:
    drive = {"read_channels": 1, "read_latency": "1ms", "log_latency": "2ms"}
    apart, shared = (
        measured(64, window_s=60, log_on_data_drive=on, **drive) for on in (False, True)
    )
    for seen, log_s in ((apart, 0.0), (shared, 0.002)):
        counted = seen.counted
        busy_s = 0.001 * counted["device.reads|sim0"] + log_s * counted["log.flushes|database"]
        assert busy_s == pytest.approx(60, rel=0.05)
    assert shared.tally.throughput_per_s < 0.95 * apart.tally.throughput_per_s


def test_with_contention_throughput_peaks_and_falls() -> None:
    rising, top, falling = (
        measured(users, contention=0.01).tally.throughput_per_s for users in (2, 8, 64)
    )
    assert rising < top > 1.3 * falling
    users, _ = truth.peak(storage(contention=0.01), last=64)
    assert 4 <= users <= 12


def test_an_open_loop_at_70_percent_has_shorter_latency_than_at_95() -> None:
    at = {share: measured(64, rate_per_s=share * truth.bound(storage())) for share in (0.7, 0.95)}
    assert mean_s(at[0.7]) < 0.7 * mean_s(at[0.95])
    for share, seen in at.items():
        assert seen.tally.throughput_per_s == pytest.approx(2000 * share, rel=0.03)
        assert seen.tally.wait is not None
        assert seen.tally.unstarted == 0


# --- chance ---------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_tally_and_another_seed_another() -> None:
    first, again, other = (measured(8, seed=seed, noise=0.02) for seed in (1, 1, 2))
    assert first == again
    assert first.tally != other.tally


def test_every_restore_has_chances_of_its_own_and_the_same_ones_in_the_next_campaign() -> None:
    first, second, again = (measured(8, restore=n) for n in (1, 2, 2))
    assert first.tally != second.tally
    assert second.tally == again.tally


def test_noise_scatters_the_repeats_but_not_their_mean() -> None:
    found = [
        measured(16, restore=n, restore_noise=0.03, window_s=5).tally.throughput_per_s
        for n in range(1, 13)
    ]
    assert max(found) / min(found) > 1.03
    assert sum(found) / len(found) == pytest.approx(truth.bound(storage()), rel=0.03)


# --- the server -----------------------------------------------------------------------------------


def test_the_simulated_clock_jumps() -> None:
    began = time.monotonic()
    seen = measured(8, window_s=98)
    assert seen.tally.whole_s == pytest.approx(100, abs=0.1)
    assert time.monotonic() - began < 10


def test_load_generators_follow_one_another_on_one_clock_and_one_database() -> None:
    with engine_of(Study(plan()).databases, Journal()).restored(CONFIGURATION, ignored) as server:
        assert server.now_s() == 0
        start = server.sum_next_order_ids()
        tallies = [rung(server, users, window_s=3).tally for users in (2, 4)]
        assert server.now_s() == pytest.approx(10, abs=0.1)
        assert server.sum_next_order_ids() - start == sum(
            t.transactions["new_order"].whole.committed for t in tallies
        )
        committed, rolled_back = server.transaction_counts()
        assert (committed, rolled_back) == (
            sum(t.whole.committed for t in tallies),
            sum(t.whole.rolled_back for t in tallies),
        )


def test_what_leaves_the_core_has_exactly_the_fields_of_the_records() -> None:
    with engine_of(Study(plan()).databases, Journal()).restored(CONFIGURATION, ignored) as server:
        generator = server.load_generator(spec(4))
        generator.go()
        generator.mark("window")
        tick, report = generator.tick(), generator.stop()
    payment, latency = report["transactions"]["payment"], report["latency"]
    assert latency is not None
    for seen, record in (
        ({**tick, "network": {}}, Tick),
        (tick["seconds"][0], Second),
        ({**report, "hosts": ()}, Tally),  # what load hosts say is added by the controller
        (payment, TransactionTally),
        (payment["whole"], Counts),
        (latency, Latency),
        (merge_histograms([latency["histogram"]]), Latency),
    ):
        assert seen.keys() == record.model_fields.keys()


def test_a_load_generator_reports_what_it_cannot_do_and_a_dropped_one_does_no_harm() -> None:
    with engine_of(Study(plan()).databases, Journal()).restored(CONFIGURATION, ignored) as server:
        generator, other = server.load_generator(spec(4)), server.load_generator(spec(4))
        with pytest.raises(RuntimeError, match="go"):
            generator.tick()
        generator.go()
        generator.tick()
        with pytest.raises(RuntimeError, match="another load generator"):
            other.go()
        with pytest.raises(RuntimeError, match="phase"):
            generator.mark("cool_down")
        with pytest.raises(ValueError, match="users is 0"):
            server.load_generator(spec(0))
        del generator
        assert sum(server.readings("waits").values()) == 0
        assert rung(server, 4, window_s=3).tally.throughput_per_s > 1000


def test_a_server_answers_from_any_thread() -> None:
    with engine_of(Study(plan()).databases, Journal()).restored(CONFIGURATION, ignored) as server:
        found: list[float] = []
        asking = threading.Thread(
            target=lambda: found.append(rung(server, 4, window_s=2).tally.window_s)
        )
        asking.start()
        asking.join()
        assert found == [2.0]


def test_a_tick_is_a_whole_second_with_all_five_transactions() -> None:
    ticks = climbed(4).ticks
    assert [tick.now_s for tick in ticks] == [float(n) for n in range(1, 23)]
    assert all(
        len(tick.seconds) == 5 and {s.at_s for s in tick.seconds} == {n}
        for n, tick in enumerate(ticks)
    )
    assert {tick.alive for tick in ticks} == {4}


def test_the_conditions_that_a_model_can_answer_hold_after_a_load() -> None:
    with engine_of(Study(plan(deadlocks=0.02)).databases, Journal()).restored(
        CONFIGURATION, ignored
    ) as server:
        rung(server, 16, window_s=10)
        checks = server.conditions(ignored)
    assert [check.sentence for check in checks if not check.passed] == []
    assert len(checks) == 5
    assert all("simulated" in check.sentence for check in checks)


# --- its meters -----------------------------------------------------------------------------------


def test_the_model_answers_all_meters_of_the_plan_but_those_of_a_real_machine() -> None:
    opened = engine_of(Study(plan()).databases, Journal())
    with opened.restored(CONFIGURATION, ignored) as server:
        of_a_machine = {"log_histogram", "threads", "scheduler", "network", "group", "thermal"}
        of_the_plan = {*Plan.model_fields["meters"].default} - of_a_machine
        assert server.measures == of_the_plan | {"power"}  # which [power] reads
        for meter in server.measures:
            names = {name.partition("|")[0] for name in server.readings(meter)}
            assert names
            assert names <= set(READ)


def test_a_checkpoint_is_read_at_once_though_the_clock_stands() -> None:
    with engine_of(Study(plan()).databases, Journal()).restored(CONFIGURATION, ignored) as server:
        counted = "checkpoints.requested|database"
        before = server.readings("checkpoints")[counted]
        server.checkpoint()
        assert server.readings("checkpoints")[counted] == before + 1


def test_what_the_meters_count_is_what_was_done() -> None:
    seen = measured(6, window_s=60)
    counted, done, per_s = seen.counted, seen.tally.window.completed, seen.tally.throughput_per_s
    assert counted["device.reads|sim0"] == pytest.approx(2.0 * done, rel=0.03)
    busy = [counted[f"cores.busy|{core}"] / 60 for core in range(4)]
    assert sum(busy) == pytest.approx(0.002 * per_s, rel=0.03)
    assert max(busy) - min(busy) < 0.02
    assert counted["processes.cpu|server"] == pytest.approx(60 * sum(busy))
    assert counted["device.queue_depth|sim0"] / 60 == pytest.approx(
        counted["device.reads|sim0"] / 60 * 0.0001, rel=0.05
    )
    assert counted["checkpoints.timed|database"] == 2


def test_every_counter_only_ever_rises() -> None:
    with engine_of(
        Study(plan(checkpoint_every="3s", full_after_users=6, deadlocks=0.1)).databases, Journal()
    ).restored(CONFIGURATION, ignored) as server:
        assert isinstance(server, Simulated)
        generator = server.load_generator(spec(8))
        generator.go()
        before = readings(server)
        for _ in range(10):
            generator.tick()
            after = readings(server)
            assert [
                name
                for name in before
                if READ[name.partition("|")[0]].kind == "counter" and after[name] < before[name]
            ] == []
            before = after


def test_the_cache_is_cold_after_a_restore_and_warms_with_the_transactions_done() -> None:
    seen = measured(16, cold_reads_per_transaction=10.0, warm_after=2000, warm_up_s=0, window_s=1)
    later = measured(16, cold_reads_per_transaction=10.0, warm_after=2000, warm_up_s=12, window_s=5)
    reads = [s.counted["device.reads|sim0"] / s.tally.window.completed for s in (seen, later)]
    assert reads[0] > 6
    assert reads[1] == pytest.approx(2.0, rel=0.05)


# --- trouble --------------------------------------------------------------------------------------


def flush_waits(warehouses: int, *, row_locks: bool) -> float:
    """How many flushes a transaction waits for: what its latency grows by over what a flush does,
    with cores to spare.
    """
    seen = [
        measured(
            32,
            warehouses=warehouses,
            cores=16,
            cpu_per_transaction=0.0001,
            row_locks=row_locks,
            log_latency=log_s,
            log_time_per_commit=0.0,
            reads_per_transaction=0.0,
            cold_reads_per_transaction=0.0,
            checkpoint_every=0.0,
            noise=0.0,
            restore_noise=0.0,
        )
        for log_s in (0.001, 0.002)
    ]
    return (mean_s(seen[1]) - mean_s(seen[0])) / 0.001


def test_rows_that_are_held_until_the_flush_ends_cost_more_than_two_flushes() -> None:
    """A commit alone waits for two flushes at most: the one under way, and its own. Users of one
    warehouse wait for each other's too, the more the fewer warehouses there are.
    """
    alone = [flush_waits(warehouses, row_locks=False) for warehouses in (4, 10)]
    assert all(1.5 < waits < 2.0 for waits in alone)
    few, more, many = (flush_waits(warehouses, row_locks=True) for warehouses in (4, 10, 50))
    assert few > 5 and 2.5 < more < 3.5 and many < 2.3


def test_users_that_wait_for_a_row_are_counted_among_the_waits() -> None:
    planned = plan(warehouses=2, row_locks=True, log_latency=0.002)
    opened = engine_of(Study(planned).databases, Journal())
    with opened.restored(CONFIGURATION, ignored) as server:
        generator = server.load_generator(spec(32, warehouses=2))
        generator.ready()
        generator.go()
        waiting = []
        for _ in range(10):
            generator.tick()
            waiting.append(server.readings("waits")["waits.lock|Lock:transactionid"])
        generator.stop()
    assert sum(waiting) / len(waiting) > 20
    assert "waits.lock|Lock:transactionid" not in measured(32, log_latency=0.002).counted


def test_deadlocks_are_retried_and_counted_by_class() -> None:
    seen = measured(8, deadlocks=0.05)
    retried = sum(t.retried.get("40P01", 0) for t in seen.tally.transactions.values())
    assert retried == pytest.approx(0.05 * (seen.tally.whole.started + retried), rel=0.1)
    assert seen.tally.whole.failed == 0


def test_a_full_server_refuses_and_the_clock_goes_on() -> None:
    seen = measured(16, full_after_users=8)
    assert seen.tally.whole.failed > seen.tally.whole.started / 10
    assert [error.code for error in seen.tally.errors] == ["53300"]


def test_a_server_that_dies_loses_its_users_and_lets_nobody_in() -> None:
    with engine_of(Study(plan(dies_after="5s")).databases, Journal()).restored(
        CONFIGURATION, ignored
    ) as server:
        assert server.alive() == ""
        seen = rung(server, 8, window_s=8)
        assert seen.ticks[-1].alive == 0
        assert seen.tally.lost_users == seen.tally.whole.unknown == 8
        assert "ended at 5 s" in server.alive()
        with pytest.raises(ConnectionError, match="ended at 5 s"):
            server.load_generator(spec(8)).ready()


def test_a_storage_without_a_model_is_an_error_of_the_plan() -> None:
    bare = Plan.model_validate({"database": {"engine": "simulated"}, "storages": {"drive": {}}})
    opened = engine_of(Study(bare).databases, Journal())
    assert [finding.level for finding in opened.findings()] == ["error"]
    with pytest.raises(PlanError, match="no model"), opened.restored(CONFIGURATION, ignored):
        pass


def test_more_cores_than_the_model_has_are_an_error_of_the_plan() -> None:
    document = {
        "database": {"engine": "simulated"},
        "storages": {"drive": {"simulated": {"cores": 4}}},
        "ladder": {"users": 4},
        "constraints": {"cores": [2, 4, 6]},
    }
    found = engine_of(Study(Plan.model_validate(document)).databases, Journal()).findings()
    assert [one.seen for one in found if one.level == "error"] == [
        "drive (6 cores): needs 6 cores, 4 available in the model"
    ]


# --- what is true of it ---------------------------------------------------------------------------


def test_the_true_knee_lies_where_the_cores_are_used_up() -> None:
    users, per_s = truth.knee(storage(), last=64)
    assert 6 <= users <= 16
    assert 0.9 * truth.bound(storage()) < per_s <= 1.01 * truth.bound(storage())


def test_a_long_run_agrees_with_another_of_other_chances() -> None:
    one, other = (
        truth.long_run(storage(), 8, 100, Workload(), seed).throughput_per_s for seed in (1, 2)
    )
    assert one == pytest.approx(other, rel=0.01)
