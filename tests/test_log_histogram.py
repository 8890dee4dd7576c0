"""What a brief shows of the distribution of log writes, and what it does not show."""

from __future__ import annotations

import json
from typing import Any

import altair
import pytest

from kneebench.analysis.log_histogram import log_histogram
from kneebench.brief import Brief
from kneebench.brief.section import Figure
from kneebench.plan import Plan
from kneebench.records import Results, Rung
from tests.recordings import each, recorded, section, with_plan

METERS = list(Plan.model_fields["meters"].default)


def spread(difference: float | None = 0.01, flushes: int = 20_000) -> dict[str, Any]:
    """Nine tenths of the flushes take about 0.26 ms, the others about 2.1 ms."""
    counts = {32 * 13 + 32: flushes * 9 // 10, 32 * 16 + 32: flushes // 10}
    return {"log_histogram": log_histogram(counts, 0.00045, difference)}


def traced(difference: float | None = 0.01, flushes: int = 20_000) -> Results:
    """The recording, whose first storage has a distribution in every rung."""

    def change(rung: Rung) -> Rung:
        return rung.model_copy(update=spread(difference, flushes))

    return with_plan(each(recorded(), 0, change), meters=METERS)


def figure(results: Results) -> Figure:
    (found,) = section(Brief(results), "log-writes").figures
    return found


def drawn(found: Figure) -> list[dict[str, Any]]:
    """The rows of the thin lines."""
    rows = [row for layer in found.spec["layer"] for row in layer.get("data", {}).get("values", ())]
    return [row for row in rows if "p999" in row]


def test_the_figure_shows_each_rungs_p50_to_p999_and_the_sentence_has_the_knees() -> None:
    found = figure(traced())
    altair.Chart.from_dict(found.spec)
    (row, *_) = drawn(found)
    assert row["p50"] == pytest.approx(0.266, rel=0.03)
    assert row["p99"] == pytest.approx(2.1, rel=0.03)
    assert "from P50 to P99.9 with a tick at P99. Dashed or grey: fewer than 100" in found.caption
    disk, memory = found.caption.partition("At the knee, in the final runs: ")[2].split("; ")
    assert ", P99.9 2.16 ms (n too small), " in disk
    assert (row["certain99"], row["certain999"]) == (True, False)
    assert "P99.9" not in memory
    assert "Not measured on memory." in found.caption


def test_a_percentile_with_enough_flushes_beyond_it_is_not_marked() -> None:
    found = figure(traced(flushes=200_000))
    assert "P99.9 2.16 ms, " in found.caption
    assert "n too small" not in found.caption
    assert "Dashed" not in found.caption
    assert all(row["certain99"] and row["certain999"] for row in drawn(found))


def test_a_percentile_that_hardly_any_flush_exceeds_is_left_out() -> None:
    found = figure(traced(flushes=5_000))
    altair.Chart.from_dict(found.spec)
    assert all(row["p999"] is None and row["top"] == row["p99"] for row in drawn(found))
    assert not any(row["certain99"] for row in drawn(found))
    few = figure(traced(flushes=900))
    assert drawn(few) == []
    assert "is not shown: fewer than 10 flushes exceed the P99." in few.caption
    assert "P99.9" not in few.caption


def test_final_runs_that_disagree_in_opposite_directions_have_no_percentile() -> None:
    def change(rung: Rung) -> Rung:
        final = rung.order.phase == "final_run"
        difference = (0.09 if rung.order.repeat % 2 else -0.09) if final else 0.01
        return rung.model_copy(update=spread(difference, 50_000))

    results = with_plan(each(recorded(), 0, change), meters=METERS)
    assert len(results.climbs[0].of("final_run")) > 1
    found = figure(results)
    assert drawn(found)
    assert "P99.9 2.16 ms" not in found.caption


@pytest.mark.parametrize("difference", [0.08, -0.08, None])
def test_a_distribution_that_disagrees_with_the_databases_mean_is_not_shown(
    difference: float | None,
) -> None:
    found = figure(traced(difference))
    assert drawn(found) == []
    why = (
        "the database reports nothing to compare it with"
        if difference is None
        else "it differs by more than 5% from the database's statistics"
    )
    assert f"The distribution of these times is not shown: {why}." in found.caption
    assert "P99.9" not in found.caption


def test_a_storage_whose_distribution_was_rejected_is_not_called_unmeasured() -> None:
    results = each(traced(), 1, lambda rung: rung.model_copy(update=spread(0.08)))
    found = figure(results)
    assert "On memory it is not shown: it differs by more than 5% from the" in found.caption
    assert "Not measured" not in found.caption


def test_a_campaign_without_the_meter_says_nothing_of_a_distribution() -> None:
    found = figure(recorded())
    assert drawn(found) == []
    assert "distribution" not in found.caption


def test_the_json_has_the_percentiles_of_each_rung_and_not_the_buckets() -> None:
    results = traced(difference=0.08)
    rungs = json.loads(Brief(results).json())["rungs"]
    kept = [rung["log_histogram"] for rung in rungs]
    assert {"n", "mean_s", "p50_s", "p90_s", "p99_s", "p999_s", "difference"} == set(kept[0])
    assert None in kept
    again = Rung.model_validate_json(results.climbs[0].rungs[0].model_dump_json())
    assert again == results.climbs[0].rungs[0]
