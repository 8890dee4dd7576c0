"""Several directories: real fio on two files, what is refused, and what their page says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import altair
import pytest
from typer.testing import CliRunner

from kneebench.brief.profile import TogetherPage
from kneebench.brief.profile.together import row_line
from kneebench.brief.terminal import told
from kneebench.cli import app
from kneebench.errors import PlanError
from kneebench.lab.drives import drive_of
from kneebench.lab.journal import Journal
from kneebench.measurement import profile as measuring
from kneebench.measurement.profile import DirectoryTarget, Job, profile_together, targets, together
from kneebench.measurement.profile.together import require_different_drives
from tests.profiles import made_up_together
from tests.terminal import drawn

MIB = 2**20
FIO = pytest.mark.skipif(not shutil.which("fio"), reason="needs fio")
RANDOM_READ = Job("headline", "randread", 4096, 4)


@pytest.fixture(autouse=True)
def place(own_place: Path) -> Path:
    return own_place


def target(directory: Path) -> DirectoryTarget:
    return DirectoryTarget(directory, 64 * MIB)


@pytest.fixture
def two(place: Path) -> list[Path]:
    if drive_of(place) is None:
        pytest.skip("the temporary directory stands on no block device")
    folders = [place / "a", place / "b"]
    for folder in folders:
        folder.mkdir()
    return folders


@FIO
def test_each_directory_is_measured_alone_and_then_all_at_the_same_time(
    two: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(together, "require_different_drives", lambda directories: None)
    found = profile_together([target(one) for one in two], 1, lambda row: None, [RANDOM_READ])
    (row,) = found.rows
    assert len(row.alone) == len(row.together) == 2
    assert row.share == pytest.approx(
        sum(one.iops for one in row.together) / sum(one.iops for one in row.alone)
    )
    assert row.together[0].cores_busy == row.together[1].cores_busy
    assert len(found.fio[row.name]) == 4
    assert [list(folder.iterdir()) for folder in two] == [[], []]
    assert Journal().leftovers() == []


def test_two_directories_on_one_drive_are_refused_with_its_name(
    two: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(together, "found_fio", lambda: "fio")
    answer = CliRunner().invoke(app, ["profile", "a", "b", "--size", "64MiB"])
    assert answer.exit_code == PlanError.exit_code
    said = " ".join(answer.output.split())
    assert f"cannot profile a and b together: both are on {drive_name(two[0])}" in said
    assert [list(folder.iterdir()) for folder in two] == [[], []]


def drive_name(path: Path) -> str:
    drive = drive_of(path)
    assert drive
    return ", ".join(sorted(drive.real))


def test_one_shared_drive_below_two_arrays_is_enough_to_refuse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drives = {"a": ("sda", "sdb"), "b": ("sdc",), "c": ("sdd", "sdb")}
    monkeypatch.setattr(targets, "whole_devices", lambda paths: drives[str(paths[0])])
    a, b, c = (target(Path(one)) for one in "abc")
    require_different_drives([a, b])
    with pytest.raises(PlanError, match="a and c together: both are on sdb"):
        require_different_drives([a, b, c])


def test_a_directory_on_no_drive_of_this_machine_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(targets, "whole_devices", lambda paths: ())
    with pytest.raises(PlanError, match="on no drive of this machine"):
        require_different_drives([target(Path("a")), target(Path("b"))])


def test_a_data_sheet_of_one_drive_is_refused_for_several() -> None:
    answer = CliRunner().invoke(app, ["profile", "./a", "./b", "--datasheet", "micron-9100-800gb"])
    assert answer.exit_code == PlanError.exit_code
    assert "a data sheet is of one drive" in answer.output


@FIO
def test_the_command_writes_the_page_and_the_document_of_several_drives(
    two: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (together, measuring):
        monkeypatch.setattr(module, "require_different_drives", lambda targets: None)
    monkeypatch.setattr(
        "kneebench.measurement.profile.profile_together",
        lambda *given, **more: profile_together(*given, **more, jobs=[RANDOM_READ]),
    )
    words = ["profile", "a", "b", "--size", "64MiB", "--seconds", "1", "--out", "p", "--json"]
    answer = CliRunner().invoke(app, words)
    assert answer.exit_code == 0, answer.output
    assert [row["name"] for row in json.loads(answer.stdout)["rows"]] == [RANDOM_READ.name]
    assert "together" in answer.stderr
    assert json.loads(Path("p/profile.json").read_text())["fio"]
    assert "of their sum at worst" in Path("p/profile.html").read_text()


def test_a_share_below_the_sum_is_a_shared_limit_and_the_cpu_if_it_was_busy() -> None:
    row = made_up_together(0.5).rows[0]
    assert row.limited.startswith("the drives share a limit")
    assert made_up_together(0.97).rows[0].limited == ""
    busy = row.together[0].model_copy(update={"cores_busy": {"0": 0.99}})
    limited = row.model_copy(update={"together": (busy, row.together[1])})
    assert limited.limited.startswith("the CPU had no time left")
    wrong = row.alone[0].model_copy(update={"invalid": "wrong"})
    assert row.model_copy(update={"alone": (wrong, row.alone[1])}).limited == ""


def test_the_page_and_the_terminal_have_each_alone_their_sum_and_all_together() -> None:
    found = made_up_together(0.5)
    page = TogetherPage(found)
    assert page.title == "nvme0n1 and nvme1n1 together: 50% of their sum at worst"
    (table,) = page.sections[0].tables
    assert [column.title for column in table.columns] == [
        "I/O",
        "nvme0n1",
        "nvme1n1",
        "Sum",
        "Together",
        "Share",
    ]
    assert table.rows[2].cells[1:] == (
        "2,930 MB/s",
        "2,930 MB/s",
        "5,860 MB/s",
        "2,930 MB/s",
        "50%",
    )
    assert row_line(found.rows[2]).endswith("together 2,930 MB/s (50%)")
    text = drawn(*told(page), width=80)
    assert text.count("50%\n") == len(found.rows)
    altair.Chart.from_dict(page.sections[2].figures[0].spec)
    assert "kneebench profile /mnt/nvme0n1 /mnt/nvme1n1 --size 64GiB" in page.html()
    assert "fio-3.33" in page.html()


def test_more_together_than_alone_is_said_to_be_scatter() -> None:
    _, caveats, *_ = TogetherPage(made_up_together(1.5)).sections
    assert caveats.sentences[0].startswith("More together than alone, so the rows scatter")
    shares, quiet = TogetherPage(made_up_together(1.0)).sections[2], made_up_together(1.0)
    assert shares.figures[0].title == "No shared limit shows"
    assert len(TogetherPage(quiet).sections[1].sentences) == 1


def test_invalid_rows_stand_above_the_title_and_have_no_share() -> None:
    found = made_up_together()
    wrong = tuple(
        row.model_copy(
            update={"alone": tuple(one.model_copy(update={"invalid": "no"}) for one in row.alone)}
        )
        for row in found.rows
    )
    page = TogetherPage(found.model_copy(update={"rows": wrong}))
    assert page.title == "nvme0n1 and nvme1n1 together"
    assert page.html().index("Invalid, no: 64 KiB") < page.html().index("<h1>")
    assert "<figure" not in page.html()
