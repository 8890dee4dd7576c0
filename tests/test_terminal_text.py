"""What plans, results and servers hold of control characters never reaches a terminal raw."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from rich.text import Text
from typer.testing import CliRunner

from kneebench.analysis.sweep_rows import SweepRow
from kneebench.brief import Brief
from kneebench.brief.drawn_rows import as_csv
from kneebench.cli import app
from kneebench.commands.output import Filtered
from kneebench.errors import KneebenchError
from kneebench.plan.configurations import configurations
from kneebench.plan.default import sized_plan
from kneebench.plan.duration import Expected
from kneebench.records import Event
from kneebench.results import load
from kneebench.results.parquet import write_sweep
from kneebench.screen.progress import Progress
from kneebench.screen.watching import PlainLines
from kneebench.visible import visible
from tests.recorded.record import unpack
from tests.recordings import PLATEAU, recorded
from tests.terminal import drawn

CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
ODD = "\x1b]0;owned\x07\x1b[31m\x9b2J\u202edisk"


def odd_campaign(folder: Path) -> Path:
    """A recording, its question, storage, notes and settings full of what a terminal
    obeys.
    """
    unpack(PLATEAU, folder.parent).rename(folder)
    for file in folder.rglob("*.json"):
        if "schema" not in file.parts:
            document = json.loads(file.read_text())
            file.write_text(json.dumps(_odd(document)))
    return folder


def _odd(document: object) -> object:
    if isinstance(document, dict):
        return {
            key: (
                f"{ODD}{value}"
                if key in ("question", "storage", "cpu", "kernel", "sentence", "first")
                else _odd(value)
            )
            for key, value in document.items()
        }
    return [_odd(value) for value in document] if isinstance(document, list) else document


@pytest.mark.parametrize("as_json", [False, True])
def test_list_show_and_compare_send_no_control_character_of_a_results_folder(
    tmp_path: Path, as_json: bool
) -> None:
    for name in ("one", "two"):
        odd_campaign(tmp_path / name)
    runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"})
    for words in (
        ["list", "--in", str(tmp_path)],
        ["show", str(tmp_path / "one")],
        ["compare", str(tmp_path / "one"), str(tmp_path / "two")],
    ):
        answer = runner.invoke(app, [*words, *(["--json"] if as_json else [])])
        assert answer.exit_code == 0, answer.output
        assert "\\u001b" in answer.output
        assert not CONTROL.search(answer.output), words
        assert not as_json or json.loads(answer.stdout)


def test_a_results_folder_that_is_not_there_is_told_by_a_name_that_can_be_seen() -> None:
    answer = CliRunner().invoke(app, ["show", ODD])
    assert answer.exit_code == 2
    assert not CONTROL.search(answer.output)


def test_a_brief_of_names_that_no_chart_can_draw_is_refused_with_words(tmp_path: Path) -> None:
    folder = odd_campaign(tmp_path / "one")
    with pytest.raises(KneebenchError, match=f"cannot read the plan of {recorded().campaign.id}"):
        Brief(load(folder))
    head = json.loads((folder / "campaign.json").read_text())
    head["plan"]["question"] = "plain"
    (folder / "campaign.json").write_text(json.dumps(head))
    with pytest.raises(KneebenchError, match="control characters in the storage's name"):
        Brief(load(folder))


def test_what_is_drawn_keeps_its_own_colours_and_nothing_else() -> None:
    assert (
        drawn(Filtered(Text(f"{ODD}\nnext")))
        == "\\u001b]0;owned\\u001b[31m\\u009b2J\\u202edisk\nnext\n"
    )


def test_what_a_server_says_is_told_in_plain_lines_without_control_characters(
    tmp_path: Path,
) -> None:
    class Kept:
        text = ""

        def write(self, text: str) -> int:
            self.text += text
            return len(text)

        def flush(self) -> None:
            pass

    plan, kept = sized_plan(tmp_path, 4, memory=tmp_path), Kept()
    PlainLines(Progress(configurations(plan), plan.ladder, Expected(1.0, 1.0, 1.0)), kept)(
        Event(kind="warning", doing=f"FATAL: {ODD}")
    )
    assert "FATAL: \\u001b]0;owned" in kept.text
    assert not CONTROL.search(kept.text)


def test_the_default_plan_of_a_directory_with_an_odd_name_is_a_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("od\x1b[31md\n", *(200 * "x" for _ in range(3))):
        (tmp_path / name).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / name)
        assert "faster storage" in sized_plan(Path(), 4).question


def test_an_error_has_no_control_character_wherever_it_is_printed() -> None:
    error = KneebenchError("cannot read \x1b]0;a\x07", seen="it says \x1b[31m", do="see \u202ex")
    error.also("then \x9b2J")
    texts = (str(error), error.alone, error.what, error.seen, error.do)
    assert [one for one in texts if visible(one) != one] == []
    assert r"it says \u001b[31m" in str(error)


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-cmd", "@sum", "\t=1"])
def test_a_csv_has_no_cell_or_heading_that_a_spreadsheet_would_run(
    text: str, tmp_path: Path
) -> None:
    rows = list(csv.reader(as_csv([{"a": text, text: -1.5, "b": "-1.5"}]).decode().splitlines()))
    plain = r"\t=1" if text == "\t=1" else f"'{text}"
    assert rows == [["a", plain, "b"], [plain, "-1.5", "-1.5"]]
    empty = SweepRow._make([None] * len(SweepRow._fields))
    write_sweep(tmp_path / "x.csv", [empty._replace(storage=text, nopm=-1.5)])
    [row] = csv.DictReader((tmp_path / "x.csv").open())
    assert (row["storage"], row["nopm"]) == (plain, "-1.5")
