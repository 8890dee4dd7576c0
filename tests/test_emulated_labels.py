"""Campaigns on emulated drives say so first wherever several campaigns are shown, as simulated ones
do.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import kneebench
from kneebench.cli import app

SAMPLE = Path(__file__).parent.parent / "docs/samples/drives.kneebench"


@pytest.mark.parametrize("command", ["compare", "trend", "accept"])
def test_emulated_drives_are_named_first_in_every_form_of_an_answer(
    command: str, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    words = [command, str(SAMPLE), str(SAMPLE)]
    shown = CliRunner().invoke(app, [*words, "--page", str(page)])
    assert shown.stdout.lower().startswith("emulated drives. "), shown.output
    assert "Emulated drives: " in page.read_text()
    document = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert (document["simulated"], document["label"]) == (False, "Emulated drives")


def test_a_notebook_and_a_badge_name_emulated_drives(tmp_path: Path) -> None:
    one = kneebench.load(SAMPLE)
    assert "(emulated drives)" in kneebench.compare(one, one)._repr_html_()
    badge = tmp_path / "badge.svg"
    CliRunner().invoke(app, ["trend", str(SAMPLE), str(SAMPLE), "--badge", str(badge)])
    assert "kneebench, emulated drives: " in badge.read_text()
