"""The pages of `accept` and `compare`: what they say is what the terminal says, in every form."""

from __future__ import annotations

import base64
import csv
import io
import re
from pathlib import Path

import pypdf
import pytest
from typer.testing import CliRunner

from kneebench.analysis.knee import final_rungs
from kneebench.analysis.quoted_load import log_write as log_write_at
from kneebench.brief.campaigns import AcceptancePage, ComparisonPage
from kneebench.brief.rendering import downloads
from kneebench.cli import app
from kneebench.records import Results
from kneebench.results import compare_campaigns
from kneebench.results.acceptance import accept
from kneebench.results.trend import trends
from tests.recorded.record import unpack
from tests.recordings import each, recorded, with_campaign, with_throughput


def named(results: Results, name: str) -> Results:
    return with_campaign(results, id=name)


@pytest.fixture
def both() -> tuple[Results, Results]:
    return named(recorded(), "monday"), named(recorded(), "tuesday")


def test_an_acceptance_shows_its_answer_each_figure_and_room_to_sign(
    both: tuple[Results, Results],
) -> None:
    found = accept(baseline=both[0], campaign=both[1])
    page = AcceptancePage([found], both[0], both[1:], caveats=["monday: other processes were busy"])
    said = re.sub(r' data-title="[^"]*"', "", page.html())
    assert f"<h1>{found.sentence}</h1>" in said
    assert "monday: other processes were busy." in said
    for one in found.figures:
        assert f"<td>{one.judgement}</td><td>{one.storage}</td><td>{one.called}</td>" in said
    assert "Signature" in said and "tuesday" in said and "<script" not in said
    rows = [*csv.DictReader(io.StringIO(page.csv()))]
    assert [row["answer"] for row in rows] == [one.judgement for one in found.figures]
    ratios = [one.ratio.value if one.ratio else "" for one in found.figures]
    assert [row["ratio"] and float(row["ratio"]) for row in rows] == ratios


def scaled(results: Results, name: str, factor: float) -> Results:
    """The campaign at so many times the throughput."""
    for climb in range(len(results.climbs)):
        results = each(
            results,
            climb,
            lambda rung: with_throughput(rung, factor * rung.tally.throughput_per_s),
        )
    return named(results, name)


def test_a_comparison_draws_each_campaign_where_it_stands_and_nothing_that_it_lacks() -> None:
    first = named(recorded(), "monday")
    first = first.model_copy(update={"climbs": first.climbs[:1]})
    every = (first, scaled(recorded(), "tuesday", 0.5), scaled(recorded(), "wednesday", 0.25))
    rows, trend = compare_campaigns(every), trends(every)
    page = ComparisonPage(every, rows, trend, ["memory differs"])
    said = page.html()
    assert "memory differs" in said and "3 campaigns compared: " in said
    (section,) = [one for one in page.sections if one.name == "trend"]
    _, file = downloads(section.figures[0], "<svg />", "")
    drawn = csv.DictReader(io.StringIO(base64.b64decode(file.href.partition(",")[2]).decode()))
    ratio = "NOPM at the knee, first = 1"
    points = {(row["name"], row["Campaign"]): float(row[ratio]) for row in drawn}
    assert points == {
        ("disk", "1"): 1.0,
        ("disk", "2"): pytest.approx(0.5, rel=0.01),
        ("disk", "3"): pytest.approx(0.25, rel=0.01),
        ("memory", "2"): 1.0,
        ("memory", "3"): pytest.approx(0.5, rel=0.01),
    }
    found = [*csv.DictReader(io.StringIO(page.csv()))]
    assert [(row["campaign"], float(row["nopm"])) for row in found] == [
        (row.campaign, row.knee.nopm.value if row.knee else None) for row in rows
    ]
    knees = {climb.id: climb for climb in every[0].climbs}
    log_write = log_write_at(final_rungs(knees[rows[0].configuration]))
    assert log_write and float(found[0]["log_write_s"]) == log_write.value
    assert all(float(row["p999_s"]) > float(row["mean_s"]) for row in found)


def test_a_storage_without_a_figure_is_not_called_the_baseline() -> None:
    second = named(recorded(), "tuesday")
    bare = second.climbs[1].model_copy(update={"rungs": ()})
    second = second.model_copy(update={"climbs": (second.climbs[0], bare)})
    every = (named(recorded(), "monday"), second)
    page = ComparisonPage(every, compare_campaigns(every), trends(every))
    (section,) = [one for one in page.sections if one.name == "knees"]
    last = section.tables[0].rows[-1]
    assert "baseline" not in last.cells[-1] and last.tone == "light"


def test_the_commands_write_a_page_a_pdf_or_a_csv(tmp_path: Path) -> None:
    one = unpack("plateau", tmp_path)
    other = unpack("plateau", tmp_path / "b")
    for command in (["compare", str(one), str(other)], ["accept", str(one), str(other)]):
        for end in ("html", "pdf", "csv"):
            out = tmp_path / f"{command[0]}.{end}"
            ended = CliRunner().invoke(app, [*command, "--page", str(out)])
            assert ended.exit_code in (0, 6, 7), ended.output
            assert out.stat().st_size > 300
    read = pypdf.PdfReader(tmp_path / "accept.pdf")
    text = "".join(page.extract_text() for page in read.pages)
    assert "What was compared" in text and "Signature" in text
    assert f"{other.parent.name}/{other.name}" in text  # both have one id
    odd = CliRunner().invoke(app, ["compare", str(one), str(other), "--page", "a.docx"])
    assert odd.exit_code == 2 and "unsupported format '.docx'" in odd.output
