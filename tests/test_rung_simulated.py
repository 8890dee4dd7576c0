"""Rungs on the simulated engine: the counts of client and server agree however the model
misbehaves, and checkpoint cycles are whole.
"""

from __future__ import annotations

import pytest

from kneebench.databases.several import engine_of
from kneebench.errors import DatabaseLost, InvalidMeasurement
from kneebench.lab.journal import Journal
from kneebench.measurement.measure import MeasuredRung, measure
from kneebench.measurement.warm_up import COOL_DOWN_S, SLOWER, Beginning, ColdStart, schedule
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Configuration, Event, Order, Phase, Rung
from tests.only import rungs_of
from tests.simulated_truth import bound

CONFIGURATION = Configuration(id="disk", storage="disk")


def quiet(event: Event) -> None:
    """A watcher that shows nothing."""


def plan(profile: str = "spec", **drives: object) -> Plan:
    return Plan.model_validate(
        {
            "database": {"engine": "simulated"},
            "workload": {"warehouses": 400, "profile": profile},
            "ladder": {
                "window": "10s",
                "final_window": "40s",
                "warm_up_limit": "60s",
                "checkpoints": 1,
            },
            "storages": {"disk": {"simulated": drives}},
        }
    )


def measured(
    asked: Plan, users: int = 16, phase: Phase = "search", rate_per_s: float | None = None
) -> MeasuredRung:
    order = Order(configuration="disk", phase=phase, users=users, rate_per_s=rate_per_s)
    with engine_of(Study(asked).databases, Journal()).restored(CONFIGURATION, quiet) as server:
        return measure(order, rungs_of(asked), server, quiet)


def failed(found: MeasuredRung) -> list[str]:
    return [check.sentence for check in found.rung.checks if not check.passed]


@pytest.mark.parametrize("profile", ["spec", "hammerdb"])
@pytest.mark.parametrize("users", [1, 64])
def test_every_check_passes_in_both_profiles(profile: str, users: int) -> None:
    found = measured(plan(profile), users)
    assert failed(found) == []
    assert found.rung.steady
    assert found.rung.tpm / found.rung.tally.nopm == pytest.approx(
        {"spec": 2.2447, "hammerdb": 2.3232}[profile], rel=0.02
    )


def test_counts_agree_while_deadlocks_are_retried() -> None:
    found = measured(plan(deadlocks=0.05))
    assert failed(found) == []
    assert any(
        count for t in found.rung.tally.transactions.values() for count in t.retried.values()
    )


def test_a_server_that_has_no_room_for_all_users_stops_the_campaign_with_its_words() -> None:
    with pytest.raises(
        InvalidMeasurement,
        match=r"search on disk, 16 users: [\d,]+ transactions failed with 53300: ",
    ):
        measured(plan(full_after_users=8))


def test_a_server_that_dies_is_lost_not_measured() -> None:
    with pytest.raises(
        DatabaseLost, match=r"search on disk, 16 users, measuring \(\d+ s after the start\)"
    ):
        measured(plan(dies_after="10s"))


def test_a_report_starts_at_a_checkpoint_and_ends_at_one() -> None:
    found = measured(plan(checkpoint_every="30s"), phase="final_run")
    assert found.rung.tally.window_s == pytest.approx(60), (
        "two cycles of 30 s, as 40 s are wanted at least"
    )
    assert found.rung.warm_up_s == pytest.approx(30)
    assert found.rung.quantities["checkpoints.timed"].value * 60 == pytest.approx(2)
    share = next(
        series for series in found.series if series.quantity == "log.full_page_image_share"
    )
    storm = dict(zip(share.at_s, share.value, strict=True))
    assert max(storm[31.0], storm[32.0]) > 3 * storm[29.0], (
        "the window begins with the images that the checkpoint causes"
    )


def test_an_open_loop_below_the_bound_keeps_its_rate_and_one_above_it_says_that_it_cannot() -> None:
    asked = plan()
    most_per_s = bound(asked.storages["disk"].simulated)
    below = measured(asked, 64, "fixed_rate", 0.5 * most_per_s)
    assert failed(below) == []
    assert below.rung.tally.throughput_per_s == pytest.approx(0.5 * most_per_s, rel=0.02)
    above = measured(asked, 64, "fixed_rate", 1.5 * most_per_s)
    assert [check.name for check in above.rung.checks if not check.passed] == ["unstarted"]


def test_the_same_order_on_the_same_restore_is_measured_the_same() -> None:
    one, other = (measured(plan()).rung for _ in range(2))
    assert one.tally == other.tally
    assert one.quantities == other.quantities


def test_a_cold_database_with_limited_memory_is_not_steady_before_it_can_be_full() -> None:
    """Behind a saturated drive, reads are flat and NOPM rises by less than it scatters."""
    slow = {"read_latency": "2ms", "read_channels": 4, "reads_per_transaction": 0.5}
    filling = {"cold_reads_per_transaction": 8, "warm_after": 20_000, "checkpoint_every": "0s"}
    asked = plan(**slow, **filling)
    order = Order(configuration="disk", phase="search", users=16)

    def warmed(memory_bytes: int) -> Rung:
        with engine_of(Study(asked).databases, Journal()).restored(CONFIGURATION, quiet) as server:
            start = ColdStart(memory_bytes)
            return measure(order, rungs_of(asked), server, quiet, Beginning(cold=start)).rung

    free, limited, large = (warmed(memory) for memory in (0, 2**30, 2**40))
    assert free.steady
    assert limited.warm_up_s > 2 * free.warm_up_s
    assert not large.steady
    [why] = [one for one in large.remarks if "less than 1 TiB of memory to fill" in one.words]
    assert why.kind == "not_filled"


def test_a_long_final_run_waits_for_as_many_transactions_or_notes_how_many_it_lacks() -> None:
    slow = plan(read_latency="20ms")
    order = Order(configuration="disk", phase="final_run", users=4, repeat=1)
    times = schedule(order, slow.ladder, 300.0)
    longest_s = SLOWER * (slow.ladder.warm_up_limit + slow.ladder.final_window + COOL_DOWN_S)
    assert times.aligned_s == pytest.approx(longest_s)

    def run(transactions: int) -> Rung:
        with engine_of(Study(slow).databases, Journal()).restored(CONFIGURATION, quiet) as server:
            return measure(
                order, rungs_of(slow), server, quiet, Beginning(transactions=transactions)
            ).rung

    alone = run(0)
    many = round(6 * slow.ladder.warm_up_limit * alone.tally.throughput_per_s)
    waited, never = run(many // 2), run(10**9)
    assert waited.warm_up_s > 2 * slow.ladder.warm_up_limit
    assert (waited.discarded or 0) >= many // 2
    assert not any("transactions earlier" in note for note in waited.notes)
    assert never.warm_up_s >= longest_s
    (note,) = [note for note in never.notes if "transactions earlier" in note]
    assert note.startswith("the window began 999,")
