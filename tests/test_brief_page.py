"""The brief says what was found, how sure it is, and first of all what went wrong."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import altair
import pytest

from kneebench.brief import Brief, chart_theme, markdown
from kneebench.brief.drawn_rows import as_csv
from kneebench.brief.section import Figure
from kneebench.brief.sections import CONTENTS, FIGURES
from kneebench.databases.several import engine_of
from kneebench.engine_properties import Quantity, engine_properties
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.plan.reader import read_plan
from kneebench.plan.study import Study
from kneebench.records import (
    Check,
    Climb,
    Configuration,
    Remark,
    Results,
    Rung,
    StopResult,
    Whereabouts,
)
from kneebench.results import Store, load
from kneebench.shelf import SECTIONS
from kneebench.units import time
from tests.page_text import text_of
from tests.recordings import (
    changed,
    each,
    metered,
    recorded,
    recorded_host,
    recorded_plan,
    section,
    with_campaign,
    with_equal_repeats,
    with_ladder,
    with_latency,
    with_order,
    with_plan,
    with_rungs,
    with_share_of_new_orders,
    with_tally,
    with_throughput,
)
from tests.remarks import why_invalid, with_notes

DERIVED = "Derived from TPC-C, not comparable with TPC results."


@pytest.fixture(scope="module")
def results() -> Results:
    """The recording with repeats that agree, so that its storages differ significantly."""
    return with_equal_repeats(recorded())


@pytest.fixture(scope="module")
def page(results: Results) -> str:
    return Brief(results).html()


class Page(HTMLParser):
    """What a page would fetch, and what it has of each tag; a file to be saved is within it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.tags: dict[str, int] = {}
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.fetched += [
            f"{tag} {name}={value}"
            for name, value in attrs
            if name in ("src", "href", "xlink:href", "srcset", "data", "action")
            and value
            and value[0] != "#"
            and not (tag == "a" and value.startswith("data:"))
        ]
        self.ids += [value for name, value in attrs if name == "id" and value]


def test_the_page_fetches_nothing_and_runs_nothing(page: str) -> None:
    read = Page(page)
    assert read.fetched == []
    assert not {"script", "link", "iframe", "img"} & set(read.tags)
    assert not re.search(r"@import|@font-face|url\((?!#)", page)
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


def test_the_page_has_all_figures_drawn_and_no_name_twice(page: str) -> None:
    read = Page(page)
    assert read.tags["figure"] == read.tags["svg"] == 12
    assert len(read.ids) == len(set(read.ids))
    for number in ("1", "2a", "2b", "2c", "2d", "3", "4", "5a", "5b", "6a", "7", "A1"):
        assert f"Fig. {number}" in page


def ratio_of_nopm(results: Results) -> float:
    """Memory's throughput at its knee by that of disk, where all repeats are the same."""
    disk, memory = (climb.of("final_run")[0].tally.nopm for climb in results.climbs)
    return memory / disk


def ratio_of_latency(results: Results) -> float:
    """Memory's mean latency at the fixed rate by that of disk, where all repeats are the same."""
    disk, memory = (climb.of("fixed_rate")[0].tally.latency.mean_s for climb in results.climbs)
    return memory / disk


def test_the_title_is_a_finding_with_its_interval(results: Results, page: str) -> None:
    title, subtitle = Brief(results).title, Brief(results).subtitle
    nopm, latency = ratio_of_nopm(results), ratio_of_latency(results)
    assert title.removesuffix(" (data cached)") == f"Memory: {nopm:.1f}x disk's NOPM at the knee"
    assert re.match(
        rf"NOPM at the knee {nopm:.2f}x, {100 * (nopm - 1):.0f}% more"
        r" \(95% CI [\d.]+x to [\d.]+x, n=3\);"
        rf" mean latency {latency:.3g}x at ",
        subtitle,
    )
    assert f"<title>{title.replace(chr(39), '&#39;')}</title>" in page
    assert f'<p class="subtitle">{subtitle}</p>' in page
    assert "No figure was measured on hardware" not in page
    assert page.count(DERIVED) == 2


def test_the_title_of_a_simulated_campaign_says_simulated(results: Results) -> None:
    brief = Brief(simulated(results))
    finding = Brief(results).title.partition(",")[0].removesuffix(" at the knee")
    assert brief.title.startswith(f"Simulated. {finding}")
    assert "No figure was measured on hardware" in brief.html()


