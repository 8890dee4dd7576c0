"""kneebench trend: which campaigns belong to it, what it prints and writes, and its badge."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from kneebench.brief.campaigns import TrendPage
from kneebench.brief.terminal import parts
from kneebench.cli import app
from kneebench.records import Estimate
from kneebench.results.badge import GREEN, GREY, RED, badge
from kneebench.results.nights import LeftOut, Nights
from kneebench.results.trend import Trend, TrendChange, TrendPoint, headline, hidden_latencies
from tests.packed import changed
from tests.recordings import each, recorded, with_order
from tests.simulated_campaign import finished, nightly

NIGHTS = 7


@pytest.fixture(autouse=True)
def place(own_place: Path) -> Path:
    return own_place


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven nights, of which the last three had a slower drive and another kernel; and four
    campaigns that do not belong to them.
    """
    root = tmp_path_factory.mktemp("trend")
    for name, read_latency in (("fast", "1ms"), ("slow", "2ms")):
        finished(nightly(read_latency), root / "one").rename(root / "one" / name)
    for night in range(NIGHTS):
        _night(root, f"night-{night}", night, "fast" if night < 4 else "slow")
    other = nightly("1ms", workload={"warehouses": 300})
    finished(other, root / "one").rename(root / "one" / "other")
    _night(root, "other", 2, "other")
    _night(root, "broken", 3, "fast")
    (root / "broken" / "campaign.json").write_text("{")
    _night(root, "unfinished", 5, "fast")
    (root / "unfinished" / "finished.json").unlink()
    return root


