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

from kneebench.brief.campaigns import AcceptancePage, ComparisonPage
from kneebench.brief.figure_files import downloads
from kneebench.cli import app
from kneebench.records import Results
from kneebench.results import compare_campaigns, load
from kneebench.results.acceptance import accept
from kneebench.results.trend import trends
from tests.recorded.record import unpack
from tests.recordings import recorded, with_campaign


def named(results: Results, name: str) -> Results:
    return with_campaign(results, id=name)


@pytest.fixture
def both() -> tuple[Results, Results]:
    return named(recorded(), "monday"), named(recorded(), "tuesday")


def test_an_acceptance_shows_its_answer_each_figure_and_room_to_sign(
    both: tuple[Results, Results],
) -> None:
    found = accept(baseline=both[0], campaign=both[1])
    page = AcceptancePage(found, *both, caveats=["monday: other processes were busy"])
    said = re.sub(r' data-title="[^"]*"', "", page.html())
    assert f"<h1>{found.sentence}</h1>" in said
    assert "Monday: other processes were busy." in said
    for one in found.figures:
        assert f"<td>{one.judgement}</td><td>{one.storage}</td><td>{one.called}</td>" in said
    assert "Signature" in said and "tuesday" in said and "<script" not in said
    rows = [*csv.DictReader(io.StringIO(page.csv()))]
    assert [row["answer"] for row in rows] == [one.judgement for one in found.figures]
    ratios = [one.ratio.value if one.ratio else "" for one in found.figures]
    assert [row["ratio"] and float(row["ratio"]) for row in rows] == ratios


def test_a_comparison_draws_the_trend_of_every_campaign(both: tuple[Results, Results]) -> None:
    every = (*both, named(recorded(), "wednesday"))
    rows, trend = compare_campaigns(every), trends(every)
    page = ComparisonPage(every, rows, trend, ["memory differs"])
    said = page.html()
    assert said.count("<svg") == 2
    assert "memory differs" in said and "3 campaigns; the last: " in said
    (section,) = [one for one in page.sections if one.name == "trend"]
    _, rows_drawn = downloads(section.figures[0], "")
    drawn = base64.b64decode(rows_drawn.href.partition(",")[2]).decode()
    ratios = {
        point.against.ratio.value
        for one in trend
        if one.quantity == "nopm"
        for point in one.points
        if point.against
    }
    assert ratios <= {float(row["ratio"]) for row in csv.DictReader(io.StringIO(drawn))}
    found = [*csv.DictReader(io.StringIO(page.csv()))]
    assert [(row["campaign"], float(row["nopm"])) for row in found] == [
        (row.campaign, row.knee.nopm.value if row.knee else None) for row in rows
    ]


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
    assert load(one).campaign.id in text
    odd = CliRunner().invoke(app, ["compare", str(one), str(other), "--page", "a.docx"])
    assert odd.exit_code == 2 and "unsupported format '.docx'" in odd.output