def test_every_storage_has_a_verdict_with_what_stopped_it(results: Results) -> None:
    stop_reasons = section(Brief(results), "glance").stop_reasons
    assert [one.name for one in stop_reasons] == ["disk", "memory"]
    for stop_reason, climb in zip(stop_reasons, results.climbs, strict=True):
        assert climb.ended_by and climb.ended_by.sentence in stop_reason.sentence
        assert stop_reason.sentence.startswith("Knee: ")
        assert " NOPM (" not in stop_reason.sentence, "the table has them"


def test_the_glance_table_has_latency_beside_every_relative_nopm(results: Results) -> None:
    table, *_ = section(Brief(results), "glance").tables
    assert [column.title for column in table.columns][2:6] == [
        "NOPM",
        "Vs. baseline",
        "Mean latency",
        "P99.9 latency",
    ]
    disk, memory = table.rows
    low, high = results.climbs[0].bracket
    users = re.fullmatch(rf"{results.climbs[0].knee_users} \((\d+) to (\d+)\)", disk.cells[1])
    assert users and int(users[1]) <= low <= high <= int(users[2])
    assert (disk.cells[0], disk.cells[3], disk.cells[-1]) == ("disk", "baseline", "plateau")
    ratio = f"{ratio_of_nopm(results):.2f}x"
    assert memory.cells[3] == f"{ratio}\n({ratio} to {ratio}, n=3)"


def test_the_latency_at_the_fixed_rate_has_a_table_of_its_own_with_its_share_of_each_knee(
    results: Results,
) -> None:
    _, table, *_ = section(Brief(results), "glance").tables
    (rate,) = {r.order.rate_per_s for climb in results.climbs for r in climb.of("fixed_rate")}
    assert table.caption.startswith(
        f"At a fixed rate: open loop, {rate:,.0f} transactions/s on every storage"
    )
    for row, climb in zip(table.rows, results.climbs, strict=True):
        knee, alone = climb.of("final_run")[0], climb.of("fixed_rate")[0]
        mean = time(alone.tally.latency.mean_s)
        assert row.cells[:3] == (
            climb.configuration.storage,
            f"{60 * rate / knee.tpm:.0%}",
            f"{mean}\n({mean} to {mean})",
        )


def test_the_table_of_rungs_has_them_all_and_labels_the_search(results: Results) -> None:
    (table,) = section(Brief(results), "rungs").tables
    labels = [row.cells[1] for row in table.rows if row.cells[0] == "disk"]
    searched, halved = (len(results.climbs[0].of(phase)) for phase in ("search", "bisection"))
    assert labels == [
        "warm-up",
        *["search"] * searched,
        *["search (bisection)"] * halved,
        "drift check",
        "knee 1",
        "fixed rate 1",
        "knee 2",
        "fixed rate 2",
        "knee 3",
        "fixed rate 3",
    ]
    assert len(table.rows) == sum(len(climb.rungs) for climb in results.climbs)
    first = dict(zip([column.title for column in table.columns], table.rows[0].cells, strict=True))
    rung = results.climbs[0].rungs[0]
    assert first["NOPM"] == f"{rung.tally.nopm:,.0f}"
    assert first["TPM/NOPM"] == f"{rung.tpm / rung.tally.nopm:.4f}"
    assert first["P99.9"].endswith(" ms (n too small)")


def test_what_was_not_measured_is_a_dash_and_never_nought(results: Results) -> None:
    bare = changed(results, {"quantities": {}, "restore_s": None}, rung=0)
    (table,) = section(Brief(bare), "costs").tables
    assert set(table.rows[0].cells[3:]) == {"–"}


