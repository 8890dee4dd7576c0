"""`[brief]` of a plan: what its author adds to the page, marked as their words."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path

import pytest
from markupsafe import escape
from pydantic import ValidationError

from kneebench.brief import Brief
from kneebench.brief.pdf import pdf
from kneebench.campaign.flow import run
from kneebench.errors import PlanError
from kneebench.plan import Plan
from kneebench.plan.reader import parse_plan
from kneebench.plan.writer import to_bare_toml, to_toml
from kneebench.records import Results
from kneebench.records.resolved_plan import PlannedDatabase
from kneebench.results import load
from kneebench.results.store import Store
from tests.recordings import (
    recorded,
    recorded_host,
    recorded_plan,
    section,
    with_campaign,
    with_plan,
)
from tests.simulated_campaign import plan as simulated

WORDS = {
    "title": "Four <b>drives</b> & PostgreSQL",
    "authors": ["Ada Byron", "Grace Hopper"],
    "organisation": "Difference Engines",
    "summary": "What it means to a buyer.",
    "storages": {"disk": "the system drive, four years old"},
}


def worded() -> Results:
    return with_plan(recorded(), brief=WORDS)


def test_the_table_is_written_and_read_back() -> None:
    plan = Plan.model_validate({"brief": WORDS, "storages": {"disk": {"path": "."}}})
    for text in (to_toml(plan), to_bare_toml(plan, defaults=False)):
        assert parse_plan(text).brief == plan.brief


@pytest.mark.parametrize(
    ("table", "allowed"),
    [
        ('titel = "x"', "one of: title, authors, organisation, logo, summary, storages"),
        ('title = "two\\nlines"', "one line of text"),
        ('storages.tape = "x"', "a storage, one of: disk"),
        ('storages.disk = ""', "a text that is not empty"),
        (f"authors = {['x'] * 21}", "at most 20"),
    ],
)
def test_a_wrong_table_is_refused_with_what_is_allowed(table: str, allowed: str) -> None:
    with pytest.raises(PlanError, match=allowed):
        parse_plan(f"[brief]\n{table}\n[storages.disk]\npath = '.'\n")


def test_the_page_has_the_words_escaped_and_the_finding_stays_its_title() -> None:
    brief = Brief(worded())
    page = brief.html()
    header = page[page.index("<header>") : page.index("</header>")]
    title = str(escape(WORDS["title"]))
    assert f'<p class="publication">{title}</p>' in header
    assert "Ada Byron, Grace Hopper, Difference Engines" in header
    assert header.index(title) < header.index(f"<h1>{escape(brief.title)}</h1>")
    assert header.index("What it means to a buyer.") < header.index("In the author's words")
    [table] = section(brief, "notes").tables
    assert table.rows[0].cells == ("Storage: disk", "the system drive, four years old")


def test_a_page_without_such_words_has_no_place_for_them() -> None:
    page = Brief(recorded()).html()
    assert not any(f'class="{name}"' in page for name in ("publication", "authors", "summary"))


def test_a_campaign_is_resumed_with_other_words_and_keeps_the_latest(tmp_path: Path) -> None:
    before, host = recorded_plan(brief=WORDS), recorded_host()
    Store.create(tmp_path, before, host).close()
    after = Plan.model_validate({**before.model_dump(), "brief": {**WORDS, "title": "Another"}})
    with Store.for_plan(tmp_path, after, host) as store:
        store.reopen(after)
    assert [one.name for one in tmp_path.iterdir()] == [store.folder.name]
    kept = load(store.folder).campaign.plan["brief"]
    assert isinstance(kept, dict) and kept["title"] == "Another"


def test_what_a_licence_asks_of_those_who_publish_stands_at_the_end_of_the_page() -> None:
    assert Brief(recorded()).publishing == ()
    databases = {"": PlannedDatabase(engine="sqlserver")}
    resolved = recorded().campaign.resolved.model_copy(update={"databases": databases})
    brief = Brief(with_campaign(recorded(), resolved=resolved))
    (sentence,) = brief.publishing
    assert "prior written approval" in sentence
    assert str(escape(sentence)) in brief.html().partition("<footer>")[2]


def test_the_logo_is_copied_into_the_folder_and_stands_in_the_page_and_the_pdf(
    tmp_path: Path,
) -> None:
    picture = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><rect/></svg>'
    (tmp_path / "ours.svg").write_text(picture)
    brief = {"logo": tmp_path / "ours.svg", "organisation": "Example"}
    results = run(simulated(brief=brief), tmp_path)
    assert results.folder and (results.folder / "logo.svg").read_text() == picture
    (tmp_path / "ours.svg").unlink()
    copied = load(shutil.copytree(results.folder, tmp_path / "copied"))
    page = Brief(copied).html()
    encoded = base64.b64encode(picture.encode()).decode()
    assert f'src="data:image/svg+xml;base64,{encoded}" alt="Example"' in page
    assert len(pdf(Brief(copied))) > 1000
    with pytest.raises(PlanError, match="No such file"):
        run(simulated(brief=brief, seed=2), tmp_path)


def test_a_logo_that_is_no_picture_is_an_error_of_the_plan() -> None:
    with pytest.raises(ValidationError, match=r"ends in \.svg or \.png"):
        simulated(brief={"logo": "logo.exe"})
