"""The brief's bottlenecks: a verdict for each storage; and behind it a table of evidence for each,
and the bars of where a transaction's time went.
"""

from __future__ import annotations

import pytest

from kneebench.analysis.resources import RESOURCES
from kneebench.brief import Brief, drawing
from kneebench.brief.section import Section
from kneebench.screen.summary import results_json
from tests.recordings import recorded, section


@pytest.fixture(scope="module")
def brief() -> Brief:
    return Brief(recorded())


@pytest.fixture(scope="module")
def bottlenecks(brief: Brief) -> Section:
    return section(brief, "bottlenecks")


def test_every_storage_has_a_verdict_and_a_table_of_all_resources(
    brief: Brief, bottlenecks: Section
) -> None:
    (verdicts,), evidence = bottlenecks.tables, section(brief, "evidence").tables
    assert [row.cells[0] for row in verdicts.rows] == brief.view.names
    for table, found in zip(evidence, brief.view.bottlenecks.values(), strict=True):
        assert len(table.rows) == len(RESOURCES)
        strong = [row.cells[1] for row in table.rows if row.tone == "strong"]
        assert strong == (["yes"] if found.resource != "unknown" else [])


def test_a_suspected_bottleneck_names_its_proof_and_none_found_has_no_verdict(
    bottlenecks: Section,
) -> None:
    verdicts = [row.cells[1:3] for row in bottlenecks.tables[0].rows]
    assert verdicts == [("log", "suspected\n(to prove it: log in memory)"), ("unknown", "–")]


def test_a_bottleneck_is_written_as_in_its_evidence() -> None:
    brief = Brief(recorded("saturated"))
    [row] = section(brief, "bottlenecks").tables[0].rows
    assert (brief.view.bottlenecks["memory"].resource, row.cells[1]) == ("cpu", "CPU")


def test_the_bars_of_where_the_time_went_are_drawn_and_named(brief: Brief) -> None:
    (figure,) = section(brief, "evidence").figures
    log = brief.view.bottlenecks["disk"].time_split["log"]
    share = f"{100 * log.share:.0f}%"
    assert figure.title == f"Disk: {share} of a transaction's time is spent on log writes"
    assert f"log writes {share}" in figure.alt
    drawn = drawing.svg(figure)
    assert all(name in drawn for name in ("disk", "memory", "Row locks", share))


def test_the_rows_and_the_time_are_in_the_json_of_the_brief_and_of_show(brief: Brief) -> None:
    found = brief.document()["bottlenecks"]["disk"]
    assert results_json(recorded())["bottlenecks"]["disk"] == found
    assert {row["resource"] for row in found["rows"]} == {one.key for one in RESOURCES}
    assert found["time_split"]["log"]["seconds"] > 0
    assert (found["verdict"], found["relief"]) == ("suspected", "log in memory")