def test_an_engine_adds_the_columns_of_its_own_quantities_to_the_costs(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    (table,) = section(Brief(results), "costs").tables
    titles = [column.title for column in table.columns]
    assert titles[titles.index("Cache hits") + 1] == "Dead rows"
    own = {"tables.purges": Quantity("1/s", "counter", heading="Purges")}
    monkeypatch.setattr(engine_properties("postgres"), "own_quantities", own)
    (table,) = section(Brief(results), "costs").tables
    others = [title.replace("Dead rows", "Purges") for title in titles]
    assert [column.title for column in table.columns] == others
    assert {len(row.cells) for row in table.rows} == {len(titles)}


def test_a_note_that_differs_in_its_figure_alone_is_said_once_with_the_largest(
    results: Results,
) -> None:
    def delayed(rung: Rung, seconds: float) -> Rung:
        words = f"delay {seconds:g} s"
        remark = Remark(kind="delay", severity="note", words=words, value=seconds, unit="s")
        return rung.model_copy(update={"remarks": (remark,)})

    first, second, *others = results.climbs[0].rungs
    changed = (delayed(first, 0.5), delayed(second, 2.0), *others)
    (table,) = section(Brief(with_rungs(results, 0, changed)), "rungs").tables
    number = str(table.notes.index("delay 2 s (the worst of 2 rungs)") + 1)
    assert [row.cells[-1] for row in table.rows[:2]] == [number, number]
    assert all(number not in row.cells[-1].split(", ") for row in table.rows[2:])


def test_an_uncertain_percentile_is_marked_in_its_figure(results: Results) -> None:
    once = with_rungs(
        results,
        0,
        tuple(
            r
            for r in results.climbs[0].rungs
            if r.order.phase != "fixed_rate" or r.order.repeat == 1
        ),
    )
    figure = next(
        one for one in section(Brief(once), "latency").figures if one.name == "latency-p999"
    )
    assert r" ms\n(n too small)" in json.dumps(figure.spec)
    n, more = (
        sum(rung.tally.latency.n for rung in climb.of("fixed_rate")) for climb in once.climbs
    )
    assert (
        ' "n too small": fewer than 100 samples exceed the percentile'
        f" (disk {n:,} transactions; memory {more:,} transactions)." in figure.caption
    )


def test_the_curve_follows_the_users_and_not_the_throughput(results: Results) -> None:
    (figure,) = section(Brief(results), "curve").figures
    assert '"order": {"field": "users", "type": "quantitative"}' in json.dumps(figure.spec)


def test_a_failed_check_stands_above_the_title_and_sets_the_exit_code(results: Results) -> None:
    check = Check(
        name="little",
        passed=False,
        seen="4.1%",
        limit="2%",
        sentence="Users / throughput is 4.1% off the mean latency.",
    )
    brief = Brief(changed(results, {"checks": (check,)}))
    text = brief.html()
    assert brief.exit_code == 4
    assert 0 < text.index("4.1% off the mean latency") < text.index("<h1>")
    assert "Do not quote figures" in text


def test_an_invalid_rung_is_told_first_and_left_out(results: Results) -> None:
    busy = why_invalid("the load generator was 84% busy (limit 80%)")
    sound, brief = (Brief(one) for one in (results, changed(results, {"remarks": busy})))
    assert brief.exit_code == 3
    assert brief.html().index("84% busy") < brief.html().index("<h1>")
    left_out = f'"users": {results.climbs[0].rungs[3].users}, "nopm": '
    drawn = [
        json.dumps(section(one, "curve").figures[0].spec).count(left_out) for one in (sound, brief)
    ]
    assert drawn[1] < drawn[0]


def test_a_sound_campaign_has_no_alarm_and_exit_code_nought(results: Results, page: str) -> None:
    assert Brief(results).exit_code == 0
    assert 'role="alert"' not in page


def test_an_unfinished_campaign_renders_and_says_what_is_missing(results: Results) -> None:
    disk, memory = results.climbs
    climbs = (
        disk.model_copy(update={"rungs": disk.of("warm_up", "search", "bisection", "drift_check")}),
        Climb(configuration=memory.configuration, rungs=memory.of("search")[:3]),
    )
    brief = Brief(results.model_copy(update={"climbs": climbs, "finished": False}))
    said = section(brief, "missing").sentences
    assert (
        "disk: 0 of 3 final runs at the knee are done; search rungs are never quoted instead."
        in said
    )
    assert "memory: the climb is unfinished (3 rungs up to 8 users) and has no knee." in said
    assert "No final runs yet" in brief.title
    assert "Fig. 3" in brief.html()


def test_a_fixed_load_that_was_not_repeated_lacks_all_its_repeats(results: Results) -> None:
    fixed = with_order(results.climbs[0].of("search")[0], phase="fixed_load", users=14)
    climbs = tuple(
        climb.model_copy(update={"rungs": (fixed,), "stopped_by": "users"})
        for climb in results.climbs
    )
    unfinished = results.model_copy(update={"climbs": climbs, "finished": False})
    said = section(Brief(with_ladder(unfinished, users=14)), "missing").sentences
    assert any("0 of 3 final runs" in sentence for sentence in said), said


def test_a_climb_that_a_limit_ended_is_not_called_a_plateau(results: Results) -> None:
    for number in (0, 1):
        results = each(results, number, lambda r: with_throughput(r, 1000.0), "search")

    def sentences(stopped_by: str) -> str:
        climbs = tuple(
            climb.model_copy(update={"stopped_by": stopped_by}) for climb in results.climbs
        )
        return " ".join(
            one.sentence
            for one in section(
                Brief(results.model_copy(update={"climbs": climbs})), "glance"
            ).stop_reasons
        )

    assert "A plateau, not a proven peak." in sentences("plateau")
    assert "a plateau" not in sentences("budget")


def test_title_big_numbers_and_first_figure_speak_of_the_same_storage(results: Results) -> None:
    def scaled(climb: Climb, share: float, name: str) -> Climb:
        def fewer(rung: Rung) -> Rung:
            return with_order(with_share_of_new_orders(rung, share), configuration=name)

        return climb.model_copy(
            update={
                "configuration": Configuration(id=name, storage=name),
                "rungs": tuple(map(fewer, climb.rungs)),
            }
        )

    disk, memory = results.climbs
    brief = Brief(results.model_copy(update={"climbs": (disk, memory, scaled(disk, 0.1, "tape"))}))
    (figure,) = section(brief, "relative").figures
    assert brief.title.startswith("Tape: 0.1"), brief.title
    assert figure.title.startswith("Tape: 0.1")
    assert "tape vs. disk" in section(brief, "glance").numbers[0].says


def test_a_campaign_with_nothing_measured_renders(tmp_path: Path) -> None:
    store = Store.create(tmp_path, Study(recorded_plan()), recorded_host())
    brief = Brief(load(store.folder))
    assert section(brief, "missing").sentences[1:] == (
        "disk: not measured yet.",
        "memory: not measured yet.",
    )
    assert DERIVED in brief.html()


def test_one_run_of_each_knee_claims_no_difference_and_draws_no_whisker(results: Results) -> None:
    for place, climb in enumerate(results.climbs):
        results = with_rungs(
            results, place, tuple(rung for rung in climb.rungs if rung.order.repeat < 2)
        )
    brief = Brief(results)
    assert "Too uncertain to compare memory and disk" in brief.title
    assert section(brief, "glance").numbers[0].value == "Too uncertain"
    assert section(brief, "glance").numbers[0].sure == (
        f"{ratio_of_nopm(results):.1f}x (interval unknown: n=1 is too few)"
    )
    (figure,) = section(brief, "relative").figures
    assert "too few runs for an interval" in figure.caption
    assert '"high": null' in json.dumps(figure.spec)


def test_few_warehouses_and_quick_windows_are_caveats(results: Results) -> None:
    sentences = section(Brief(results), "cautions").sentences
    warehouses = results.campaign.plan["workload"]["warehouses"]
    each_has = warehouses / max(climb.knee_users or 0 for climb in results.climbs)
    assert (
        f"Only {each_has:g} warehouses per user at the knee (all storages). Below 4 per user, row"
        " contention masks storage differences." in sentences
    )
    one_each = {**results.campaign.plan["workload"], "warehouses": round(warehouses / each_has)}
    said = section(Brief(with_plan(results, workload=one_each)), "cautions").sentences
    assert any(one.startswith("Only 1 warehouse per user at the knee (") for one in said)
    assert any(
        "burst of full-page images after them. It cannot show whether the removal of old rows"
        " keeps up" in sentence
        for sentence in sentences
    )


def test_clones_and_memory_backed_storage_are_caveats(results: Results) -> None:
    brief = Brief(
        with_plan(results, database={"engine": "postgres", "restore": "clone"}, storages=FILES)
    )
    said = " ".join(section(brief, "cautions").sentences)
    assert "the runs include the copy-on-write of shared blocks" in said
    assert (
        "Memory is memory-backed storage (tmpfs): an estimate of what faster storage could buy, not"
        " a bound." in said
    )
    assert "No figure was measured" not in brief.html()


def test_with_hardly_any_device_reads_the_title_says_data_cached(results: Results) -> None:
    def reading(reads: float) -> Results:
        seen = results
        for climb in (0, 1):
            seen = each(seen, climb, lambda r: metered(r, device__reads_per_transaction=reads))
        return seen

    assert "data cached" in Brief(reading(0.01)).title
    assert "data cached" not in Brief(reading(2.0)).title


def test_a_fixed_load_is_called_so_and_never_a_knee(results: Results) -> None:
    users = results.climbs[0].knee_users
    brief = Brief(with_ladder(results, users=users))
    table, rate, *_ = section(brief, "glance").tables
    assert table.columns[1].title == "Users at the fixed load"
    assert rate.columns[1].title == "Share of its fixed load"
    assert section(brief, "curve").figures[0].title.startswith(f"Fixed loads: disk, {users} users")


def test_settings_that_matter_stand_first(results: Results) -> None:
    (table,) = section(Brief(results), "settings").tables
    matter = sum(setting.matters for setting in results.campaign.settings["disk"])
    assert 0 < matter < len(table.rows)
    assert [row.tone for row in table.rows] == ["strong"] * matter + ["plain"] * (
        len(table.rows) - matter
    )


def test_the_json_goes_round_and_holds_the_figures_as_numbers(results: Results) -> None:
    brief = Brief(results)
    document = json.loads(brief.json())
    assert document == brief.document()
    assert document["title"] == brief.title
    assert document["knees"]["disk"]["users"]["value"] == results.climbs[0].knee_users
    assert document["rungs"][0]["key"] == "disk.warm_up-16"
    assert '"histogram"' not in json.dumps(document["rungs"])


def test_names_with_markup_are_shown_and_not_run(results: Results) -> None:
    configuration = results.climbs[0].configuration.model_copy(
        update={"storage": "<script>alert(1)</script>"}
    )
    climbs = (
        results.climbs[0].model_copy(update={"configuration": configuration}),
        results.climbs[1],
    )
    text = Brief(results.model_copy(update={"climbs": climbs})).html()
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


def test_control_characters_of_a_machine_that_others_described_are_shown_and_never_sent(
    results: Results,
) -> None:
    cpu = "\x1b]0;Xeon\x9b\u202e"
    host = results.campaign.host.model_copy(update={"cpu": cpu, "kernel": cpu})
    brief = Brief(with_campaign(results, host=host))
    for said in (brief.html(), markdown.text(cpu), as_csv([{"cpu": cpu}]).decode()):
        assert re.search(r"\\u001b\\?]0;Xeon\\+u009b\\+u202e", said)
        assert not re.search("[\x1b\x9b\u202e]", said)


def test_the_front_is_the_answer_and_the_appendix_is_folded_with_a_link_to_each_part(
    results: Results, page: str
) -> None:
    brief = Brief(results)
    parts = {one.name: one.part for one in brief.sections}
    assert parts["glance"] == parts["bottlenecks"] == parts["cautions"] == "front"
    assert (parts["method"], parts["machine"]) == ("method", "configuration")
    assert {parts[name] for name in ("rungs", "evidence", "settings", "repeat")} == {"appendix"}
    front, appendix = page.index('id="part-front"'), page.index('id="part-appendix"')
    assert front < page.index('id="part-method"') < page.index('id="part-configuration"') < appendix
    assert page[appendix:].count("<details>") == list(parts.values()).count("appendix")
    linked = set(re.findall(r'<a href="#([^"]+)">', page))
    assert linked == {name for name, part in parts.items() if part != "front"}
    assert all(f'id="{name}"' in page for name in linked)


@pytest.mark.parametrize("name", ["plateau", "log_bound", "saturated", "noisy"])
def test_the_front_has_at_most_as_many_words_as_published_briefs(name: str) -> None:
    page = Brief(recorded(name)).html()
    front = page[page.index("<header>") : page.index('id="part-method"')]
    assert 300 < len(text_of(front).split()) <= 1500


def luminance(colour: str) -> float:
    """Of a colour as the web counts it (WCAG 2.2, relative luminance)."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_of_the_page_has_a_contrast_of_at_least_4_5(scheme: str) -> None:
    style = (files("kneebench.brief") / "page.css").read_text(encoding="utf-8")
    light, _, dark = style.partition("prefers-color-scheme: dark")
    pairs = re.findall(r"--(\w+): (#[0-9a-f]{6})", light)
    colours = dict(pairs) | (
        dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", dark)) if dark and scheme == "dark" else {}
    )
    assert len(colours) == len(pairs) == 10
    for text in ("ink", "faint", "alarm", "accent"):
        for ground in ("page", "pale", "caution", "note", "alarmed"):
            one, other = sorted((luminance(colours[text]), luminance(colours[ground])))
            assert (other + 0.05) / (one + 0.05) >= 4.5, (text, ground)


@pytest.mark.parametrize("name", ["plateau", "log_bound"])
def test_figures_of_a_page_that_is_read_in_the_dark_are_dark_and_can_be_seen(name: str) -> None:
    page = Brief(recorded(name)).html()
    dark = page[page.index("prefers-color-scheme: dark") : page.index("</style>")]
    names = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", dark))
    rules = re.findall(r'svg (\S*)\[(fill|stroke)="([^"]+)"\] { \w+: ([^;]+); }', dark)
    shown = {(kind, old): names.get(new[6:-1], new) for _, kind, old, new in rules}
    figures = "".join(re.findall(r"<svg.*?</svg>", page, re.DOTALL))
    drawn = set(re.findall(r'<(?!text)[^>]*\s(fill|stroke)="(#\w+|white)"', figures))
    drawn |= {("fill", colour) for colour in chart_theme.COLOURS}
    assert {("fill", "white"), ("fill", "#1f2933"), ("stroke", "#1f2933")} <= drawn
    for kind, old in drawn:
        lighter = luminance(shown.get((kind, old), old)) + 0.05
        if old in ("white", chart_theme.LINE, chart_theme.SHADE):
            assert lighter < 0.15, (kind, old)
        else:
            assert lighter / (luminance(names["page"]) + 0.05) >= 3, (kind, old)


def test_every_section_on_the_shelf_is_in_the_contents_once() -> None:
    assert sorted(CONTENTS) == SECTIONS.names()
    assert all(SECTIONS.module(name).__doc__ for name in CONTENTS)
    assert sorted(FIGURES.values()) == [*range(1, len(FIGURES) + 1)]


def test_every_figure_fits_the_schema_of_vega_lite(results: Results) -> None:
    import altair

    figures = [figure for one in Brief(results).sections for figure in one.figures]
    assert len(figures) >= 5
    for figure in figures:
        altair.Chart.from_dict(figure.spec)


def test_figures_are_written_as_pictures(results: Results, tmp_path: Path) -> None:
    written = Brief(results).figures(tmp_path)
    assert [file.name for file in written][:3] == [
        "relative-nopm.png",
        "latency-mean.png",
        "latency-p999.png",
    ]
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in written)


def test_figures_are_written_as_vectors_and_as_the_rows_that_they_draw(
    results: Results, tmp_path: Path
) -> None:
    brief = Brief(results)
    written = brief.figures(tmp_path, ("svg", "pdf", "csv"))
    figures = {figure.name: figure for one in brief.sections for figure in one.figures}
    ends = {end: [one.stem for one in written if one.suffix == end] for end in (".svg", ".pdf")}
    assert ends == {".svg": [*figures], ".pdf": [*figures]}
    assert all((tmp_path / f"{name}.csv").exists() for name in figures)
    assert (tmp_path / "curve.pdf").read_bytes().startswith(b"%PDF-")
    assert (tmp_path / "curve.svg").read_text().startswith("<svg")
    with (tmp_path / "curve.csv").open(newline="") as file:
        rows = [*csv.DictReader(file)]
    searched = results.climbs[0].of("search")[0]
    assert [*rows[0]] == ["name", "users", "NOPM", "Mean latency, ms"]
    nopm = [float(row["NOPM"]) for row in rows]
    assert any(one == pytest.approx(searched.tally.nopm) for one in nopm)


def test_a_page_is_written_whole(results: Results, tmp_path: Path) -> None:
    assert Brief(results).write(tmp_path / "deep" / "brief.html").read_text().endswith("</html>\n")
    assert [file.name for file in (tmp_path / "deep").iterdir()] == ["brief.html"]


def test_reading_results_loads_no_heavy_library() -> None:
    code = (
        "import sys; import kneebench.brief, kneebench.results; print(sorted({'altair',"
        " 'vl_convert', 'duckdb', 'scipy', 'jinja2'} & set(sys.modules)))"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )


@pytest.mark.long
def test_a_brief_of_300_rungs_takes_little_memory(tmp_path: Path) -> None:
    code = f"""
import re, sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from pathlib import Path
from kneebench.brief import Brief
from kneebench.engine_properties import engine_properties
from kneebench.plan.study import Study
from tests.remarks import why_invalid, with_notes
from tests.recordings import recorded, with_order
results = recorded()
climb = results.climbs[0]
search_rungs = [r for r in climb.rungs if r.order.phase == "search"]
many = tuple(
    with_order(rung, users=rung.users + n) for n in range(80) for rung in search_rungs
)
rungs = (*climb.rungs, *many[:270])
climbs = (climb.model_copy(update={{"rungs": rungs}}), results.climbs[1])
brief = Brief(results.model_copy(update={{"climbs": climbs}}))
brief.write(Path({str(tmp_path / "brief.html")!r}))
# ru_maxrss would be the parent's where it is larger: it passes through exec.
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print(len(rungs), peak.group(1))
"""
    rungs, peak_kib = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert int(rungs) > 270
    assert int(peak_kib) < 500 * 1024


def scattered(results: Results, phase: str) -> Results:
    """The campaign with repeats that scatter by factors, so that their intervals are very wide."""
    factors = {1: 0.1, 2: 1.0, 3: 10.0}

    def one(rung: Rung) -> Rung:
        latency = rung.tally.latency
        if rung.order.phase != phase or latency is None:
            return rung
        factor = factors[rung.order.repeat]
        slower = with_latency(rung, mean_s=factor * latency.mean_s)
        return with_tally(slower, window_s=factor * rung.tally.window_s)

    return each(results, 1, one)


def size_of(figure: Figure) -> tuple[float, float]:
    """Width and height of a figure as it is drawn, in pixels."""
    import vl_convert

    drawn = vl_convert.vegalite_to_svg(figure.spec)
    width, height = re.findall(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"', drawn)[0]
    return float(width), float(height)


def test_a_very_wide_interval_neither_shrinks_a_figure_nor_runs_out_of_it(results: Results) -> None:
    for name, phase, number in (("latency", "fixed_rate", 0), ("relative", "final_run", 0)):
        plain, wide = (
            section(Brief(one), name).figures[number]
            for one in (results, scattered(results, phase))
        )
        assert size_of(wide) == pytest.approx(size_of(plain), abs=40)


def test_a_fixed_load_is_called_so_wherever_a_knee_would_stand(results: Results) -> None:
    brief = Brief(with_ladder(results, users=24))
    for name in ("latency", "log-writes", "over-time", "rungs"):
        found = section(brief, name)
        assert "knee" not in found.title
        assert not any("knee" in figure.caption for figure in found.figures)
        assert not any(
            "knee" in (table.caption + str(table.rows)).lower() for table in found.tables
        )


def served(
    results: Results, database: dict[str, object], storages: dict[str, object], **image: str
) -> Brief:
    """The brief of the campaign as if another server had been measured."""
    plan = Plan.model_validate(
        {
            **results.campaign.plan,
            "database": {"engine": "postgres", **database},
            "storages": storages,
        }
    )
    return Brief(with_campaign(results, plan=Study(plan).document, base_image=image, servers={}))


def simulated(results: Results) -> Results:
    """The results as if models had been measured."""
    plan = Plan.model_validate(
        {
            **results.campaign.plan,
            "database": {"engine": "simulated"},
            "storages": {"disk": {"simulated": {}}, "memory": {"simulated": {"cores": 8}}},
        }
    )
    return with_campaign(results, plan=Study(plan).document, simulated=True)


BY_URL: dict[str, object] = {
    "disk": {"url": "postgresql://me@db1.example/x"},
    "memory": {"url": "postgresql://me@db2.example/x"},
}
FILES: dict[str, object] = {"disk": {"path": "."}, "memory": {"path": "/dev/shm/kb"}}


def test_the_brief_says_whether_a_server_by_url_ran_on_the_machine_that_it_describes(
    results: Results,
) -> None:
    def told(**servers: Whereabouts) -> str:
        plan = Plan.model_validate(
            {**results.campaign.plan, "database": {"engine": "postgres"}, "storages": BY_URL}
        ).model_dump(mode="json")
        brief = Brief(with_campaign(results, plan=plan, servers=servers))
        return " ".join((*section(brief, "machine").sentences, *section(brief, "method").sentences))

    here, away = (
        Whereabouts(here=True, seen="on this machine"),
        Whereabouts(seen="on another machine (10.0.0.1)"),
    )
    assert "Server and load generator ran on this machine." in told(disk=here, memory=here)
    assert "an external one on the load generator's machine" in told(disk=here, memory=here)
    assert (
        "the server's machine is not described here (disk: on another machine (10.0.0.1))"
        in told(disk=away, memory=here)
    )


@pytest.mark.parametrize(
    ("how", "said", "own"),
    [
        (
            {"restored_by": "template"},
            "started from a fresh copy of a template database on the server, and was warmed",
            True,
        ),
        (
            {"restored_by": "command"},
            "started from a database restored by the plan's command, and was warmed",
            True,
        ),
        (
            {"restored_by": "none"},
            (
                "The database was never restored: every climb and repeat started from the state the"
                " previous one left"
            ),
            False,
        ),
        ({}, "Every climb and repeat was warmed under load.", False),
        (
            {"restored_by": "none", "schema_from": "hammerdb"},
            "HammerDB's own, in the user's database; measuring added orders, payments and history",
            False,
        ),
        (
            {"restored_by": "template", "schema_from": "hammerdb"},
            "A copy of that database was measured; the original was not changed.",
            True,
        ),
    ],
)
def test_of_a_server_by_url_the_brief_says_how_it_was_really_restored(
    results: Results, how: dict[str, str], said: str, own: bool
) -> None:
    brief = served(results, {}, BY_URL, **how)
    method = " ".join(section(brief, "method").sentences)
    assert said in method
    assert "(copy)" not in method
    assert "shared" not in method
    assert (
        "The server was an external one with its own cores; the load generator was not pinned."
        in method
    )
    assert ("each on a freshly restored database" in method, "one restored run" in method) == (
        own,
        own,
    )
    assert (
        "each on a freshly restored database" in section(brief, "rungs").tables[0].caption
    ) == own


def test_a_server_of_ours_and_a_model_are_each_described_as_what_they_are(results: Results) -> None:
    ours = " ".join(section(served(results, {"restore": "clone"}, FILES), "method").sentences)
    assert "started from a restored database (clone), and was warmed" in ours
    assert "load generator and database shared the machine's cores" in ours
    model = " ".join(section(Brief(simulated(results)), "method").sentences)
    assert "started from a fresh model with a cold cache" in model
    assert "shared the machine's cores" not in model


def test_the_machine_is_said_to_be_the_load_generators_where_the_server_ran_elsewhere(
    results: Results,
) -> None:
    machine = section(served(results, {}, BY_URL), "machine")
    assert machine.sentences == (
        (
            "Processor, memory, system and drives describe the load generator's machine; the server"
            " at db1.example and db2.example is not described here."
        ),
    )
    assert machine.tables[1].caption.startswith("Drives of the load generator's machine.")
    (near,) = section(
        served(results, {"url": "postgresql://localhost/x"}, FILES), "machine"
    ).sentences
    assert "was reached at localhost and ran there too" in near
    assert section(served(results, {}, FILES), "machine").sentences == ()


@pytest.mark.parametrize("place", ["own", "url", "simulated"])
def test_what_the_brief_prints_to_repeat_it_is_the_plan_as_kneebench_reads_it(
    results: Results, place: str, tmp_path: Path
) -> None:
    settings = {
        "settings": {"shared_buffers": "1GB", "jit": False},
        "cores": [0, 1],
        "restore": "clone",
    }
    brief = {
        "own": served(results, settings, FILES),
        "url": served(results, {}, BY_URL),
        "simulated": Brief(simulated(results)),
    }[place]
    written, command, whole = section(brief, "repeat").code
    assert len(written.split()) < len(whole.split())
    for toml in (written, whole):
        (tmp_path / "plan.toml").write_text(toml)
        again = read_plan(tmp_path / "plan.toml")
        assert again == Plan.model_validate(brief.view.campaign.plan)
    assert command == "kneebench run plan.toml"
    assert ("Relative paths" in " ".join(section(brief, "repeat").sentences)) == (place == "own")
    if place != "simulated":
        engine_of(
            Study(again).databases, Journal(tmp_path)
        )  # refuses what the plan may not say of such a server


def test_two_figures_of_the_log_write_latency_are_each_told_for_what_they_are(
    results: Results,
) -> None:
    stop = StopResult(
        stop="log_latency",
        fired=True,
        seen="6.1 ms",
        limit="5 ms",
        sentence="a log write took 6.1 ms (10 s median) at 72 users",
    )
    climbs = (results.climbs[0].model_copy(update={"stop_results": (stop,)}), results.climbs[1])
    stopped = Brief(results.model_copy(update={"climbs": climbs}))
    (figure,) = section(stopped, "log-writes").figures
    assert figure.title == "Log writes: all within the limit of 5 ms (window means)"
    assert (
        "The stop condition uses the median of shorter means (10 s, or a third of the window); it"
        " exceeded the limit on disk." in figure.caption
    )
    assert "The stop condition uses" not in section(Brief(results), "log-writes").figures[0].caption


def test_a_note_that_all_rungs_of_a_storage_have_is_told_once_with_its_name(
    results: Results,
) -> None:
    _, memory = results.climbs
    noted = tuple(with_notes(rung, "no device under it") for rung in memory.rungs)
    bare = with_notes(memory.rungs[0])
    brief = Brief(with_rungs(results, 1, noted))
    assert "On memory: no device under it." in section(brief, "method").sentences
    (table,) = section(brief, "rungs").tables
    assert "no device under it" not in table.notes
    some = Brief(with_rungs(results, 1, (*noted[1:], bare)))
    (table,) = section(some, "rungs").tables
    assert table.notes.count("no device under it") == 1
    number = str(table.notes.index("no device under it") + 1)
    assert sum(number in row.cells[-1].split(", ") for row in table.rows) == len(noted) - 1


def test_a_chart_that_becomes_a_part_of_others_is_neither_copied_part_by_part_nor_changed() -> None:
    chart = chart_theme.chart([{"x": 1}]).mark_line().encode(x="x:Q", y="x:Q")
    alone = chart_theme.specification(chart)
    layer = altair.layer(chart, chart)
    altair.vconcat(layer, chart).resolve_scale(x="independent")
    assert layer.layer[0].encoding is chart.encoding
    assert chart_theme.specification(chart) == alone
