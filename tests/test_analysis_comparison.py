"""Comparisons: pairs of interleaved runs, a noise floor, no claim below either."""

from __future__ import annotations

from statistics import geometric_mean

import numpy as np
import pytest

from kneebench.analysis.comparison import baseline, compare, noise_floor
from kneebench.analysis.drift import drift
from kneebench.analysis.headline import data_cached, headline, subtitle
from kneebench.analysis.knee import knee
from kneebench.analysis.quantity_ratio import NOPM, P999, paired, paired_rungs
from kneebench.records import Campaign, Climb, Configuration, Host, Order, Results, Rung
from tests.curves import latency, rung
from tests.recordings import recorded, resolve_document
from tests.remarks import invalid

RATE = 700.0


def configuration(
    name: str,
    at_knee: list[float],
    *,
    users: int = 16,
    mean_s: float = 0.004,
    constraint: str = "",
    n: int = 200_000,
    **quantities: float,
) -> Climb:
    """A climb whose final runs gave these throughputs, and a latency at the fixed rate that
    scatters as they do.
    """
    id_ = f"{name}-{constraint}" if constraint else name
    rungs: list[Rung] = [rung(Order(configuration=id_, phase="search", users=users), at_knee[0])]
    for repeat, x in enumerate(at_knee, start=1):
        rungs.append(
            rung(
                Order(configuration=id_, phase="final_run", users=users, repeat=repeat),
                x,
                **quantities,
            )
        )
        one_rate = Order(
            configuration=id_, phase="fixed_rate", users=32, repeat=repeat, rate_per_s=RATE
        )
        rungs.append(rung(one_rate, RATE, tail=latency(mean_s * at_knee[0] / x, n)))
    return Climb(
        configuration=Configuration(id=id_, storage=name, constraint=constraint),
        rungs=tuple(rungs),
        stopped_by="plateau",
        knee_users=users,
        bracket=(users, users),
    )


def results(*climbs: Climb, simulated: bool = False, **plan: object) -> Results:
    host = Host(cpu="a CPU", cores=2, memory_bytes=2**34, kernel="6", system="Linux")
    head = Campaign(
        id="x",
        kneebench="0",
        started_at="2026-01-01T00:00:00Z",
        plan=plan,
        resolved=resolve_document(plan),
        host=host,
        simulated=simulated,
    )
    return Results(campaign=head, climbs=climbs)


DISK = configuration("disk", [1000.0, 1012.0, 995.0], users=16)
MEMORY = configuration("memory", [2500.0, 2540.0, 2470.0], users=8, mean_s=0.002)


def test_final_runs_that_share_no_repeat_are_compared_without_pairs() -> None:
    """Those of memory stepped down to fewer users after three, those of disk stayed."""

    def later(one: Rung) -> Rung:
        order = one.order.model_copy(update={"repeat": one.order.repeat + 3})
        return one.model_copy(update={"order": order})

    moved = (later(r) if r.order.phase == "final_run" else r for r in MEMORY.rungs)
    apart = MEMORY.model_copy(update={"rungs": tuple(moved)})
    paired, unpaired = (compare(results(DISK, one))[0] for one in (MEMORY, apart))
    assert unpaired.ratio.value == pytest.approx(paired.ratio.value)
    assert "pair" in paired.ratio.method and "paired ratios" not in unpaired.ratio.method
    stalled = tuple(map(invalid, DISK.rungs))
    nothing = compare(results(DISK.model_copy(update={"rungs": stalled}), MEMORY))
    assert nothing == (), "invalid runs are no runs of another time"


def test_a_clear_difference_is_claimed_in_plain_words_with_the_latency_beside_it() -> None:
    nopm, mean, p999 = compare(results(DISK, MEMORY))
    assert (nopm.quantity, mean.quantity, p999.quantity) == ("nopm", "latency.mean", "latency.p999")
    assert nopm.differs
    assert nopm.ratio.value == pytest.approx(2.5, rel=0.01)
    assert nopm.sentence.startswith(
        "Memory: 2.50x (2.46x to 2.53x, n=3) disk's NOPM at the knee (8 vs. 16 users); mean latency"
        " 0.20x at the knee"
    )
    assert "0.50x at the fixed rate" in nopm.sentence
    assert "700 transactions/s on both" in mean.sentence


def test_ratios_are_of_pairs_so_that_what_drifts_with_time_cancels_out() -> None:
    drifting = [1.0, 0.8, 0.6]
    disk, memory = (
        configuration("disk", [1000 * d for d in drifting]),
        configuration("memory", [1500 * d for d in drifting]),
    )
    found = compare(results(disk, memory))[0]
    assert found.ratio.value == pytest.approx(1.5, rel=1e-3)
    assert found.ratio.high - found.ratio.low < 0.01


