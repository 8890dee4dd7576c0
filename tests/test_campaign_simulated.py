"""Whole campaigns on the simulated engine: the knee is where the model says, and a killed campaign
goes on.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kneebench import run
from kneebench.analysis.outcome import conditions, exit_code, failed_checks
from kneebench.brief import Brief
from kneebench.campaign.machines.machine import DatabaseMachine
from kneebench.campaign.restored import Context, Restored
from kneebench.databases.engines.simulated.engine import SimulatedEngine
from kneebench.databases.engines.simulated.server import Simulated
from kneebench.databases.several import engine_of
from kneebench.lab.host import host
from kneebench.lab.journal import Journal
from kneebench.ladder.fixed_rate import FixedRate
from kneebench.plan import Plan
from kneebench.plan.ladder import Ladder
from kneebench.plan.study import Study
from kneebench.records import Check, Event, Results, Watch, Whereabouts
from kneebench.results import Store, load
from kneebench.results.campaign_reader import kept_rungs
from tests.simulated_campaign import FAST, SLOW, finished, plan
from tests.simulated_truth import bound


def fixed_load() -> Plan:
    """The same storages without a climb, for what happens in final runs."""
    ladder = {
        "users": 24,
        "warm_up": "5s",
        "window": "10s",
        "final_window": "10s",
        "checkpoints": 0,
        "repeats": 2,
    }
    return plan(ladder=ladder)


SHORT_CLIMB = {
    "users": [4, 8],
    "step": 2,
    "warm_up_limit": "6s",
    "window": "6s",
    "final_window": "6s",
    "checkpoints": 0,
    "repeats": 2,
}


def short_climb(**tables: object) -> Plan:
    """The same storages with a climb of two rungs, for what happens between rungs."""
    return plan(ladder=SHORT_CLIMB, **tables)


@pytest.mark.parametrize("warm_up", ["5s", "auto"])
def test_long_final_runs_begin_after_as_many_transactions_on_a_slow_storage(
    warm_up: str, tmp_path: Path
) -> None:
    asked = fixed_load()
    ladder = {**asked.ladder.model_dump(exclude_unset=True), "warm_up": warm_up, "rounds": "long"}
    results = run(plan(ladder=ladder), tmp_path)
    fast, slow = ([rung.age_transactions for rung in c.of("final_run")] for c in results.climbs)
    assert fast[1:] == pytest.approx(slow[1:], rel=0.2)
    longer_s = results.climbs[1].of("final_run")[-1].warm_up_s
    assert longer_s > 1.5 * results.climbs[0].of("final_run")[-1].warm_up_s


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return load(finished(plan(), tmp_path_factory.mktemp("campaigns")))


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run(short_climb(), tmp_path_factory.mktemp("short"))


@pytest.fixture(scope="module")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run(fixed_load(), tmp_path_factory.mktemp("fixed"))


def test_a_campaign_ends_with_a_knee_for_each_storage(results: Results) -> None:
    assert results.finished
    assert [climb.configuration.storage for climb in results.climbs] == ["fast", "slow"]
    for climb in results.climbs:
        assert climb.knee_users
        assert climb.stopped_by
        assert len(climb.of("final_run")) == 3
        assert len(climb.of("fixed_rate")) == 3
        assert all(check.passed for check in climb.checks)
        assert all(check.passed for rung in climb.rungs for check in rung.checks), [
            c for r in climb.rungs for c in r.checks if not c.passed
        ]


def test_the_knee_reaches_what_the_model_can_do(results: Results) -> None:
    for climb in results.climbs:
        storage = plan().storages[climb.configuration.storage].simulated
        assert storage
        most = bound(storage)
        for rung in climb.of("final_run"):
            assert 0.8 * most < rung.tally.throughput_per_s < 1.05 * most


def test_both_storages_are_driven_at_one_rate_for_their_latency(results: Results) -> None:
    rates = {rung.order.rate_per_s for climb in results.climbs for rung in climb.of("fixed_rate")}
    assert len(rates) == 1
    for climb in results.climbs:
        for rung in climb.of("fixed_rate"):
            assert rung.tally.throughput_per_s == pytest.approx(rates.copy().pop(), rel=0.1)


def test_a_climb_on_a_database_that_was_warming_is_repeated_and_only_the_second_counts(
    tmp_path: Path,
) -> None:
    filling = {**SLOW, "warm_after": 24_000, "cold_reads_per_transaction": 10.0}
    ladder = {
        "users": [1, 64],
        "step": 2,
        "warm_up_limit": "6s",
        "window": "10s",
        "final_window": "10s",
        "checkpoints": 0,
        "repeats": 1,
    }
    results = run(plan(storages={"slow": {"simulated": filling}}, ladder=ladder), tmp_path)
    (climb,) = results.climbs
    flags = [v.sentence for v in climb.stop_results if v.severity == "caveat"]
    assert [one.partition(":")[0] for one in flags] == [
        "Climb repeated",
        "The knee is not to be trusted",
    ], "it is still warming"
    assert {rung.order.repeat for rung in climb.of("search", "bisection", "drift_check")} == {1}
    assert results.folder
    first = [
        rung
        for rung in kept_rungs(results.folder)
        if rung.order.configuration == climb.id
        and rung.order.phase == "search"
        and not rung.order.repeat
    ]
    assert first, "the first climb is kept"
    assert climb.of("search")[0].tally.nopm > 1.25 * first[0].tally.nopm
    assert load(results.folder).climbs == results.climbs


def test_only_the_first_rung_on_a_restored_database_may_warm_three_times_as_long(
    tmp_path: Path,
) -> None:
    ladder = {**SHORT_CLIMB, "repeats": 1}
    filling = {
        **FAST,
        "read_latency": "1ms",
        "warm_after": 2_000,
        "cold_reads_per_transaction": 20.0,
    }
    climb = run(plan(storages={"slow": {"simulated": filling}}, ladder=ladder), tmp_path).climbs[0]
    warm_ups_s = {rung.order.key: rung.warm_up_s for rung in climb.rungs}
    assert (
        6 < warm_ups_s["slow.warm_up-8"] <= 18
        and warm_ups_s["slow.search-4"] <= 6
        and 6 < warm_ups_s[climb.of("final_run")[0].order.key] <= 18
    )
    assert warm_ups_s["slow.search-8"] <= 6


class Killed(BaseException):
    """Ends a campaign as abruptly as Python can."""


def test_a_killed_campaign_goes_on_at_the_next_rung_and_ends_as_if_nothing_had_been(
    short: Results, tmp_path: Path
) -> None:
    seen: list[str] = []

    def killer(event: Event) -> None:
        if event.kind == "rung" and not event.data["kept"]:
            seen.append(event.doing)
            if len(seen) in (3, 9):
                raise Killed

    for _ in range(2):
        with pytest.raises(Killed):
            run(short_climb(), tmp_path, watch=killer)
    again = run(short_climb(), tmp_path, watch=killer)
    assert again.finished
    assert len(list(tmp_path.glob("*/campaign.json"))) == 1
    assert again.folder
    assert len(seen) == len(kept_rungs(again.folder))
    for one, other in zip(short.climbs, again.climbs, strict=True):
        assert one.configuration == other.configuration
        assert (
            abs(one.of("final_run")[0].tally.nopm / other.of("final_run")[0].tally.nopm - 1) < 0.15
        )


def test_a_climb_that_is_gone_on_with_warms_its_restored_database_again(tmp_path: Path) -> None:
    filling = {
        **FAST,
        "read_latency": "1ms",
        "warm_after": 3_000,
        "cold_reads_per_transaction": 20.0,
    }
    ladder = {
        "users": [1, 16],
        "step": 2,
        "climb_again": False,
        "warm_up_limit": "30s",
        "window": "10s",
        "final_window": "10s",
        "checkpoints": 0,
        "repeats": 1,
    }
    asked = plan(storages={"slow": {"simulated": filling}}, ladder=ladder)

    def killer(event: Event) -> None:
        if event.kind == "rung" and event.data["rung"].order.phase == "search":
            raise Killed

    with pytest.raises(Killed):
        run(asked, tmp_path, watch=killer)
    told: list[str] = []
    (climb,) = run(asked, tmp_path, watch=lambda event: told.append(event.doing)).climbs
    assert [one for one in told if one.startswith("resuming")] == [
        f"resuming {next(tmp_path.iterdir()).name} (2 rungs already measured)"
    ]
    assert [rung.order.phase for rung in climb.rungs].count("warm_up") == 1
    before, after = (
        rung.quantities["device.reads"].value / rung.tally.throughput_per_s
        for rung in climb.of("search")[:2]
    )
    assert after == pytest.approx(before, rel=0.2), "reads per transaction"


def test_a_campaign_that_was_stopped_in_its_report_gives_the_figures_of_one_that_never_was(
    short: Results, tmp_path: Path
) -> None:
    def stopper(event: Event) -> None:
        if (
            event.kind == "rung"
            and event.data["rung"].order.phase == "fixed_rate"
            and not event.data["kept"]
        ):
            raise Killed

    repetitions = sum(len(climb.of("fixed_rate")) for climb in short.climbs)
    for _ in range(repetitions):
        with pytest.raises(Killed):
            run(short_climb(), tmp_path, watch=stopper)
    again = run(short_climb(), tmp_path, watch=stopper)
    assert len(list(tmp_path.glob("*/campaign.json"))) == 1
    for one, other in zip(short.climbs, again.climbs, strict=True):
        assert [rung.tally.nopm for rung in one.rungs] == [rung.tally.nopm for rung in other.rungs]
        repeats = [rung.tally.nopm for rung in other.of("final_run")]
        assert len(set(repeats)) == len(repeats), "each from a restore of its own"


def test_a_repetition_interrupted_after_its_knee_loads_the_restored_database_before_its_latency(
    fixed: Results, tmp_path: Path
) -> None:
    def stopper(event: Event) -> None:
        if (
            event.kind == "rung"
            and event.data["rung"].order.phase == "final_run"
            and not event.data["kept"]
        ):
            raise Killed

    for _ in range(sum(len(climb.of("final_run")) for climb in fixed.climbs)):
        with pytest.raises(Killed):
            run(fixed_load(), tmp_path, watch=stopper)
    again = run(fixed_load(), tmp_path, watch=stopper)
    for one, other in zip(fixed.climbs, again.climbs, strict=True):
        assert [rung.tally for rung in one.of("fixed_rate")] == [
            rung.tally for rung in other.of("fixed_rate")
        ]


def test_the_fixed_rate_is_a_share_of_the_first_final_run_and_is_the_same_after_a_resume(
    short: Results, tmp_path: Path
) -> None:
    def stopper(event: Event) -> None:
        if (
            event.kind == "rung"
            and event.data["rung"].order.phase in ("final_run", "fixed_rate")
            and not event.data["kept"]
        ):
            raise Killed

    for _ in range(4):
        with pytest.raises(Killed):
            run(short_climb(), tmp_path, watch=stopper)
    lowest = min(climb.of("final_run")[0].tpm / 60 for climb in short.climbs)
    for one in (short, run(short_climb(), tmp_path)):
        assert {
            rung.order.rate_per_s for climb in one.climbs for rung in climb.of("fixed_rate")
        } == {round(0.7 * lowest, 3)}


def test_a_kept_rung_of_another_rate_is_measured_again(tmp_path: Path) -> None:
    of_the_ladder = FixedRate.__init__

    def halved(rate: FixedRate, ladder: Ladder, *others: Any, **more: Any) -> None:
        half = {"fixed_rate_share": ladder.fixed_rate_share / 2}
        of_the_ladder(rate, ladder.model_copy(update=half), *others, **more)

    def stopper(event: Event) -> None:
        if event.kind == "rung" and event.data["rung"].order.phase == "fixed_rate":
            raise Killed

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        patch.setattr(FixedRate, "__init__", halved)
        run(fixed_load(), tmp_path, watch=stopper)
    [file] = tmp_path.glob("*/rungs/*.fixed_rate-*.json")
    kept = json.loads(file.read_text())["rung"]["order"]["rate_per_s"]
    again = run(fixed_load(), tmp_path)
    [rate] = {rung.order.rate_per_s for climb in again.climbs for rung in climb.of("fixed_rate")}
    assert rate == pytest.approx(2 * kept)


def test_conditions_are_asked_of_a_database_that_was_under_load_also_when_every_rung_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_of: list[float] = []

    def conditions(server: Simulated, watch: Watch) -> Sequence[Check]:
        asked_of.append(server.now_s())
        if len(asked_of) == 1:
            raise Killed
        return real(server, watch)

    real = Simulated.conditions
    monkeypatch.setattr(Simulated, "conditions", conditions)
    one = short_climb(storages={"fast": {"simulated": FAST}})
    with pytest.raises(Killed):
        run(one, tmp_path)
    results = run(one, tmp_path)
    assert asked_of[1] > 0, "a clock that stands at 0 is a database that nobody used"
    assert all(check.passed for check in results.climbs[0].checks)
    assert any("resumed on a freshly restored database" in note for note in results.campaign.notes)


def test_a_fixed_load_is_one_rung_and_its_report(fixed: Results) -> None:
    for climb in fixed.climbs:
        assert {rung.users for rung in climb.of("fixed_load", "final_run")} == {24}
        assert not climb.of("search")


def test_a_campaign_measured_by_another_kneebench_is_not_gone_on_with(tmp_path: Path) -> None:
    def killer(event: Event) -> None:
        if event.kind == "rung":
            raise Killed

    with pytest.raises(Killed):
        run(fixed_load(), tmp_path, watch=killer)
    (head,) = tmp_path.glob("*/campaign.json")
    head.write_text(head.read_text().replace('"kneebench": "', '"kneebench": "0.0.1-'))
    told: list[Event] = []
    again = run(fixed_load(), tmp_path, watch=told.append)
    assert again.finished
    assert again.folder != head.parent
    assert any(
        event.kind == "warning" and "starting a new campaign" in event.doing for event in told
    )
    assert not any(event.kind == "rung" and event.data["kept"] for event in told)


def test_rungs_and_verdicts_of_a_climb_that_is_kept_are_told_too(tmp_path: Path) -> None:
    def killer(event: Event) -> None:
        if event.kind == "rung" and event.data["rung"].order.configuration == "slow":
            raise Killed

    with pytest.raises(Killed):
        run(short_climb(), tmp_path, watch=killer)
    told: list[Event] = []
    again = run(short_climb(), tmp_path, watch=told.append)
    assert again.folder
    assert sum(event.kind == "rung" for event in told) == len(kept_rungs(again.folder))
    assert any(event.kind == "stop" and event.doing == "fast" for event in told)


def test_the_climb_of_a_server_by_url_begins_at_one_user_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        SimulatedEngine, "where", lambda engine, configuration: Whereabouts(seen="elsewhere")
    )
    url = {
        "database": {"url": "postgresql://bench@db.example/kneebench"},
        "storages": {"there": {"url": "postgresql://bench@db.example/kneebench"}},
    }
    remote = plan(**{**url, "ladder": {"users": [0, 64]}})
    store = Store.create(tmp_path, Study(remote), host())
    engine = engine_of(Study(plan()).databases, Journal(tmp_path / "journal"))
    study, machine = Study(remote), DatabaseMachine()
    parts = study.databases, study.configurations
    context = Context(*parts, engine, store, lambda event: None, machine)
    assert next(Restored(context, study.configurations[0]).climb()).users == 8
    assert "the climb started at 1 user" in store.finish().campaign.notes[0]


def test_the_data_of_each_final_run_are_asked_the_conditions_and_a_broken_one_ends_with_4(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, repetitions = short_climb(storages={"fast": {"simulated": FAST}}), 2
    whole = run(one, tmp_path / "whole")
    (climb,) = whole.climbs
    assert [when for when, _ in conditions(climb)] == [
        "after the climb",
        *(f"after final run {n + 1} at {climb.knee_users} users" for n in range(repetitions)),
    ]
    assert all(checks and all(check.passed for check in checks) for _, checks in conditions(climb))

    real, calls = Simulated.conditions, []

    def broken_at_the_end(server: Simulated, watch: Watch) -> Sequence[Check]:
        calls.append(server)
        checks = real(server, watch)
        return (
            checks
            if len(calls) <= repetitions
            else [checks[0].model_copy(update={"passed": False}), *checks[1:]]
        )

    monkeypatch.setattr(Simulated, "conditions", broken_at_the_end)
    broken = run(one, tmp_path / "broken")
    assert exit_code(broken) == 4
    assert [sentence.partition(": ")[0] for sentence in failed_checks(broken)] == [
        f"fast, after final run {repetitions} at {broken.climbs[0].knee_users} users"
    ]
    assert f"fast, after final run {repetitions}" in Brief(broken).html()


def test_a_campaign_killed_while_it_asked_after_a_final_run_asks_a_loaded_database_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, asked_of = Simulated.conditions, []

    def killed_at_the_second(server: Simulated, watch: Watch) -> Sequence[Check]:
        asked_of.append(server.now_s())
        if len(asked_of) == 2:
            raise Killed
        return real(server, watch)

    monkeypatch.setattr(Simulated, "conditions", killed_at_the_second)
    one = short_climb(storages={"fast": {"simulated": FAST}})
    with pytest.raises(Killed):
        run(one, tmp_path)
    (climb,) = run(one, tmp_path).climbs
    assert asked_of[2] > 0, "a clock that stands at 0 is a database that nobody used"
    assert len(asked_of) == 2 + 2, "the climb is not asked again"
    assert len(climb.final_checks) == 2
