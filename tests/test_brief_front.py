"""The front of the brief: what was tested on what, and what it may say in large type."""

from __future__ import annotations

import pytest

from kneebench.analysis.cpu_utilization import cpu_utilization
from kneebench.analysis.knee import final_rungs
from kneebench.brief import Brief
from kneebench.records import Results
from tests.recordings import each, recorded, section, with_latency, with_plan


@pytest.fixture
def results() -> Results:
    return recorded()


def cells(results: Results, title: str) -> list[str]:
    table = section(Brief(results), "glance").tables[0]
    at = [column.title for column in table.columns].index(title)
    return [row.cells[at] for row in table.rows]


def test_one_line_says_what_was_tested_on_what_and_how_often(results: Results) -> None:
    brief = Brief(results)
    assert brief.setup.split(" · ") == [
        "PostgreSQL 18.4",
        "TPROC-C, 1 warehouse, 167 MiB of data",
        f"{results.campaign.host.cores} cores, 23.5 GiB of memory",
        "3 final runs of 3 s each",
    ]
    header = brief.html().partition("</header>")[0]
    assert brief.setup in header and brief.document()["setup"] == brief.setup


def test_a_model_has_no_machine_in_that_line(results: Results) -> None:
    models = {"disk": {"simulated": {}}, "memory": {"simulated": {"cores": 8}}}
    plan = with_plan(results, database={"engine": "simulated"}, storages=models)
    assert not any(word in Brief(plan).setup for word in ("GiB of memory", "PostgreSQL"))


def test_the_table_says_how_busy_the_cores_were_at_each_knee(results: Results) -> None:
    for shown, climb in zip(cells(results, "CPU busy"), results.climbs, strict=True):
        used = cpu_utilization(final_rungs(climb))
        assert used and used.mean
        assert shown == f"{100 * used.mean.value:.0f}%"


def test_the_table_has_the_interval_of_the_mean_latency(results: Results) -> None:
    assert all(" to " in shown for shown in cells(results, "Mean latency"))


def test_what_no_storage_has_is_no_column() -> None:
    titles = [one.title for one in section(Brief(recorded("saturated")), "glance").tables[0].columns]
    assert "Vs. baseline" not in titles and "Reads" not in titles
    assert {"NOPM", "CPU busy"} <= {*titles}


def test_a_percentile_that_too_few_samples_exceed_is_no_big_number(results: Results) -> None:
    def said(found: Results) -> list[str]:
        return [one.says for one in section(Brief(found), "glance").numbers]

    assert not any("P99.9" in one for one in said(results))
    sure = results
    for climb in range(2):
        sure = each(sure, climb, lambda one: with_latency(one, n=200_000), "fixed_rate")
    assert any("P99.9" in one for one in said(sure))


def test_a_knee_whose_interval_covers_every_rung_has_a_caveat(results: Results) -> None:
    knees, caveats = Brief(results).view.knees, section(Brief(results), "cautions").sentences
    wide = [
        climb.configuration.name
        for climb in results.climbs
        if knees[climb.id].users.low <= min(rung.users for rung in climb.of("search"))
        and knees[climb.id].users.high >= max(rung.users for rung in climb.of("search"))
    ]
    (caveat,) = [one for one in caveats if "hardly known" in one]
    assert wide == ["memory"] and "on memory: its interval covers every rung" in caveat