def test_below_two_percent_nothing_is_claimed_however_narrow_the_interval() -> None:
    found = compare(
        results(
            configuration("a", [1000.0, 1000.1, 999.9]),
            configuration("b", [1015.0, 1015.1, 1014.9]),
        )
    )[0]
    assert found.ratio.low > 1
    assert (found.differs, found.noise_floor) == (False, 0.02)
    assert "within the noise floor of 2%" in found.sentence


def test_the_scatter_of_one_configuration_raises_the_floor_for_all() -> None:
    wild = configuration("a", [1000.0, 1150.0, 1080.0])
    assert noise_floor([wild, MEMORY], NOPM) > 0.10
    shifted = [x * 1.08 for x in (1000.0, 1150.0, 1080.0)]
    found = compare(results(wild, configuration("b", shifted)))[0]
    assert found.ratio.low > 1.02
    assert not found.differs


def test_an_interval_that_holds_one_is_no_difference() -> None:
    found = compare(
        results(
            configuration("a", [1000.0, 1010.0, 990.0]),
            configuration("b", [1020.0, 1200.0, 1030.0]),
        )
    )[0]
    assert not found.differs
    assert "No difference shown" in found.sentence


def test_one_pair_alone_never_differs() -> None:
    found = compare(results(configuration("a", [1000.0]), configuration("b", [9000.0])))[0]
    assert "one pair of runs is too few" in found.sentence
    assert (found.differs, found.ratio.n) == (False, 1)


def test_two_configurations_that_are_the_same_are_called_different_at_most_5_times_in_100() -> None:
    rng = np.random.default_rng(9300)
    claims = 0
    for _ in range(500):
        one, two = ([float(x) for x in 1000 * np.exp(rng.normal(0, 0.03, 3))] for _ in range(2))
        claims += compare(results(configuration("a", one), configuration("b", two)))[0].differs
    assert claims / 500 <= 0.05


def test_a_true_difference_of_ten_percent_is_found_in_most_campaigns_of_five_repeats() -> None:
    rng = np.random.default_rng(1)
    claims = 0
    for _ in range(200):
        one, two = (
            [float(x) for x in level * np.exp(rng.normal(0, 0.015, 5))] for level in (1000, 1100)
        )
        claims += compare(results(configuration("a", one), configuration("b", two)))[0].differs
    assert claims / 200 >= 0.9


def test_invalid_and_missing_repeats_are_left_out_in_pairs() -> None:
    def broken(climb: Climb) -> Climb:
        return climb.model_copy(
            update={"rungs": tuple(invalid(r) if r.order.repeat == 2 else r for r in climb.rungs)}
        )

    assert compare(results(broken(DISK), MEMORY))[0].ratio.n == 2
    assert compare(results(DISK, broken(MEMORY)))[0].ratio.n == 2
    assert (
        compare(results(DISK, Climb(configuration=Configuration(id="x", storage="x"), rungs=())))
        == ()
    )


def test_configurations_are_compared_under_the_same_constraint_only() -> None:
    found = compare(
        results(
            *(
                configuration(s, [x, x * 1.01, x], constraint=c)
                for c in ("1 core", "2 cores")
                for s, x in (("disk", 1000.0), ("memory", 2000.0))
            )
        )
    )
    pairs = {(c.configuration, c.baseline) for c in found}
    assert pairs == {("memory-1 core", "disk-1 core"), ("memory-2 cores", "disk-2 cores")}
    assert "Memory (1 core)" in found[0].sentence


def test_the_baseline_is_the_plan_s_or_else_its_first_storage() -> None:
    assert (
        baseline(results(DISK, MEMORY, baseline="memory", storages={"disk": {}, "memory": {}}))
        == "memory"
    )
    assert baseline(results(MEMORY, DISK, storages={"disk": {}, "memory": {}})) == "disk"
    assert baseline(results(MEMORY, DISK)) == "memory"


def test_few_transactions_leave_p999_uncertain() -> None:
    few = [configuration(name, [1000.0, 1010.0], n=20_000) for name in ("a", "b")]
    assert "n too small: of 20,000 transactions in a run" in compare(results(*few))[2].sentence
    assert "uncertain" not in compare(results(DISK, MEMORY))[2].sentence


# --- the title ------------------------------------------------------------------------------------