def _night(root: Path, name: str, night: int, measured: str) -> None:
    shutil.copytree(root / "one" / measured, root / name)

    def change(head: Any) -> None:
        head |= {"id": name, "started_at": f"2026-11-{10 + night}T01:00:00+00:00"}
        head["plan"]["tags"] = {"week": "1" if night < 6 else "2", "half": str(night // 4)}
        head["host"]["kernel"] = "6.1" if night < 4 else "6.5"

    changed(root / name / "campaign.json", change)


def call(*words: object) -> Result:
    runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"})
    return runner.invoke(app, ["trend", *map(str, words)])


def test_all_finished_campaigns_of_the_newest_plan_are_taken_oldest_first(root: Path) -> None:
    answer = call("--in", root, "--json")
    assert answer.exit_code == 0, answer.output
    found = json.loads(answer.stdout)
    assert [one["id"] for one in found["campaigns"]] == [f"night-{n}" for n in range(NIGHTS)]
    reasons = {one["campaign"]: one["reason"] for one in found["left_out"]}
    assert set(reasons) == {"other", "broken", "unfinished"}
    assert "workload.warehouses" in reasons["other"]
    assert (reasons["broken"], reasons["unfinished"]) == ("it is damaged", "it is unfinished")


def test_a_change_point_is_marked_with_what_else_changed_there(root: Path) -> None:
    found = json.loads(call("--in", root, "--json").stdout)
    nopm, latency = (one for one in found["trends"] if one["quantity"] != "latency.p999")
    for trend in (nopm, latency):
        (change,) = trend["changes"]
        assert (change["campaign"], change["last"], change["worse"]) == ("night-4", "night-3", True)
        assert trend["floor"] == 0.02
    assert (
        nopm["changes"][0]["ratio"]["value"] < 0.9 < 1.1 < latency["changes"][0]["ratio"]["value"]
    )
    said = call("--in", root).stdout
    assert "Simulated. Disk: NOPM at the knee worse since 2026-11-14" in said
    assert "* night-4" in said
    assert said.count("the kernel is 6.1 in night-3 and 6.5 in night-4") <= 1
    assert "6.1 in night-3 and 6.5 in night-4" in said
    assert re.search(r"the tag half is 0 in \S+ and 1 in \S+", said)
    assert "the tag week" not in said
    assert "\nLeft out\n" in said and "\nunfinished: it is unfinished\n" in said


def test_latencies_at_different_fixed_rates_are_missing_with_a_reason() -> None:
    one = recorded()
    faster = each(one, 0, lambda rung: with_order(rung, rate_per_s=990.0), "fixed_rate")
    rate = one.climbs[0].of("fixed_rate")[0].order.rate_per_s
    said = hidden_latencies([one, faster])
    assert said.startswith("latencies are not shown: the fixed rates differ (")
    assert f"{rate:,.0f}/s" in said
    assert "990/s" in said
    assert hidden_latencies([one, one]) == ""


def test_the_name_of_a_campaign_is_not_broken_where_a_terminal_is_narrow(root: Path) -> None:
    name = "2026-11-14-the-first-campaign-of-the-night-with-a-long-name"
    found = json.loads(call("--in", root, "--json").stdout)
    points = [TrendPoint.model_validate(one) for one in found["trends"][0]["points"]]
    named = tuple(one.model_copy(update={"campaign": f"{name}{n}"}) for n, one in enumerate(points))
    trend = Trend(storage="disk", quantity="nopm", called="NOPM at the knee", points=named)
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(*parts(TrendPage(Nights(campaigns=()), [trend], {}).told))
    assert f"{name}0" in console.export_text()


def test_a_series_without_a_change_has_none_marked(root: Path) -> None:
    names = [f"night-{night}" for night in range(4)]
    again = call(*names, root / "one" / "fast", "--in", root, "--json")
    found = json.loads(again.stdout)
    assert found["headline"] == "No change point in 5 campaigns"
    assert [one["changes"] for one in found["trends"]] == [[]] * len(found["trends"])
    few = json.loads(call(*names, "--in", root, "--json").stdout)
    assert few["headline"] == "Too few campaigns for change points: 4 of 5"


def test_tags_choose_the_campaigns(root: Path) -> None:
    found = json.loads(call("--in", root, "--tag", "week=1", "--json").stdout)
    assert [one["id"] for one in found["campaigns"]] == [f"night-{n}" for n in range(6)]
    lonely = call("--in", root, "--tag", "week=2")
    assert lonely.exit_code == 2
    assert "only night-6 of the campaigns with the tag week=2 can be used" in lonely.stderr
    named = call("night-0", "night-6", "--tag", "nosuch", "--in", root)
    assert "fewer than two campaigns with the tag nosuch are named" in named.stderr


def test_where_there_is_no_campaign_the_tag_or_the_folder_is_named(root: Path, place: Path) -> None:
    (place / "empty").mkdir()
    for words, said in (
        (("--tag", "nosuch", "--in", root), f"no campaigns with the tag nosuch are in {root}"),
        (("--in", "missing"), "there is no folder missing"),
        (("--in", "empty"), "no campaigns are in empty"),
    ):
        answer = call(*words)
        assert answer.exit_code == 2 and said in answer.stderr, answer.stderr


def test_a_trend_that_fails_leaves_no_badge_of_an_earlier_one(place: Path) -> None:
    (place / "old.svg").write_text("no change in 14 campaigns")
    assert call("--in", "missing", "--badge", "old.svg").exit_code == 2
    assert not (place / "old.svg").exists()


def test_named_campaigns_are_sorted_by_time_and_one_of_another_plan_is_an_error(
    root: Path,
) -> None:
    found = json.loads(call("night-5", "night-1", "--in", root, "--json").stdout)
    assert [one["id"] for one in found["campaigns"]] == ["night-1", "night-5"]
    for name, said in (("other", "workload.warehouses"), ("unfinished", "is unfinished")):
        wrong = call("night-1", name, "--in", root)
        assert wrong.exit_code == 2
        assert said in wrong.stderr
    assert call("night-1", "--in", root).exit_code == 2


def test_csv_has_a_row_for_each_figure_and_campaign_in_si_units(root: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(call("--in", root, "--csv").stdout)))
    nopm = [row for row in rows if row["quantity"] == "nopm"]
    assert len(nopm) == NIGHTS
    assert [row["campaign"] for row in nopm if row["change"]] == ["night-4"]
    latency = next(row for row in rows if row["quantity"] == "latency.mean")
    assert float(latency["value_low"]) < float(latency["value"]) < 0.1
    assert call("--in", root, "--csv", "--json").exit_code == 2


def test_the_page_draws_each_figure_and_asks_for_nothing_from_elsewhere(
    root: Path, place: Path
) -> None:
    assert call("--in", root, "--page", "trend.html").exit_code == 0
    page = (place / "trend.html").read_text()
    assert "NOPM at the knee by date" in page
    assert "Dashed: a change point" in page
    assert "left out" in page.lower()
    assert "<svg" in page
    assert "<script" not in page
    assert call("--in", root, "--page", "trend.pdf").exit_code == 0
    assert (place / "trend.pdf").read_bytes().startswith(b"%PDF")
    assert call("--in", root, "--page", "trend.doc").exit_code == 2


def test_the_badge_of_a_simulated_series_says_so_and_is_a_picture_by_itself(
    root: Path, place: Path
) -> None:
    assert call("--in", root, "--badge", "b.svg").exit_code == 0
    picture = ElementTree.parse(place / "b.svg").getroot()
    assert picture.get("aria-label") == "kneebench, simulated: disk: worse since 2026-11-14"
    assert "href" not in (place / "b.svg").read_text()
    assert call("--in", root, "--badge", "b.png").exit_code == 2
    assert call("--in", root, "--badge", "no/b.svg").exit_code == 2


def test_the_badge_says_the_worst_that_is_still_so() -> None:
    value = Estimate(value=1.0, low=0.9, high=1.1, n=3)
    points = tuple(TrendPoint(campaign=str(n), value=value, against=None) for n in range(6))
    quiet = Trend(storage="<disk>", quantity="nopm", called="NOPM", points=points)

    def change(day: int, *, worse: bool) -> TrendChange:
        at = f"2026-11-{day:02}T00:00:00"
        return TrendChange(campaign="x", started_at=at, last="w", ratio=value, worse=worse)

    better = quiet.model_copy(update={"changes": (change(12, worse=False),)})
    repaired = quiet.model_copy(
        update={"changes": (change(10, worse=True), change(11, worse=False))}
    )
    worse = quiet.model_copy(update={"changes": (change(9, worse=True),)})
    said = {"no change in 6 campaigns": [quiet], "&lt;disk&gt;: worse since 2026-11-09": [worse]}
    said |= {"worse since 2026-11-09": [better, worse], "better since 2026-11-11": [repaired]}
    for words, trends in said.items():
        assert words in badge(trends), words
    assert "1 campaign, too few" in badge([quiet.model_copy(update={"points": points[:1]})])
    assert headline([better, worse]) == "<disk>: NOPM worse since 2026-11-09, and 1 more change"


@pytest.mark.parametrize(
    ("last_night", "words", "colour"),
    [
        (0, "no change in 6 campaigns", GREEN),
        (6, "last night worse", RED),
        (7, "last night cannot say", GREY),
        (5, "last night refused", GREY),
        (1, "last night failed (exit code 1)", GREY),
        (None, "no change in 6 campaigns, last not judged", GREY),
    ],
)
def test_the_badge_is_green_only_if_the_last_night_was_accepted(
    last_night: int | None, words: str, colour: str
) -> None:
    value = Estimate(value=1.0, low=0.9, high=1.1, n=3)
    points = tuple(TrendPoint(campaign=str(n), value=value, against=None) for n in range(6))
    quiet = Trend(storage="disk", quantity="nopm", called="NOPM", points=points)
    drawn = badge([quiet], last_night=last_night)
    assert f">kneebench: {words}<" in drawn and colour in drawn
    unusable = [LeftOut(campaign="7", reason="it is unfinished", newest=True)]
    assert GREEN not in badge([quiet], last_night=last_night, left_out=unusable)


def test_a_bad_last_night_is_outlying_in_every_form_and_the_badge_is_red(
    root: Path, place: Path
) -> None:
    for night in range(6):
        shutil.copytree(root / "night-0", place / "all" / f"n{night}")
        day = f"2026-11-{10 + night}T01:00:00+00:00"
        changed(
            place / "all" / f"n{night}" / "campaign.json",
            lambda head, n=night, day=day: head.update({"id": f"n{n}", "started_at": day}),
        )
    shutil.copytree(root / "night-6", place / "all" / "bad")
    found = json.loads(call("--in", "all", "--json").stdout)
    assert [one["campaign"] for one in found["trends"][0]["outliers"]] == ["night-6"]
    assert found["trends"][0]["changes"] == []
    assert found["headline"] == "No change point in 7 campaigns; the last one is outlying"
    said = call("--in", "all", "--badge", "b.svg", "--page", "trend.html").stdout
    assert "! night-6" in said and "outlying, worse" in said
    assert RED in (place / "b.svg").read_text()
    assert "disk: worse last night" in (place / "b.svg").read_text()
    assert "Ring: an outlying campaign" in (place / "trend.html").read_text()
    rows = csv.DictReader(io.StringIO(call("--in", "all", "--csv").stdout))
    assert {row["campaign"] for row in rows if row["outlying"]} == {"night-6"}
    assert call("--in", "all", "--last-night", 0).exit_code == 2


def test_a_trend_reads_result_archives(root: Path, place: Path) -> None:
    packed = CliRunner().invoke(app, ["pack", str(root / "night-0"), "--out", "n.kneebench"])
    assert packed.exit_code == 0
    found = json.loads(call("n.kneebench", root / "night-1", "--json").stdout)
    assert [one["id"] for one in found["campaigns"]] == ["night-0", "night-1"]
