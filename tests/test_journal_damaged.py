"""A damaged entry of the journal is named, and hinders nothing else: on real files, through the
command line.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kneebench.cli import app
from kneebench.lab.changes.directory import MadeDirectory
from kneebench.lab.journal import Journal
from kneebench.lab.removal import MARKER
from kneebench.plan.preset import preset_text

PLAN = preset_text("simulated").replace('"30s"', '"10s"')
DAMAGES = {
    "empty": b"",
    "half": b'{"id": "a", "kind": "direc',
    "binary": b"\x00\xff\xfe",
    "of another kind": b'{"id": "a", "kind": "array", "what": "drives"}',
}


@pytest.fixture(params=[*DAMAGES, "a directory"])
def damaged(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The damaged file, read before another entry: a directory that a killed run left."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "plan.toml").write_text(PLAN)
    journal, left = Journal(), tmp_path / "left"
    left.mkdir()
    (left / MARKER).touch()
    entry = journal.change(MadeDirectory, "data", path=str(left)).model_copy(
        update={"id": "b", "owner_started": 1}
    )
    (journal.folder / "b.json").write_text(entry.model_dump_json())
    file = journal.folder / "a.json"
    file.mkdir() if request.param == "a directory" else file.write_bytes(DAMAGES[request.param])
    return file


def call(*words: str) -> tuple[int, str, str]:
    result = CliRunner(env={"COLUMNS": "400", "NO_COLOR": "1"}).invoke(app, list(words))
    return result.exit_code, result.stdout, result.stderr


def test_clean_names_a_damaged_entry_and_undoes_the_others(damaged: Path, tmp_path: Path) -> None:
    code, out, err = call("clean")
    assert (code, out) == (0, f"removed: data ({tmp_path / 'left'})\n")
    assert f"the journal entry {damaged} cannot be read" in err
    assert f"rm {damaged}" in err
    assert not (tmp_path / "left").exists()
    assert call("clean")[1] == "", "it does not say that nothing was left over"


def test_check_names_a_damaged_entry_and_finds_the_rest(damaged: Path) -> None:
    code, out, _ = call("check", "plan.toml", "--json")
    found = json.loads(out)
    assert code == 0
    [finding] = [one for one in found if one["subject"] == "journal"]
    assert str(damaged) in finding["seen"]
    assert finding["level"] == "warning"
    assert "an earlier run left data" in [one["seen"] for one in found]


@pytest.mark.parametrize("damaged", ["half"], indirect=True)
def test_run_names_a_damaged_entry_and_measures(damaged: Path, tmp_path: Path) -> None:
    code, out, err = call("run", "plan.toml", "--no-brief", "--yes")
    assert code == 0, err
    assert str(damaged) in err
    assert not (tmp_path / "left").exists()
    assert "results:" in out
