"""The brief as Markdown, and the files that its page carries."""

from __future__ import annotations

import base64
import csv
import io
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kneebench.brief import Brief
from kneebench.brief.drawn_rows import DRAWING, tables
from kneebench.brief.markdown import markdown
from kneebench.cli import app
from kneebench.results import load
from tests.recorded.record import unpack
from tests.recordings import recorded, with_plan

RECORDINGS = ("plateau", "log_bound", "saturated", "noisy", "emulated")


@pytest.mark.parametrize("name", RECORDINGS)
def test_markdown_has_the_answer_the_caveats_and_every_cell_of_the_front(name: str) -> None:
    brief = Brief(recorded(name))
    said = re.sub(r"\\(.)", r"\1", markdown(brief))
    front = [one for _, some in brief.parts["front"] for one in some]
    for words in (brief.title, brief.subtitle, brief.setup):
        assert " ".join(words.split()) in said
    for section in front:
        assert f"### {section.title}\n" in said
        for table in section.tables:
            for row in table.rows:
                assert f"| {' | '.join(' '.join(cell.split()) for cell in row.cells)} |" in said
        for sentence in section.sentences:
            assert f"- {sentence}" in said
    assert len(said.split()) < 2500


def test_what_a_storages_name_contains_does_not_become_a_table_or_a_link() -> None:
    name = "a|b [x](http://evil) <i>"
    results = with_plan(recorded(), brief={"title": name})
    said = markdown(Brief(results))
    assert r"# a\|b \[x\](http://evil) \<i\>" in said


def test_the_command_prints_it_or_writes_a_file(tmp_path: Path) -> None:
    folder = unpack(RECORDINGS[0], tmp_path)
    printed = CliRunner().invoke(app, ["brief", str(folder), "--markdown"])
    assert printed.exit_code == 0
    assert printed.stdout == markdown(Brief(load(folder)))
    out = tmp_path / "brief.md"
    assert CliRunner().invoke(app, ["brief", str(folder), "-o", str(out)]).exit_code == 0
    assert out.read_text() == printed.stdout


def test_each_figure_of_the_page_can_be_saved_as_svg_and_its_rows_as_csv() -> None:
    brief = Brief(recorded())
    page, figures = brief.html(), [one for some in brief.sections for one in some.figures]
    links = re.findall(r'<a download="([^"]+)" href="data:([^;]+);base64,([^"]+)"', page)
    found = {name: (kind, base64.b64decode(content)) for name, kind, content in links}
    for figure in figures:
        kind, drawn = found[f"{figure.name}.svg"]
        assert kind == "image/svg+xml"
        assert ElementTree.fromstring(drawn).tag == "{http://www.w3.org/2000/svg}svg"
        kind, content = found[f"{figure.name}.csv"]
        assert kind == "text/csv"
        rows = [*csv.DictReader(io.StringIO(content.decode()))]
        assert len(rows) > 0 and len(rows[0]) > 1
        assert not rows[0].keys() & DRAWING


def test_the_columns_of_a_figures_rows_are_called_as_its_axes_are() -> None:
    every = [figure for one in Brief(recorded()).sections for figure in one.figures]
    columns = {figure.name: [*tables(figure.spec)[0][0]] for figure in every}
    ends = ["Latency, ms: 95% CI low", "Latency, ms: 95% CI high"]
    assert columns["latency-mean"] == ["name", "Latency, ms", *ends]
    assert "NOPM, baseline's knee = 1" in columns["relative-nopm"]
    assert columns["over-time-a"] == ["Seconds since the rung started", "MB/s", "kind"]
    assert columns["spectrum"] == ["name", "percentile", "Latency, ms"]