def test_the_title_is_the_largest_difference_and_the_subtitle_has_its_interval() -> None:
    found = results(DISK, MEMORY)
    assert (
        headline(found)
        == "Memory: 2.5x disk's NOPM at the knee, 0.50x its mean latency at a fixed rate"
    )
    assert subtitle(found).startswith(
        "NOPM at the knee 2.50x, 150% more (95% CI 2.46x to 2.53x, n=3); mean latency 0.50x"
    )


def test_of_three_storages_the_title_has_the_step_between_the_two_best() -> None:
    found = results(DISK, configuration("raid", [1100.0, 1120.0, 1095.0]), MEMORY)
    assert headline(found) == "Memory: 2.5x disk's NOPM, 2.3x that of raid"
    assert "; NOPM vs. raid 2.27x, 127% more (95% CI 2.23x to 2.30x, n=3)" in subtitle(found)
    equal = configuration("raid", [2510.0, 2530.0, 2475.0])
    alike = headline(results(DISK, MEMORY, equal))
    assert alike == "Raid: 2.5x disk's NOPM, no difference shown to memory"
    worse = configuration("raid", [400.0, 405.0, 398.0])
    assert headline(results(DISK, worse, configuration("b", [1300.0, 1310.0, 1296.0]))) == (
        "Raid: 0.40x disk's NOPM at the knee"
    ), "the better pair is in the cards"


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([1300.0, 1350.0, 1200.0, 1330.0], "B: 1.29x disk's NOPM at the knee"),
        ([1900.0, 1300.0, 1700.0, 1250.0], "B: 1.09x to 2.09x disk's NOPM, not precise enough"),
    ],
)
def test_only_an_interval_whose_ends_differ_by_more_than_half_is_not_precise_enough(
    runs: list[float], said: str
) -> None:
    found = results(configuration("disk", [1000.0] * 4), configuration("b", runs))
    assert headline(found).startswith(said)


def test_the_title_does_not_claim_what_was_not_shown() -> None:
    alike = results(DISK, configuration("b", [1001.0, 1010.0, 996.0]))
    assert headline(alike).startswith("No difference shown between b and disk")
    assert subtitle(alike).startswith("No difference shown in NOPM at the knee (1.0")


def test_the_title_claims_no_latency_that_only_scatters() -> None:
    def scattered(rung: Rung) -> Rung:
        seen = latency(0.001 * 4**rung.order.repeat, 200_000)
        tally = rung.tally.model_copy(update={"latency": seen})
        return rung.model_copy(update={"tally": tally})

    rungs = (scattered(r) if r.order.phase == "fixed_rate" else r for r in MEMORY.rungs)
    found = results(DISK, MEMORY.model_copy(update={"rungs": tuple(rungs)}))
    assert headline(found) == "Memory: 2.5x disk's NOPM at the knee"
    assert "; too uncertain to compare mean latency" in subtitle(found)


def test_one_configuration_alone_gives_its_knee() -> None:
    assert headline(results(DISK)).startswith("Disk: 27,100 NOPM")
    assert headline(results(DISK)).endswith("at 16 users")


def test_two_equal_runs_have_no_interval_in_title_or_subtitle() -> None:
    equal = results(configuration("disk", [1000.0, 1000.0]))
    assert headline(equal) == "Disk: 27,000 NOPM at 16 users"
    assert subtitle(equal) == "NOPM: interval unknown"


def test_the_title_says_simulated_and_data_cached() -> None:
    reads = "device__reads_per_transaction"
    cached = [
        configuration(name, [x, x * 1.01, x], **{reads: 0.01})
        for name, x in (("a", 1000.0), ("b", 2000.0))
    ]
    assert headline(results(*cached)).endswith("(data cached)")
    assert subtitle(results(*cached)).endswith(
        "Data cached: this tests the log and write-back, not reads"
    )
    assert headline(results(*cached, simulated=True)).startswith("Simulated. B: 2.0x a's NOPM")
    assert not data_cached([DISK, MEMORY]), "what was not measured is not said"
    assert not data_cached([cached[0], configuration("c", [1000.0], **{reads: 2.0})])


def test_the_title_takes_a_third_as_much_for_a_larger_difference_than_twice_as_much() -> None:
    third, twice = (
        configuration("slow", [333.0, 337.0, 331.0]),
        configuration("fast", [1900.0, 1923.0, 1890.0]),
    )
    assert headline(results(DISK, twice, third)).startswith("Slow: 0.33x disk's NOPM")


def test_a_title_may_be_as_long_as_the_longest_and_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = headline(found := results(DISK, MEMORY))
    monkeypatch.setattr("kneebench.analysis.headline.LONGEST", len(whole))
    assert headline(found) == whole
    monkeypatch.setattr("kneebench.analysis.headline.LONGEST", len(whole) - 1)
    assert len(headline(found)) < len(whole)


