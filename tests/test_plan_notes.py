"""`[notes]` of a plan: what no file of the machine says, in the author's words."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kneebench.brief import Brief
from kneebench.cli import app
from kneebench.errors import PlanError
from kneebench.plan import Plan
from kneebench.plan.plan import MOST_NOTES
from kneebench.plan.reader import parse_plan
from kneebench.plan.writer import to_toml
from kneebench.results import load
from kneebench.results.campaign_differences import differences
from kneebench.results.store import Store
from tests.recordings import recorded, recorded_host, recorded_plan, section, with_plan

NOTES = {"VT": "off in the BIOS", "RAID controller": "none; <b>no cache</b> [red]& more[/]"}


def test_a_plan_with_notes_is_written_and_read_back() -> None:
    plan = Plan.model_validate({"notes": NOTES, "storages": {"disk": {"path": "."}}})
    assert parse_plan(to_toml(plan)).notes == NOTES


@pytest.mark.parametrize(
    ("notes", "allowed"),
    [
        ('a = ""', "a text that is not empty"),
        ("a = 3", "text"),
        ('a = "two\\nlines"', "one line of text"),
        (f'a = "{"x" * 501}"', "at most 500"),
        (
            "\n".join(f'n{number} = "x"' for number in range(MOST_NOTES + 1)),
            f"at most {MOST_NOTES}",
        ),
    ],
)
def test_notes_have_limits_of_count_and_length(notes: str, allowed: str) -> None:
    with pytest.raises(PlanError, match=allowed):
        parse_plan(f"[notes]\n{notes}\n[storages.disk]\npath = '.'\n")


def test_the_brief_shows_them_as_the_authors_words_and_escaped() -> None:
    brief = Brief(with_plan(recorded(), notes=NOTES))
    [table] = section(brief, "notes").tables
    assert [row.cells for row in table.rows] == [*NOTES.items()]
    assert table.caption.startswith("Written by the author of the plan.")
    assert [column.title for column in table.columns] == ["Note", "In the author's words"]
    page = brief.html()
    assert escape(NOTES["RAID controller"]) in page
    assert NOTES["RAID controller"] not in page
    assert json.loads(brief.json())["campaign"]["plan"]["notes"] == NOTES


def test_a_brief_without_notes_has_no_section_of_them() -> None:
    assert "notes" not in [one.name for one in Brief(recorded()).sections]


def test_check_prints_them_as_the_authors_words(own_place: Path) -> None:
    text = '[notes]\nVT = "off [red]now[/]"\n[database]\nengine = "simulated"\n'
    text += '[storages.model]\nsimulated = { log_latency = "1ms" }\n'
    (own_place / "plan.toml").write_text(text)
    answer = CliRunner().invoke(app, ["check", "plan.toml", "--json"])
    [found] = [one for one in json.loads(answer.stdout) if "VT" in one["subject"]]
    assert (found["level"], found["seen"]) == ("ok", '"off [red]now[/]" (the author\'s words)')
    shown = " ".join(CliRunner().invoke(app, ["check", "plan.toml"]).stdout.split())
    assert 'notes: VT "off [red]now[/]" (the author\'s words)' in shown


def test_a_campaign_is_resumed_with_other_notes_and_keeps_the_latest(tmp_path: Path) -> None:
    before, host = recorded_plan(notes=NOTES), recorded_host()
    Store.create(tmp_path, before, host).close()
    after = before.model_copy(update={"notes": {**NOTES, "VT": "on, after all"}})
    with Store.for_plan(tmp_path, after, host) as store:
        store.reopen(after)
    assert [one.name for one in tmp_path.iterdir()] == [store.folder.name]
    kept = load(store.folder).campaign.plan["notes"]
    assert kept == {**NOTES, "VT": "on, after all"}


def test_compare_names_notes_that_differ() -> None:
    one, other = (with_plan(recorded(), notes={"VT": text}) for text in ("off", "on"))
    identifier = recorded().campaign.id
    assert differences(one, other) == [
        f"the author's note 'VT' is off in {identifier} and on in {identifier}"
    ]
