"""Data sheets: how they are read, what is refused, and what is said of their figures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kneebench.brief.profile import ProfilePage, datasheet
from kneebench.brief.terminal import told
from kneebench.cli import app
from kneebench.errors import PlanError, UnknownPart
from kneebench.measurement.profile import read_datasheet
from kneebench.measurement.profile.datasheet import parse_datasheet, shipped
from tests.profiles import made_up_profile
from tests.terminal import drawn

SHEET = """drive = "Example"
source = "the maker"
sequential_read = "2,930 MB/s"
random_write = "100k IOPS"
"""


@pytest.fixture(autouse=True)
def place(own_place: Path) -> Path:
    return own_place


def test_every_shipped_data_sheet_is_read_and_names_its_source() -> None:
    assert shipped()
    for name in shipped():
        sheet = read_datasheet(name)
        assert sheet.drive and sheet.source
        assert sheet.sequential_read and sheet.random_write


def test_the_data_sheet_in_the_docs_is_one() -> None:
    text = (Path(__file__).parent.parent / "docs" / "drives.md").read_text()
    (example,) = re.findall(r"```text\n(drive = .*?)```", text, re.DOTALL)
    sheet = parse_datasheet(example)
    assert sheet.random_write == 55_000


@pytest.mark.parametrize(
    ("line", "key", "allowed"),
    [
        ("sequential_raed = 1", "sequential_raed", 'did you mean "sequential_read"?'),
        ("random_read = 540000", "random_read", 'as in "540,000 IOPS"'),
        ('random_read = "2 GB/s"', "random_read", "a number above 0 in IOPS"),
        ('sequential_write = "0 MB/s"', "sequential_write", "a number above 0 in MB/s or GB/s"),
        ('sequential_write = "-1 MB/s"', "sequential_write", "a number above 0 in MB/s or GB/s"),
        ('conditions = ""', "conditions", "at most 300 characters"),
        ("conditions = [1]", "conditions", "at most 300 characters"),
        ("random_read = 0x" + "f" * 9000, "random_read", "at most 64 bits"),
    ],
)
def test_a_wrong_key_is_named_with_its_line_and_what_is_allowed(
    line: str, key: str, allowed: str
) -> None:
    with pytest.raises(PlanError) as refused:
        parse_datasheet(f"{SHEET}{line}\n", "nvme.toml")
    said = " ".join(str(refused.value).split())
    assert f"nvme.toml, line 5: {key}" in said
    assert allowed in said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "missing key drive"),
        ('drive = "A"\nsource = "B"', "missing figures, at least one of: sequential_read"),
        ("drive = ", "nvme.toml, line 1: the file"),
    ],
)
def test_a_data_sheet_without_what_it_needs_is_refused(text: str, why: str) -> None:
    with pytest.raises(PlanError, match=why):
        parse_datasheet(text, "nvme.toml")


def test_an_unknown_name_lists_the_shipped_ones_before_anything_is_measured(place: Path) -> None:
    answer = CliRunner().invoke(app, ["profile", ".", "--datasheet", "nosuch"])
    assert answer.exit_code == UnknownPart.exit_code
    assert all(name in answer.output for name in shipped())
    missing = CliRunner().invoke(app, ["profile", ".", "--datasheet", "nosuch.toml"])
    assert "cannot read nosuch.toml: No such file" in missing.output
    assert {path.name for path in place.iterdir()} <= {"state"}


def test_each_figure_has_its_ratio_and_the_row_that_measured_it() -> None:
    found = made_up_profile().beside(parse_datasheet(SHEET))
    read, write = map(datasheet.cells, found.claims)
    assert read == (
        "Sequential read",
        "2,930 MB/s",
        "2,930 MB/s",
        "1.00x",
        "128 KiB sequential read, depth 32",
    )
    assert write[1:4] == ("100,000 IOPS", "448,000 IOPS", "4.5x")
    assert write[4] == "4 KiB random write, depth 32, 4 workers"


def test_the_sentences_are_honest_about_file_caches_and_busy_cores() -> None:
    found = made_up_profile().beside(parse_datasheet(SHEET + 'conditions = "depth 256"'))
    said = " ".join(datasheet.sentences(found))
    assert '"up to" figures' in said
    assert "The maker's conditions: depth 256." in said
    assert "one file of 64 GiB on xfs" in said
    assert "Random write: far above the data sheet, so a cache may have served it." in said
    busy = found.claims[0].model_copy(update={"limited_by_a_core": True})
    limited = found.model_copy(update={"claims": (busy, *found.claims[1:])})
    assert "Sequential read: a core, not the drive, may have been the limit." in " ".join(
        datasheet.sentences(limited)
    )
    two = found.model_copy(update={"drives": found.drives * 2})
    assert "of one drive; this directory is on 2 drives" in " ".join(datasheet.sentences(two))


def test_a_figure_without_a_valid_row_has_no_ratio() -> None:
    found = made_up_profile()
    rows = tuple(row.model_copy(update={"invalid": "wrong"}) for row in found.rows)
    bare = found.model_copy(update={"rows": rows}).beside(parse_datasheet(SHEET))
    assert datasheet.cells(bare.claims[0])[2:] == ("–", "–", "no valid row")


def test_the_page_the_terminal_and_the_json_have_the_same_comparison() -> None:
    found = made_up_profile().beside(parse_datasheet(SHEET))
    assert ProfilePage(found).document()["claims"][1]["ratio"] == pytest.approx(4.48, abs=0.01)
    assert ProfilePage(found).document()["datasheet"]["drive"] == "Example"
    page = ProfilePage(found).html()
    assert "4.5x" in drawn(*told(ProfilePage(found)))
    assert "<h2>Data sheet: Example</h2>" in page
    assert page.index("4.5x") < page.index("Fig. 1")
