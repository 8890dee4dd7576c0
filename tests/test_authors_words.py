"""`[brief]` of a plan: what its author adds to the page, marked as their words, and figures that
others published, marked as not measured here.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape
from pydantic import ValidationError
from typer.testing import CliRunner

from kneebench import run
from kneebench.analysis.comparison import compare
from kneebench.analysis.knee import knee
from kneebench.analysis.price import prices_of_work
from kneebench.brief import Brief
from kneebench.brief.drawn_rows import tables
from kneebench.brief.pdf import pdf
from kneebench.brief.sections import published
from kneebench.cli import app
from kneebench.errors import KneebenchError, PlanError
from kneebench.plan import Plan
from kneebench.plan.authors_words import MOST_FACTS, UNITS
from kneebench.plan.reader import parse_plan
from kneebench.plan.study import Study
from kneebench.plan.writer import to_bare_toml, to_toml
from kneebench.records import NoiseFloor, Results
from kneebench.records.campaign import PlannedDatabase
from kneebench.results import load
from kneebench.results.campaign_differences import differences
from kneebench.results.head import study_of
from kneebench.results.logo import kept_logo, read_logo
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

WORDS: dict[str, Any] = {
    "title": "Four <b>drives</b> & PostgreSQL",
    "authors": ["Ada Byron", "Grace Hopper"],
    "organisation": "Difference Engines",
    "summary": "What it means to a buyer.",
    "storages": {"disk": "the system drive, four years old"},
    "machine": {"VT": "off in the BIOS", "RAID": "none; <b>no cache</b> [red]& more[/]"},
}
SOURCE = "A vendor's brief of 2019"
RATIO = {"name": "NOPM", "kind": "ratio", "value": 2.5, "unit": "x", "source": SOURCE}
USERS = {"name": "users", "value": 192, "unit": "users", "storage": "disk", "source": SOURCE}
LINES = ("name", "NOPM at the knee, disk = 1", "Users at the knee")
PUBLISHED = [{**RATIO, "storage": "memory"}, USERS]


def worded() -> Results:
    return with_plan(recorded(), brief=WORDS)


def test_the_table_is_written_and_read_back() -> None:
    plan = Plan.model_validate({"brief": WORDS, "storages": {"disk": {"path": "."}}})
    for text in (to_toml(plan), to_bare_toml(Study(plan), defaults=False)):
        assert parse_plan(text).brief == plan.brief


@pytest.mark.parametrize(
    ("table", "allowed"),
    [
        ('titel = "x"', "one of: title, authors, organisation, logo, summary, storages, machine"),
        ('title = "two\\nlines"', "one line of text"),
        ('storages.tape = "x"', "a storage, one of: disk"),
        ('storages.disk = ""', "a text that is not empty"),
        (f"authors = {['x'] * 21}", "at most 20"),
        ('prices.tape = { amount = 1, currency = "EUR" }', "a storage, one of: disk"),
        ('prices.disk = { amount = 0, currency = "EUR" }', "above 0"),
        ('prices.disk = { amount = 1, currency = "euro" }', "currency"),
        ('machine.a = ""', "a text that is not empty"),
        ("machine.a = 3", "text"),
        ('machine.a = "two\\nlines"', "one line of text"),
        (f'machine.a = "{"x" * 501}"', "at most 500"),
        (
            "\n".join(f'machine.n{number} = "x"' for number in range(MOST_FACTS + 1)),
            f"at most {MOST_FACTS}",
        ),
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
    table = section(brief, "machine").tables[-1]
    assert [row.cells for row in table.rows] == [
        ("Storage: disk", "the system drive, four years old"),
        *WORDS["machine"].items(),
    ]
    assert table.caption.startswith("Written by the author of the plan.")
    assert str(escape(WORDS["machine"]["RAID"])) in page
    assert WORDS["machine"]["RAID"] not in page


def test_a_page_without_such_words_has_no_place_for_them() -> None:
    page = Brief(recorded()).html()
    assert not any(f'class="{name}"' in page for name in ("publication", "authors", "summary"))
    assert "Written by the author of the plan" not in page
    assert "published" not in [one.name for one in Brief(recorded()).sections]


def test_check_prints_facts_of_the_machine_as_the_authors_words(own_place: Path) -> None:
    text = '[brief.machine]\nVT = "off [red]now[/]"\n[database]\nengine = "simulated"\n'
    text += '[storages.model]\nsimulated = { log_latency = "1ms" }\n'
    (own_place / "plan.toml").write_text(text)
    answer = CliRunner().invoke(app, ["check", "plan.toml", "--json"])
    [found] = [one for one in json.loads(answer.stdout) if "VT" in one["subject"]]
    assert (found["level"], found["seen"]) == ("ok", '"off [red]now[/]" (the author\'s words)')
    shown = " ".join(CliRunner().invoke(app, ["check", "plan.toml"]).stdout.split())
    assert 'brief.machine: VT "off [red]now[/]" (the author\'s words)' in shown


def test_compare_names_facts_of_the_machine_that_differ() -> None:
    one, other = (with_plan(recorded(), brief={"machine": {"VT": text}}) for text in ("off", "on"))
    identifier = recorded().campaign.id
    assert differences(one, other) == [
        f"in the author's words 'VT' is off in {identifier} and on in {identifier}"
    ]


# --- published figures ----------------------------------------------------------------------------


def test_a_figure_may_have_each_name_with_each_of_its_units() -> None:
    for name, units in UNITS.items():
        for unit, factor in units.items():
            one = {**USERS, "name": name, "unit": unit, "value": 2}
            plan = Plan.model_validate(
                {"brief": {"published": [one]}, "storages": {"disk": {"path": "."}}}
            )
            assert plan.brief.published[0].in_results_unit == 2 * factor
            assert parse_plan(to_toml(plan)).brief == plan.brief
    assert list(published.OWN) == list(UNITS)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ('name = "NOPMs"', 'name found: "NOPMs" allowed: one of: NOPM, TPM, users, mean latency'),
        ("value = 0", "value found: 0 allowed: number above 0"),
        ("value = '3'", 'value found: "3" allowed: number above 0'),
        ('unit = "x"', 'unit found: "x" allowed: one of: NOPM'),
        ('kind = "ratio"', 'unit found: "NOPM" allowed: one of: x'),
        ('kind = "mean"', 'kind found: "mean" allowed: "figure" or "ratio" or "profile"'),
        ('storage = "tape"', 'storage found: "tape" allowed: a storage, one of: disk, memory'),
        ('kind = "ratio"\nunit = "x"', "allowed: a storage other than the baseline 'disk'"),
        ('constraint = "1 core"', "allowed: no value without constraints"),
        ('source = ""', "allowed: a text that is not empty"),
        ("source", "missing required key brief.published.0.source"),
        ('page = "3"', 'unknown key "page".*allowed: one of: name, kind, value, unit, storage'),
    ],
)
def test_a_wrong_published_figure_is_an_error_with_its_line_and_what_is_allowed(
    change: str, error: str
) -> None:
    right = {"name": '"NOPM"', "value": "1000", "unit": '"NOPM"', "storage": '"disk"'}
    given = (line.partition(" = ") for line in change.split("\n"))
    lines = {**right, "source": '"A brief"', **{key: value for key, _, value in given}}
    entry = "\n".join(f"{key} = {value}" for key, value in lines.items() if value)
    text = f'[storages]\ndisk.path = "a"\nmemory.path = "b"\n[[brief.published]]\n{entry}\n'
    with pytest.raises(PlanError) as caught:
        parse_plan(text, "plan.toml")
    assert re.search(error, " ".join(str(caught.value).split()))
    line = int(re.findall(r"plan.toml, line (\d+)", str(caught.value))[0])
    assert 4 <= line <= 3 + len(text.splitlines()), "it is in the table of the figure"


def test_published_figures_stand_marked_beside_those_measured_and_change_none_of_them() -> None:
    results = with_plan(recorded(), brief={"published": PUBLISHED})
    brief = Brief(results)
    found = section(brief, "published")
    [table], [figure] = found.tables, found.figures
    [nopm, users] = [row.cells for row in table.rows]
    [own] = [one for one in compare(results) if one.quantity == "nopm"]
    assert nopm[:2] == ("NOPM at the knee, disk = 1", "memory")
    assert nopm[2].startswith(f"{own.ratio.value:.2f}x\n(")
    assert nopm[3:] == ("2.5x", SOURCE)
    assert users == ("Users at the knee", "disk", "4 users", "192 users", SOURCE)
    assert table.columns[3].title == "Published, not measured here"
    for caption in (table.caption, figure.caption):  # the table has the source of each
        assert "ublished, not measured here" in caption
    drawn = [row for rows in tables(figure.spec) for row in rows if row["published"]]
    assert [{key: row[key] for key in row if key in LINES} for row in drawn] == [
        {"name": "memory: published, not measured here", "NOPM at the knee, disk = 1": 2.5},
        {"name": "disk: published, not measured here", "Users at the knee": 192.0},
    ]
    assert compare(results) == compare(recorded())
    assert (brief.title, brief.subtitle) == (Brief(recorded()).title, Brief(recorded()).subtitle)
    page = brief.html()
    assert page.count("ublished, not measured here") >= 4


def test_a_published_figure_of_what_was_not_measured_stands_alone_and_says_so() -> None:
    power = {**RATIO, "name": "power per NOPM", "value": 0.82, "storage": "memory"}
    found = section(Brief(with_plan(recorded(), brief={"published": [power]})), "published")
    [row] = found.tables[0].rows
    assert row.cells[2:4] == ("not measured", "0.82x")
    [rows] = tables(found.figures[0].spec)
    assert [one["published"] for one in rows] == [True]


def test_a_campaign_is_resumed_with_other_words_and_keeps_the_latest(tmp_path: Path) -> None:
    before, host = recorded_plan(brief=WORDS), recorded_host()
    Store.create(tmp_path, Study(before), host).close()
    words = {**WORDS, "title": "Another", "target": 20_000}
    after = Plan.model_validate({**before.model_dump(), "brief": words})
    with Store.for_study(tmp_path, Study(after), host) as store:
        store.reopen()
    assert [one.name for one in tmp_path.iterdir()] == [store.folder.name]
    campaign = load(store.folder).campaign
    kept = campaign.plan["brief"]
    assert isinstance(kept, dict) and kept["title"] == "Another"
    assert campaign.resolved.target == 20_000


def priced(per: str = "once", **amounts: float) -> Results:
    prices = {
        name: {"amount": amount, "currency": "EUR", "per": per} for name, amount in amounts.items()
    }
    results = with_plan(recorded(), brief={"prices": prices})
    return with_campaign(results, resolved=study_of(results.campaign).resolved)


def test_prices_of_one_plan_are_in_one_currency_and_paid_alike() -> None:
    each = {
        "disk": '{ amount = 1, currency = "EUR" }',
        "memory": '{ amount = 1, currency = "USD" }',
    }
    table = "\n".join(f"{name} = {price}" for name, price in each.items())
    storages = "[storages]\ndisk = { path = 'a' }\nmemory = { path = 'b' }\n"
    with pytest.raises(PlanError, match="prices in one currency"):
        parse_plan(f"[brief.prices]\n{table}\n{storages}")


def test_a_price_of_work_is_the_price_over_nopm_with_its_interval() -> None:
    results = priced(disk=2100, memory=4200)
    disk, memory = results.climbs
    found = prices_of_work(results)[memory.id]
    nopm = knee(memory).nopm
    assert found.unit == "EUR/NOPM"
    assert found.work.value == pytest.approx(4200 / nopm.value)
    assert (found.work.low, found.work.high) == pytest.approx((4200 / nopm.high, 4200 / nopm.low))
    ratios = {one.quantity: one for one in compare(results)}
    price, of_nopm = ratios["price.per_nopm"].ratio, ratios["nopm"].ratio
    assert price.value == pytest.approx(2 / of_nopm.value)
    assert (price.low, price.high) == pytest.approx((2 / of_nopm.high, 2 / of_nopm.low))
    hourly = prices_of_work(priced("hour", disk=0.5))
    assert [*hourly] == [disk.id]
    assert hourly[disk.id].work.value == pytest.approx(0.5e6 / 60 / knee(disk).nopm.value)
    assert hourly[disk.id].unit == "EUR per million New-Orders"


def test_a_brief_has_the_price_of_work_as_a_card_in_its_table_and_for_programs() -> None:
    brief = Brief(priced(disk=2100, memory=4200))
    glance = section(brief, "glance")
    assert [one for one in glance.numbers if "price of work at the knee" in one.says]
    used = next(one for one in glance.tables if one.columns[-1].title == "Price")
    assert all("EUR/NOPM" in row.cells[-1] for row in used.rows)
    assert "Prices are the author's words." in used.caption
    assert "price of work" in brief.subtitle
    assert {one["unit"] for one in brief.document()["prices"].values()} == {"EUR/NOPM"}
    assert Brief(recorded()).document()["prices"] == {}


def test_prices_claim_no_difference_that_nopm_has_not_and_one_run_has_no_ratio_of_them() -> None:
    results = priced(disk=100, memory=100)
    loud = NoiseFloor(shares={"nopm": 3.0}, pairs=9, measured_at="")
    noisy = results.model_copy(
        update={
            "climbs": tuple(one.model_copy(update={"noise_floor": loud}) for one in results.climbs)
        }
    )
    found = {one.quantity: one.differs for one in compare(noisy)}
    assert (found["nopm"], found["price.per_nopm"]) == (False, False)
    first = [
        one.model_copy(update={"rungs": tuple(r for r in one.rungs if r.order.repeat in (0, 1))})
        for one in results.climbs
    ]
    alone = {one.quantity for one in compare(results.model_copy(update={"climbs": tuple(first)}))}
    assert "nopm" in alone and "price.per_nopm" not in alone


def test_a_price_may_be_changed_after_the_campaign(tmp_path: Path) -> None:
    before, host = recorded_plan(), recorded_host()
    Store.create(tmp_path, Study(before), host).close()
    prices = {"disk": {"amount": 5, "currency": "EUR"}}
    after = Plan.model_validate({**before.model_dump(), "brief": {"prices": prices}})
    with Store.for_study(tmp_path, Study(after), host) as store:
        store.reopen()
    price = load(store.folder).campaign.resolved.storages["disk"].price
    assert price and (price.amount, price.per) == (5, "once")


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


ACTIVE_SVGS = {
    "a <script>": '<svg:script xmlns:svg="http://www.w3.org/2000/svg">x()</svg:script>',
    "the attribute onload": '<rect onload="x()"/>',
    "a <foreignobject>": "<foreignObject><p/></foreignObject>",
    "the attribute href to another file": '<image href="http://a.example/x.png"/>',
    "the attribute style": '<rect style="fill: url(//a.example/x)"/>',
    "a style that refers to another file": "<style>@import 'x.css'; </style>",
    "a processing instruction": '<?xml-stylesheet href="x.css"?>',
    "no valid XML": "<rect>",
}


@pytest.mark.parametrize("why", ACTIVE_SVGS)
def test_a_logo_that_does_more_than_a_picture_is_refused_also_in_an_archive(
    why: str, tmp_path: Path
) -> None:
    file = tmp_path / "logo.svg"
    file.write_text(f"<svg>{ACTIVE_SVGS[why]}</svg>")
    with pytest.raises(PlanError, match=f"brief.logo: {file} has {why}"):
        read_logo(file)
    with pytest.raises(KneebenchError, match=f"cannot use {file}: it has {why}"):
        kept_logo(tmp_path)
    with zipfile.ZipFile(tmp_path / "theirs.kneebench", "w") as archive:
        archive.writestr("campaign.json", "{}")
        archive.writestr("logo.svg", file.read_text())
    with pytest.raises(KneebenchError, match=rf"theirs.kneebench: its logo.svg has {why}"):
        load(tmp_path / "theirs.kneebench")


def test_a_logo_may_refer_to_its_own_parts_and_have_pictures_within(tmp_path: Path) -> None:
    (tmp_path / "logo.svg").write_text(
        '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/svg11.dtd">'
        '<svg xmlns:l="http://www.w3.org/1999/xlink"><style>rect { fill: url(#a) }</style>'
        '<image l:href="data:image/png;base64,AA"/><use href="#a"/>'
        "<rect style=\"fill: url('#a')\"/><text>a\\b</text></svg>"
    )
    assert kept_logo(tmp_path)
