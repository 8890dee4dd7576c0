"""The front of the brief: what was tested on what, and what it may say in large type."""

from __future__ import annotations

from pathlib import Path

import pytest

from kneebench import load
from kneebench.analysis.cpu_utilization import cpu_utilization
from kneebench.analysis.knee import final_rungs
from kneebench.brief import Brief
from kneebench.brief.markdown import markdown
from kneebench.records import Results
from tests.recordings import recorded, section, with_campaign, with_plan, with_rungs

SAMPLES = Path(__file__).parent.parent / "docs" / "samples"


@pytest.fixture
def results() -> Results:
    return recorded()


def cells(results: Results, title: str) -> list[str]:
    table = section(Brief(results), "glance").tables[-1]
    at = [column.title for column in table.columns].index(title)
    return [row.cells[at] for row in table.rows]


def test_one_line_says_what_was_tested_on_what_and_how_often(results: Results) -> None:
    brief = Brief(results)
    assert brief.setup.split(" · ") == [
        "PostgreSQL 18, cache 240 MiB",
        "TPROC-C, 1 warehouse, 167 MiB of data",
        f"{results.campaign.host.cores} cores, 23.5 GiB of memory",
        "memory: RAM (tmpfs)",
        "3 final runs of 3 s each",
        "NOPM: New-Orders per minute",
    ]
    header = brief.html().partition("</header>")[0]
    assert brief.setup in header and brief.document()["setup"] == brief.setup


def test_that_line_names_the_drives_by_model_or_in_few_words_of_the_author() -> None:
    results = load(SAMPLES / "default.kneebench")
    [drive] = results.campaign.host.drives
    assert drive.model.startswith("0x") and "disk:" not in Brief(results).setup
    named = drive.model_copy(update={"model": "MZQL21T9HCJR"})
    host = results.campaign.host.model_copy(update={"drives": (named,)})
    modelled = with_campaign(results, host=host, drives_before=())
    assert "disk: MZQL21T9HCJR" in Brief(modelled).setup.split(" · ")
    for words, shown in (("2 × PM9A3, RAID 0", "2 × PM9A3, RAID 0"), ("long " * 9, "MZQL21T9HCJR")):
        told = with_plan(modelled, brief={"storages": {"disk": words.strip()}})
        assert f"disk: {shown}" in Brief(told).setup.split(" · ")


@pytest.mark.parametrize(
    ("sample", "said"),
    [
        (
            "default",
            "95% CIs cover how rounds and restores differed on this machine within 4 min, not other"
            " days, other machines or other drives of the same model.",
        ),
        (
            "memory",
            "95% CIs cover how restored runs differed on this machine within 5 min, not other days,"
            " other machines or any real drive.",
        ),
        (
            "simulated",
            "95% CIs cover how runs of the model differ, and say nothing of a real machine.",
        ),
    ],
)
def test_a_line_beside_the_title_says_what_its_intervals_leave_out(sample: str, said: str) -> None:
    brief = Brief(SAMPLES / f"{sample}.kneebench")
    assert brief.intervals == said
    assert said in brief.html().partition("</header>")[0] and said in markdown(brief)


def test_that_line_names_the_machine_that_was_measured(results: Results) -> None:
    url = {"url": "postgresql://db1/x"}
    there = with_plan(
        results, database={"engine": "postgres"}, storages={"disk": url, "memory": url}
    )
    assert "on this machine within" in Brief(results).intervals
    assert "on the servers' machines within" in Brief(there).intervals


def test_one_run_of_each_storage_has_no_interval_and_says_so(results: Results) -> None:
    for place, climb in enumerate(results.climbs):
        first = tuple(rung for rung in climb.rungs if rung.order.repeat < 2)
        results = with_rungs(results, place, first)
    assert Brief(results).intervals.startswith("Each storage had one final run: nothing here")


def test_a_model_has_no_machine_in_that_line(results: Results) -> None:
    models = {"disk": {"simulated": {}}, "memory": {"simulated": {"cores": 8}}}
    plan = with_plan(results, database={"engine": "simulated"}, storages=models)
    assert not any(word in Brief(plan).setup for word in ("GiB of memory", "PostgreSQL"))


def test_a_campaign_whose_databases_are_not_known_has_the_rest_of_that_line(
    results: Results,
) -> None:
    resolved = results.campaign.resolved.model_copy(update={"databases": {}})
    brief = Brief(with_campaign(results, resolved=resolved))
    assert brief.setup.startswith("TPROC-C, 1 warehouse · 2 cores")


def test_the_table_says_how_busy_the_cores_were_at_each_knee(results: Results) -> None:
    for shown, climb in zip(cells(results, "CPU busy"), results.climbs, strict=True):
        used = cpu_utilization(final_rungs(climb))
        assert used and used.mean
        assert shown == f"{100 * used.mean.value:.0f}%"


def test_what_no_storage_has_is_no_column() -> None:
    tables = section(Brief(recorded("saturated")), "glance").tables
    titles = {column.title for table in tables for column in table.columns}
    assert not {"Vs. baseline", "Reads", "Writes"} & titles
    assert {"NOPM", "CPU busy"} <= titles


def test_a_percentile_that_too_few_samples_exceed_is_no_big_number(results: Results) -> None:
    def said(brief: Brief) -> list[str]:
        return [one.says for one in section(brief, "glance").numbers]

    few, enough = Brief(results), Brief(results)
    found = enough.view.fixed_rate_latency.items()
    certain = {configuration: one._replace(p999_certain=True) for configuration, one in found}
    enough.view.__dict__["fixed_rate_latency"] = certain
    assert not any("P99.9" in one for one in said(few))
    assert any("P99.9" in one for one in said(enough))


def test_a_knee_whose_interval_covers_every_rung_has_a_caveat(results: Results) -> None:
    knees, caveats = Brief(results).view.knees, section(Brief(results), "cautions").sentences
    wide = [
        climb.configuration.name
        for climb in results.climbs
        if knees[climb.id].users.low <= min(rung.users for rung in climb.of("search"))
        and knees[climb.id].users.high >= max(rung.users for rung in climb.of("search"))
    ]
    (caveat,) = [one for one in caveats if "barely known" in one]
    assert wide == ["memory"] and "on memory: its interval covers every rung" in caveat
