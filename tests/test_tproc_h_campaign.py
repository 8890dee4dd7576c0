"""Campaigns of TPROC-H on real servers: passes over two queries, from cold and once more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kneebench import Plan, load, run
from kneebench.analysis.outcome import exit_code, failed_checks
from kneebench.analysis.query_times import base_climbs, figures, numbers, query_speed, speed
from kneebench.brief.page import Brief
from kneebench.cli import app
from kneebench.databases.tproc_h import answers
from kneebench.errors import CheckFailed, InvalidMeasurement, KneebenchError
from kneebench.plan.reader import parse_plan
from kneebench.plan.study import Study
from kneebench.records import Climb, Remark, Results, Rung
from kneebench.results.acceptance import accept
from kneebench.results.cross_campaign import compare_campaigns
from kneebench.results.given_campaigns import told_apart
from kneebench.results.trend import trends
from tests.mariadb_elsewhere import WITHOUT_MARIADB
from tests.query_plan import plan_on
from tests.recordings import recorded


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Any:
    place = tmp_path_factory.mktemp("queries")
    return run(plan_on(place, "postgres"), folder=place)


def test_each_query_is_run_cold_and_once_more_on_each_storage_in_each_pass(measured: Any) -> None:
    found = [
        (rung.order.configuration, rung.order.repeat, rung.order.query, rung.order.phase)
        for climb in measured.climbs
        for rung in climb.rungs
    ]
    assert len(found) == len({*found}) == 2 * 2 * 2 * 2
    assert numbers(measured) == (1, 6)


def test_every_answer_is_right_and_all_rows_are_there(measured: Any) -> None:
    checks = [check for climb in measured.climbs for rung in climb.rungs for check in rung.checks]
    assert {check.name for check in checks} == {"answers"}
    assert len(checks) == 16
    assert all(check.passed for check in checks)
    rows = [check for climb in measured.climbs for check in climb.checks]
    assert [(one.name, one.passed) for one in rows] == [("rows", True)] * 2


def test_a_cold_run_reads_its_data_and_the_next_one_finds_it_in_memory(measured: Any) -> None:
    """By what its devices read, of two passes the less disturbed one."""
    for number in (1, 6):
        cold, again = (
            min(
                rung.quantities["device.read_bytes"].value * rung.tally.window_s
                for rung in measured.climbs[0].of(phase)
                if rung.order.query == number
            )
            for phase in ("query", "warm_query")
        )
        assert cold > 10e6, "more than half of lineitem"
        assert again < cold / 2


@WITHOUT_MARIADB
def test_mariadb_answers_right_and_reads_its_data_from_cold_too(tmp_path: Path) -> None:
    plan = plan_on(tmp_path, "mariadb", queries=[6])
    ladder = plan.ladder.model_copy(update={"repeats": 1})
    results = run(plan.model_copy(update={"ladder": ladder}), folder=tmp_path)
    assert list(failed_checks(results)) == []
    cold, again = (results.climbs[0].of(phase)[0] for phase in ("query", "warm_query"))
    assert [check.passed for check in (*cold.checks, *again.checks)] == [True, True]
    assert cold.quantities["device.read_bytes"].value * cold.tally.window_s > 10e6
    assert [(one.name, one.passed) for one in results.climbs[0].checks] == [("rows", True)]


def test_storages_are_compared_by_pairs_of_passes(measured: Any) -> None:
    disk, other = measured.climbs
    each = [query_speed(other, disk, number) for number in (1, 6)]
    whole = speed(other, disk)
    assert whole and all(each)
    assert whole.n == 2
    product = each[0].value * each[1].value
    assert whole.value == pytest.approx(product**0.5, rel=1e-6)
    assert figures(disk, 6).took_s.n == 2


def test_the_brief_has_the_queries_and_no_new_orders(measured: Any, tmp_path: Path) -> None:
    page = Brief(load(measured.folder)).html()
    assert "over queries 1 and 6" in page or "No difference shown" in page
    assert "Derived from TPC-H" in page
    assert "NOPM" not in page
    assert "New-Order" not in page


def test_a_wrong_answer_is_a_failed_check_and_exit_code_4(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = answers.Reference.answer
    monkeypatch.setattr(
        answers.Reference, "answer", lambda self, statement: [*right(self, statement), ("1",)]
    )
    results = run(plan_on(tmp_path, "postgres", queries=[6], cache="warm"), folder=tmp_path)
    assert exit_code(results) == CheckFailed.exit_code == 4
    said = next(failed_checks(results))
    assert said.startswith("disk, query 6: Of the answers, query 6 has 1 row in place of 2")


def test_a_query_beyond_its_limit_is_cancelled_and_named(tmp_path: Path) -> None:
    plan = plan_on(tmp_path, "postgres", queries=[1], query_limit="20ms", cache="warm")
    results = run(plan, folder=tmp_path)
    runs = [rung for climb in results.climbs for rung in climb.rungs]
    assert all("query 1 was cancelled after 0.02 s" in rung.invalid for rung in runs)
    assert all(rung.tally.window.failed == 1 for rung in runs)
    assert figures(results.climbs[0], 1).cancelled == 2
    page = Brief(results).html()
    assert "cancelled" in page


def test_a_query_without_room_for_its_temporary_files_ends_the_campaign_and_loses_nothing(
    tmp_path: Path,
) -> None:
    plan = plan_on(tmp_path, "postgres", queries=[6, 9], cache="warm")
    small = {"work_mem": "64kB", "temp_file_limit": "512kB"}
    database = plan.database.model_copy(update={"settings": small})
    with pytest.raises(KneebenchError) as caught:
        run(plan.model_copy(update={"database": database}), folder=tmp_path / "out")
    assert "temp_file_limit" in caught.value.seen
    [folder] = (tmp_path / "out").iterdir()
    assert [rung.order.query for rung in load(folder).climbs[0].rungs] == [6]
    assert [*(tmp_path / "disk").iterdir()] == []


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ('type = "tproc-h"\nwarehouses = 8', 'not with type = "tproc-h"'),
        ("scale = 10", 'not with type = "tproc-c"'),
        ('type = "tproc-h"\nqueries = [23]', "22"),
        ('type = "tproc-h"\nstreams = 0', "from 1 to 1000"),
        ('type = "tproc-h"\nstreams = [8, 1]', "the first not above the last"),
    ],
)
def test_a_plan_that_mixes_both_workloads_is_refused_with_the_key(written: str, said: str) -> None:
    text = f'storages.disk.path = "."\n[workload]\n{written}\n'
    with pytest.raises(KneebenchError) as caught:
        parse_plan(text)
    assert said in str(caught.value)


CHECKED = """
[workload]
type = "tproc-h"
[ladder]
load_levels = true
[databases.own]
engine = "postgres"
[databases.other]
engine = "mariadb"
url = "mariadb://root@127.0.0.1:1/none"
[storages]
disk = { path = "." }
"""


def test_check_says_what_will_be_run_and_what_queries_do_not_have(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(CHECKED)
    shown = CliRunner().invoke(app, ["check", str(file), "--json"])
    found = {one["subject"]: one for one in json.loads(shown.output)}
    assert found["queries"]["seen"] == "the 22 queries, cold, 3 to 3 passes"
    assert found["workload.cache"]["level"] == found["ladder.load_levels"]["level"] == "error"


def test_warm_queries_find_their_data_in_memory_from_the_first_pass_on(tmp_path: Path) -> None:
    plan = plan_on(tmp_path, "postgres", queries=[6], cache="warm")
    disk = run(plan, folder=tmp_path / "out").climbs[0]
    read = [
        rung.quantities["device.read_bytes"].value * rung.tally.window_s
        for rung in disk.of("query")
    ]
    assert len(read) == 2
    assert min(read) < 5e6, "a cold run reads more than half of lineitem"
    assert disk.of("warm_query") == ()


def test_each_size_of_memory_is_compared_with_the_baseline_of_its_size() -> None:
    sizes = {"memory": ["1GiB", "2GiB"]}
    storages = {name: {"path": f"/{name}"} for name in ("a", "b")}
    plan = Plan.model_validate(
        {"workload": {"type": "tproc-h"}, "constraints": sizes, "storages": storages}
    )
    climbs = tuple(Climb(configuration=one, rungs=()) for one in Study(plan).configurations)
    head = recorded().campaign
    resolved = head.resolved.model_copy(update={"baseline": "a"})
    campaign = head.model_copy(update={"resolved": resolved})
    bases = base_climbs(Results(campaign=campaign, climbs=climbs))
    found = {id_: base.configuration.constraint for id_, base in bases.items()}
    assert found == {one.configuration.id: one.configuration.constraint for one in climbs}
    assert {base.configuration.storage for base in bases.values()} == {"a"}


def test_campaigns_of_queries_are_compared_by_their_queries_per_hour() -> None:
    first = recorded_scan()
    slower = slowed_by(first, 2.0)
    one, other = told_apart([first, slower])
    rows = compare_campaigns([one, other])
    assert rows[0].sentence == "the baseline"
    assert all(row.queries and row.point == "pass" for row in rows)
    again = rows[len(first.climbs)]
    assert again.against and again.against.differs
    assert again.against.ratio.value == pytest.approx(0.5)
    assert again.queries
    assert {round(ratio.value, 6) for ratio in again.queries.faster.values()} == {0.5}
    [trend, *_] = trends([one, other])
    assert trend.quantity == "queries.per_hour"
    assert trend.points[1].against
    assert trend.points[1].against.ratio.value == pytest.approx(0.5)


def test_a_query_without_a_time_is_left_out_of_the_ratio_and_nothing_is_judged() -> None:
    first = recorded_scan()
    number = numbers(first)[0]
    lacking = slowed_by(first, 3.0, without=number)
    one, other = told_apart([first, lacking])
    again = compare_campaigns([one, other])[len(first.climbs)]
    assert again.against
    assert again.against.ratio.value == pytest.approx(1 / 3)
    assert again.queries
    assert number not in again.queries.faster
    with pytest.raises(InvalidMeasurement) as caught:
        accept(baseline=one, campaign=other)
    assert f"only one of them has a time for query {number}" in caught.value.seen


def test_accept_judges_queries_per_hour_by_the_margin_of_the_plan() -> None:
    first = recorded_scan()
    for times, answer in ((2.0, "worse"), (0.5, "better"), (1.001, "same")):
        one, other = told_apart([first, slowed_by(first, times)])
        figures = [*accept(baseline=one, campaign=other).figures]
        assert figures[0].quantity == "queries.per_hour"
        assert figures[0].judgement == answer


def test_campaigns_of_two_workloads_are_refused_by_the_key_that_differs() -> None:
    with pytest.raises(KneebenchError, match=r"workload.type is .*tproc-h.* in the first"):
        compare_campaigns([recorded_scan(), recorded("plateau")])


def recorded_scan() -> Results:
    return load(Path("docs/samples/scan.kneebench"))


def slowed_by(results: Results, times: float, without: int = 0) -> Results:
    """The same campaign a minute later, each query so many times as slow; one of them cancelled."""

    def slowed(rung: Rung) -> Rung:
        tally = rung.tally.model_copy(update={"window_s": times * rung.tally.window_s})
        found = rung.model_copy(update={"tally": tally})
        gone = Remark(kind="cancelled", severity="invalid", words="cancelled")
        return found.with_remarks(gone) if rung.order.query == without else found

    climbs = tuple(
        climb.model_copy(update={"rungs": tuple(map(slowed, climb.rungs))})
        for climb in results.climbs
    )
    campaign = results.campaign.model_copy(
        update={"id": "later", "started_at": "2026-11-30T00:00:00+00:00"}
    )
    return results.model_copy(update={"climbs": climbs, "campaign": campaign, "folder": None})
