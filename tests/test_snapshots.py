"""What people read of the recorded campaigns, as text, so that every change of it is seen.

`pytest tests/test_snapshots.py --write-snapshots` writes the files again.
"""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from kneebench.brief import Brief
from kneebench.screen.summary import printed
from tests.page_text import text_of
from tests.recordings import recorded

SNAPSHOTS = Path(__file__).parent / "snapshots"
PAGES = ("plateau", "log_bound", "saturated")
TABLES = (*PAGES, "noisy")


def compared(name: str, text: str, request: pytest.FixtureRequest) -> None:
    file = SNAPSHOTS / name
    if request.config.getoption("--write-snapshots"):
        file.write_text(text)
    assert text.splitlines() == file.read_text().splitlines()


@pytest.mark.parametrize("name", PAGES)
def test_the_brief_of_a_recording_says_what_it_said_before(
    name: str, request: pytest.FixtureRequest
) -> None:
    compared(f"{name}.brief.txt", text_of(Brief(recorded(name)).html()), request)


@pytest.mark.parametrize("name", TABLES)
def test_the_table_of_a_recording_says_what_it_said_before(
    name: str, request: pytest.FixtureRequest
) -> None:
    console = Console(width=160, file=io.StringIO(), color_system=None)
    for part in printed(recorded(name)):
        console.print(part)
    assert isinstance(console.file, io.StringIO)
    lines = (line.rstrip() for line in console.file.getvalue().splitlines())
    compared(f"{name}.table.txt", "\n".join(lines) + "\n", request)
