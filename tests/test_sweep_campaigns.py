"""Whole sweeps on the simulated engine: configurations, their order, their control, configurations
added later.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kneebench import run
from kneebench.analysis.control import control, control_caveats
from kneebench.campaign.expected_duration import configuration_findings, expected_duration
from kneebench.campaign.preflight import preflight_checks
from kneebench.databases.several import engine_of
from kneebench.lab.host import host
from kneebench.lab.journal import Journal
from kneebench.ladder.saturating import next_try, saturated
from kneebench.plan.configurations import configurations
from kneebench.plan.duration import expected
from kneebench.plan.preset import preset_text
from kneebench.plan.reader import parse_plan
from kneebench.plan.study import Study
from kneebench.records import Configuration, Event, Order, Results, Setting
from kneebench.results import load
from kneebench.results.joining import sized_otherwise, with_configurations
from kneebench.screen.summary import printed, results_json
from tests.swept import BUSY, READS
from tests.swept import sweep_plan as plan

SIZES = ["10%", "40%", "100%"]


def measured(watched: list[Order]):
    def watch(event: Event) -> None:
        if event.kind == "rung" and not event.data["kept"]:
            watched.append(event.data["rung"].order)

    return watch


@pytest.fixture(scope="module")
def orders() -> list[Order]:
    return []


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, orders: list[Order]) -> Results:
    return run(plan({"memory": SIZES}), tmp_path_factory.mktemp("sweep"), watch=measured(orders))


def test_a_sweep_has_a_configuration_for_each_size_and_more_memory_means_more_throughput(
    results: Results,
) -> None:
    assert [climb.configuration.name for climb in results.climbs] == [
        f"disk ({size} of the data)" for size in SIZES
    ]
    nopm = [climb.of("final_run")[0].tally.nopm for climb in results.climbs]
    assert nopm[0] < 0.7 * nopm[1] and nopm[1] < nopm[2]
    assert [climb.configuration.memory_bytes for climb in results.climbs] == [
        4 * 10**9,
        16 * 10**9,
        40 * 10**9,
    ]
    assert load(results.folder or "").climbs == results.climbs


def test_configurations_are_measured_in_blocks_there_and_back(
    results: Results, orders: list[Order]
) -> None:
    small, middle, large = (climb.id for climb in results.climbs)
    assert [one.configuration for one in orders if one.phase == "fixed_load"] == [
        small,
        large,
        middle,
    ]
    assert [one.configuration for one in orders if one.phase == "final_run"] == [
        *(small, large, middle),
        *(middle, large, small),
    ]
    assert not [one for one in orders if one.phase == "fixed_rate"]


def test_programs_get_storage_and_constraint_and_people_the_name_of_the_configuration(
    results: Results,
) -> None:
    document = results_json(results)
    assert document["configurations"][0]["storage"] == "disk"
    assert document["configurations"][0]["constraint"] == "10% of the data"
    assert document["rungs"][0]["constraint"] == "10% of the data"
    assert set(results.campaign.servers) == {climb.id for climb in results.climbs}
    assert list(printed(results))


def test_the_cores_of_a_fixed_load_are_checked_on_each_configuration(tmp_path: Path) -> None:
    results = run(plan({"cores": [1, 8]}, storages={"disk": {"simulated": BUSY}}), tmp_path)
    few, many = results.climbs
    assert len(results.campaign.servers[few.configuration.id].cores) == 1
    passed, failed = control(few), control(many)
    assert passed and passed.passed and passed.limit == "97%"
    assert failed and not failed.passed
    [caveat] = control_caveats(results)
    assert caveat.startswith("Disk (8 cores): the least busy database core was ")
    assert results_json(results)["controls"][few.configuration.id]["passed"]


def test_a_reference_warms_at_least_as_long_as_the_largest_size(tmp_path: Path) -> None:
    """The largest has memory to fill; the reference would look steady after a few seconds."""
    auto = {**plan({}).ladder.model_dump(), "warm_up": "auto", "warm_up_limit": "20s"}
    swept = plan({"memory": ["10%", "100%"], "reference": True}, ladder=auto)
    seen: list[Order] = []
    results = run(swept, tmp_path, watch=measured(seen))
    *_, largest, reference = results.climbs
    assert reference.configuration.reference
    phases = ("fixed_load", "final_run")
    for repeat in (0, 1, 2):
        before = seen[
            : next(n for n, one in enumerate(seen) if _is(one, reference.configuration, repeat))
        ]
        longest_s = max(
            rung.warm_up_s
            for rung in largest.of(*phases)
            if any(rung.order.key == one.key for one in before)
        )
        (own,) = (rung for rung in reference.of(*phases) if rung.order.repeat == repeat)
        assert own.warm_up_s >= longest_s > 30


def _is(order: Order, configuration: Configuration, repeat: int) -> bool:
    return order.configuration == configuration.id and order.repeat == repeat


def test_check_prints_the_configurations_in_running_order_with_time_and_bytes(
    tmp_path: Path,
) -> None:
    swept = plan({"memory": SIZES, "reference": True})
    found = preflight_checks(
        Study(swept), engine_of(Study(swept).databases, Journal(tmp_path)), Journal(tmp_path)
    )
    lines = [one for one in found if one.subject.startswith("configuration ")]
    assert [one.seen.partition(":")[0] for one in lines] == [
        "disk (10% of the data)",
        "disk (100% of the data)",
        "disk (40% of the data)",
        "disk (reference)",
    ]
    (tmp_path / "disk").mkdir()
    real = plan(
        {"engine_memory": ["1GiB", "2GiB"]},
        database={},
        storages={"disk": {"path": tmp_path / "disk"}},
    )
    databases, parts = Study(real).databases, expected_duration(Study(real), host())
    first, _ = configuration_findings(configurations(real), databases, parts)
    assert first.subject == "configuration 1 of 2" and "3 restores of up to" in first.seen


def test_a_sweep_that_is_stopped_goes_on_with_the_next_configuration(tmp_path: Path) -> None:
    class Stopped(BaseException):
        pass

    seen: list[Order] = []

    def stopping(event: Event) -> None:
        measured(seen)(event)
        if len(seen) == 5:
            raise Stopped

    swept = plan({"memory": SIZES})
    with pytest.raises(Stopped):
        run(swept, tmp_path, watch=stopping)
    rest: list[Order] = []
    results = run(swept, tmp_path, watch=measured(rest))
    assert results.finished
    assert len(seen) + len(rest) == 9 and not {o.key for o in seen} & {o.key for o in rest}


def test_configurations_that_a_plan_adds_join_its_finished_campaign_and_alone_are_measured(
    tmp_path: Path,
) -> None:
    ladder = {**plan({}).ladder.model_dump(), "fixed_rate_share": 0.7}
    first = run(plan({"memory": SIZES[1:]}, ladder=ladder), tmp_path)
    seen: list[Order] = []
    wider = plan({"memory": SIZES}, ladder=ladder)
    results = run(wider, tmp_path, watch=measured(seen))
    assert results.folder == first.folder and results.finished
    assert {order.configuration for order in seen} == {"disk-10-of-the-data"}
    assert [climb.configuration.constraint[:3] for climb in results.climbs] == ["10%", "40%", "100"]
    assert results.climbs[1:] == first.climbs
    rates = {rung.order.rate_per_s for one in results.climbs for rung in one.of("fixed_rate")}
    assert len(rates) == 1
    [note] = results.campaign.notes
    assert note.startswith("disk (10% of the data) joined this campaign at ")
    small, large = results.climbs[0].configuration.id, results.climbs[2].configuration.id
    assert not results.campaign.interleaved(small, large)
    assert load(results.folder or "").climbs == results.climbs


def test_configurations_join_at_the_rate_that_was_chosen_last(tmp_path: Path) -> None:
    ladder = {**plan({}).ladder.model_dump(), "fixed_rate_share": 0.7}
    results = run(plan({"memory": SIZES[1:]}, ladder=ladder), tmp_path)
    kept = [rung for climb in results.climbs for rung in climb.rungs]
    last = next(rung for rung in kept if rung.order.phase == "fixed_rate")
    again = last.order.model_copy(update={"rate_per_s": 1.0, "users": 7})
    chosen = with_configurations(
        results.campaign,
        Study(plan({"memory": SIZES}, ladder=ladder)),
        [Configuration(id="late", storage="late")],
        [*kept, last.model_copy(update={"order": again})],
    )
    assert chosen.fixed_rate == again


def test_a_configuration_that_joins_with_another_log_size_is_noted(tmp_path: Path) -> None:
    campaign = run(plan({}), tmp_path).campaign
    before, joined = (Configuration(id=name, storage=name) for name in ("disk", "ssd"))
    settings = {
        id: tuple(
            Setting(name=name, value=value, source="rule", matters=True)
            for name, value in (("shared_buffers", cache), ("max_wal_size", size), ("jit", "off"))
        )
        for id, cache, size in (("disk", "1GB", "2GB"), ("ssd", "2GB", "1GB"))
    }
    kept = campaign.model_copy(update={"settings": settings, "joined": {"ssd": "now"}})
    said = sized_otherwise(kept, joined, ("max_wal_size", "min_wal_size"))
    assert said.startswith("ssd joined with other server settings: max_wal_size 1GB (was 2GB). ")
    assert sized_otherwise(kept, before, ("max_wal_size",)) == ""
    assert sized_otherwise(kept, joined, ("jit",)) == ""


def test_another_plan_or_an_added_storage_with_another_baseline_is_a_campaign_of_its_own(
    tmp_path: Path,
) -> None:
    first = run(plan({"memory": SIZES[1:]}), tmp_path)
    other = run(plan({"memory": SIZES}, seed=7), tmp_path)
    two = {"disk": {"simulated": READS}, "ssd": {"simulated": BUSY}}
    based = run(plan({"memory": SIZES[1:]}, storages=two, baseline="ssd"), tmp_path)
    fewer = run(plan({"memory": SIZES[2:]}), tmp_path)
    added = run(plan({"memory": SIZES[1:]}, storages=two), tmp_path)
    assert len({one.folder for one in (first, other, based, fewer)}) == 4
    assert added.folder == first.folder


def test_saturating_cores_are_the_most_that_the_load_keeps_busy_and_are_found_once(
    tmp_path: Path,
) -> None:
    found = run(
        plan(
            {"cores": "saturating", "memory": ["50%", "100%"]},
            storages={"disk": {"simulated": BUSY}},
        ),
        tmp_path,
    )
    tried, [note] = found.campaign.saturation, found.campaign.notes
    [number] = {climb.configuration.cores for climb in found.climbs}
    assert number and 1 <= number < 8 and tried[number] >= 0.97 > tried[number + 1]
    assert note.startswith(f"{number} saturating cores: the most that 24 users keep at least 97%")
    assert "disk (saturating cores, 100% of the data)" in note
    assert {len(server.cores) for server in found.campaign.servers.values()} == {number}
    assert load(found.folder or "").climbs == found.climbs


def test_the_search_for_saturating_cores_ends_at_the_bend() -> None:
    for most in (1, 2, 7, 64):
        for bend in range(most + 1):
            tried: dict[int, float] = {}
            while (number := next_try(tried, most, 0.97)) is not None:
                assert number not in tried
                tried[number] = 1.0 if number <= bend else bend / number * 0.97
            assert saturated(tried, 0.97) == max(1, bend)
            assert len(tried) <= 8


def test_the_memory_preset_has_six_sizes_and_four_times_the_largest_as_data() -> None:
    swept = parse_plan(preset_text("memory"))
    found = configurations(swept)
    assert len(found) == 6 and swept.ladder.fixed and swept.ladder.repeats >= 3
    data_bytes = Study(swept).only_database.data_bytes
    assert data_bytes >= 4 * max(configuration.memory_bytes or 0 for configuration in found)
    assert expected(Study(swept).databases, host()).total_s < 65 * 60, "its first lines say an hour"
