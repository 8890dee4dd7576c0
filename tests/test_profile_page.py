"""The page of a profile: its figures, its table, and what stands first."""

from __future__ import annotations

import re

import altair

from kneebench.brief.profile import ProfilePage
from kneebench.brief.section import Section
from kneebench.measurement.profile import JOBS, Profile
from tests.profiles import made_up_profile


def section(found: Profile, name: str) -> Section:
    return next(one for one in ProfilePage(found).sections if one.name == name)


def changed(found: Profile, place: int, **changes: object) -> Profile:
    rows = list(found.rows)
    rows[place] = rows[place].model_copy(update=changes)
    return found.model_copy(update={"rows": tuple(rows)})


def test_the_page_has_every_figure_as_vega_lite_and_fetches_nothing() -> None:
    page = ProfilePage(made_up_profile()).html()
    assert [f"Fig. {n}" in page for n in (1, 2, 3, 4)] == [True] * 4
    assert page.count("<svg") == page.count("<figure")
    assert not re.search(r"<script|<link|<img|@import|url\((?!#)", page)
    for one in ProfilePage(made_up_profile()).sections:
        for figure in one.figures:
            altair.Chart.from_dict(figure.spec)
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_a_page_of_a_raw_drive_speaks_of_no_file() -> None:
    found = made_up_profile()
    rows = tuple(row for row in found.rows if not row.files_per_s)
    update = {"raw": True, "file_system": "raw drive", "rows": rows}
    page = ProfilePage(found.model_copy(update=update)).html()
    said = re.sub(r"<style>.*?</style>|<svg.*?</svg>|<[^>]+>", " ", page, flags=re.DOTALL)
    assert "without a file system" in said
    assert not re.findall(r"\bfiles?\b", said.replace("without a file system", ""))
    assert "raw drive nvme0n1 (Example 9300 PRO)" in said
    assert "Measured with fio on the whole drive, without a database" in said
    assert "Measured with fio on one file, without a database" in ProfilePage(found).html()


def test_the_title_and_the_big_numbers_are_those_of_the_headline_rows() -> None:
    found = made_up_profile()
    assert re.fullmatch(
        r"nvme0n1: [\d,]+ random reads per second, log write in [\d.]+ µs", ProfilePage(found).title
    )
    numbers = section(found, "glance").numbers
    assert [one.says.partition(",")[0] for one in numbers] == [
        "128 KiB sequential read",
        "128 KiB sequential write",
        "4 KiB random reads per second",
        "4 KiB random writes per second",
        "mean 8 KiB log write with fdatasync",
        "files per second",
    ]
    assert numbers[2].sure.startswith("depth 32 x 4 workers, busiest core 45%")


def test_every_row_is_in_the_table_below_its_group() -> None:
    (table,) = section(made_up_profile(), "rows").tables
    names = [
        row.cells[0].replace("\N{NO-BREAK SPACE}", " ").removesuffix(" *") for row in table.rows
    ]
    assert [name for name in names if name in {job.name for job in JOBS}] == [
        job.name for job in JOBS
    ]
    assert names[0] == "Headline"
    assert names[-2:] == ["Copy", "copy of 2,000 files of 32 KiB"]
    assert {len(row.cells) for row in table.rows} == {len(table.columns)}


def test_rows_with_a_busy_core_are_named_in_one_sentence_and_marked() -> None:
    found = made_up_profile()
    slow = [row.name for row in found.rows if row.limited_by_a_core]
    first, *_ = section(found, "caveats").sentences
    assert slow
    assert first.startswith("A core, not the drive, may have been the limit of 3 rows")
    assert all(name in first for name in slow)
    (table,) = section(found, "rows").tables
    assert sum(row.cells[0].endswith("*") for row in table.rows) == len(slow)


def test_an_invalid_row_stands_above_the_title_and_is_in_no_figure() -> None:
    found = made_up_profile()
    place = next(n for n, row in enumerate(found.rows) if row.name.endswith("read, depth 4"))
    wrong = changed(found, place, invalid="its MB/s are not its IOPS")
    page = ProfilePage(wrong).html()
    assert page.index("its MB/s are not its IOPS") < page.index("<h1>")
    specs = [str(section(one, "depths").figures[0].spec) for one in (found, wrong)]
    sound, without = (spec.count("'depth': 4,") for spec in specs)
    assert sound == 2 * without


def test_a_profile_of_few_rows_has_a_page_without_those_figures() -> None:
    found = made_up_profile()
    few = found.model_copy(update={"rows": found.rows[6:7], "drives": ()})
    page = ProfilePage(few)
    names = [one.name for one in page.sections if one.figures]
    assert names == ["percentiles", "over-time"]
    assert page.title.startswith("/mnt/nvme: log write in ")
    assert "no local drive" in page.html()


def test_a_percentile_that_too_few_exceed_is_a_dash_and_ends_its_line() -> None:
    found = made_up_profile()
    place = next(n for n, row in enumerate(found.rows) if row.name.endswith("read, depth 1"))
    read = found.rows[place].read
    assert read
    short = read.model_copy(update={"percentiles_s": {"50": 1e-3, "90": 2e-3}})
    found = changed(found, place, read=short)
    (table,) = section(found, "rows").tables
    row = next(row for row in table.rows if row.cells[0].endswith("read, depth\N{NO-BREAK SPACE}1"))
    assert row.cells[4:9] == ("1 ms", "2 ms", "–", "–", "–")
    spec = section(found, "percentiles").figures[0].spec
    values = spec["data"]["values"]
    drawn = [point["nines"] for point in values if point["name"] == "4 KiB random read, depth 1"]
    assert drawn == [0.301, 1.0]


def test_the_command_that_repeats_a_profile_is_exact() -> None:
    (command,) = section(made_up_profile(), "repeat").code
    assert command == "kneebench profile /mnt/nvme --size 64GiB --seconds 30"
    (command,) = section(made_up_profile(file_bytes=2**30 + 1), "repeat").code
    assert "--size 1073741825B" in command


def test_the_iops_over_time_have_a_panel_per_row_and_their_range_in_the_title() -> None:
    (figure,) = section(made_up_profile(), "over-time").figures
    assert figure.title.startswith("Random writes: 0 to 716,000 IOPS; log writes: 0 to ")
    assert "the mean of 200 ms" in figure.caption
    assert len(figure.spec["vconcat"]) == 2