def test_a_campaign_without_a_report_has_no_finding_yet() -> None:
    assert (
        headline(results(Climb(configuration=Configuration(id="x", storage="x"), rungs=())))
        == "No final runs yet"
    )


# --- the knee -------------------------------------------------------------------------------------


def test_the_knee_is_what_the_final_runs_measured_and_the_search_is_never_quoted() -> None:
    lucky = DISK.model_copy(
        update={
            "rungs": (
                rung(Order(configuration="disk", phase="search", users=16), 5000.0),
                *DISK.rungs[1:],
            )
        }
    )
    found = knee(lucky)
    assert found is not None
    assert found.nopm.value == pytest.approx(60 * 0.45 * 1002, rel=0.01)
    assert found.tpm.value == pytest.approx(60 * 1002, rel=0.01)
    assert (found.nopm.n, found.configuration.id) == (3, "disk")


def test_the_interval_of_users_widens_no_figure_of_the_final_runs() -> None:
    wide = DISK.model_copy(update={"bracket": (12, 21)})
    narrow, found = knee(DISK), knee(wide)
    assert narrow is not None and found is not None
    assert (found.users.low, found.users.high) == (12, 21)
    assert (found.nopm, found.latency_s) == (narrow.nopm, narrow.latency_s)
    assert found.p999_s == narrow.p999_s


def test_a_ratio_of_p999_is_among_its_pairs_where_one_run_decides_the_merged_percentile() -> None:
    disk, memory = recorded().climbs
    slow = max(disk.of("fixed_rate"), key=lambda one: one.order.repeat).tally
    late = memory.of("fixed_rate")[0].model_copy(update={"tally": slow})
    rungs = tuple(late if one.order == late.order else one for one in memory.rungs)
    pairs = paired_rungs(memory.model_copy(update={"rungs": rungs}), disk, P999)
    of = [a.tally.latency.p999_s / b.tally.latency.p999_s for a, b in pairs]
    found = paired(memory.model_copy(update={"rungs": rungs}), disk, P999)
    assert found is not None
    assert found.value == pytest.approx(geometric_mean(of))
    assert found.low <= min(of) < found.value < max(of) <= found.high


def test_p999_at_the_knee_is_of_the_merged_histograms_and_never_a_mean_of_percentiles() -> None:
    climb = recorded().climbs[0]
    parts = [r.tally.latency for r in climb.of("final_run") if r.tally.latency]
    found = knee(climb)
    assert found is not None and found.latency is not None
    assert found.latency.n == sum(part.n for part in parts)
    assert found.p999_s.value == found.latency.p999_s
    assert min(p.p999_s for p in parts) <= found.p999_s.value <= max(p.p999_s for p in parts)
    assert "merged histograms" in found.p999_s.method


def test_a_peak_is_claimed_only_when_throughput_was_seen_to_fall() -> None:
    def search_rungs(*points: tuple[int, float]) -> Climb:
        rungs = tuple(
            rung(Order(configuration="disk", phase="search", users=n), x) for n, x in points
        )
        return DISK.model_copy(update={"rungs": (*rungs, *DISK.rungs[1:])})

    flat, falling = (
        knee(search_rungs((12, 900), (16, 1000), (21, 1005), (28, 1004))),
        knee(search_rungs((12, 900), (16, 1000), (21, 1000), (28, 950))),
    )
    assert flat is not None and not flat.peak
    assert falling is not None and falling.peak


def test_without_a_report_or_with_only_invalid_rungs_there_is_no_knee() -> None:
    assert (
        knee(
            Climb(
                configuration=DISK.configuration,
                rungs=DISK.rungs[:1],
                knee_users=16,
                bracket=(12, 21),
            )
        )
        is None
    )
    assert knee(DISK.model_copy(update={"rungs": tuple(map(invalid, DISK.rungs))})) is None


# --- drift ----------------------------------------------------------------------------------------


def test_drift_is_told_beyond_the_noise_floor_only() -> None:
    def again(x: float) -> Climb:
        return DISK.model_copy(
            update={
                "rungs": (
                    *DISK.rungs,
                    rung(Order(configuration="disk", phase="drift_check", users=16), x),
                )
            }
        )

    little, much = drift(again(990.0)), drift(again(900.0))
    assert little is not None and not little.matters
    assert much is not None and much.matters
    assert (
        much.sentence
        == "Drift: the first rung (16 users), repeated last, was 10% slower, beyond its noise of 2%"
    )
    assert drift(DISK) is None
    floored = drift(again(900.0), floor=0.15)
    assert floored is not None and not floored.matters
