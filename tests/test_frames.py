"""Frames: pandas, polars and DuckDB take them as they are, with the figures of the results."""

from __future__ import annotations

import re
import shutil
from datetime import datetime
from pathlib import Path

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pytest

import kneebench
from kneebench.analysis.bottleneck import bottleneck
from kneebench.analysis.evidence import CLASSES
from kneebench.measurement.quantities import READ
from kneebench.notebook.columns import CALLS, FRAMES
from kneebench.notebook.frame import Frame, FrameColumn
from tests.packed import changed
from tests.simulated_campaign import finished, nightly, plan

SAMPLES = Path(__file__).parent.parent / "docs" / "samples"
ARCHIVES = sorted(file for file in SAMPLES.glob("*.kneebench") if file.stem != "scan")
"""Without the one of queries, which has no knee."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> kneebench.Results:
    return kneebench.load(finished(plan(), tmp_path_factory.mktemp("campaigns")))


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> kneebench.Results:
    cores = {"cores": [1, 2]}
    return kneebench.load(finished(plan(constraints=cores), tmp_path_factory.mktemp("swept")))


MIXED = {
    "text": FrameColumn("text", ""),
    "number_s": FrameColumn("number", ""),
    "whole": FrameColumn("whole", ""),
    "flag": FrameColumn("flag", ""),
    "at": FrameColumn("time", ""),
}
ROWS: list[tuple[object, ...]] = [
    ("ü", 0.5, 1, True, "2026-11-27T10:00:00+01:00"),
    (None, None, None, None, ""),
    ("", float("nan"), 3, False, "2026-11-27T10:00:00.5+00:00"),
]
TIMES = [datetime(2026, 11, 27, 9), None, datetime(2026, 11, 27, 10, 0, 0, 500_000)]
KEPT = list(
    zip(["ü", None, ""], [0.5, None, None], [1, None, 3], [True, None, False], TIMES, strict=True)
)


def test_polars_duckdb_and_arrow_take_a_frame_with_what_is_missing() -> None:
    frame = Frame(MIXED, ROWS)
    assert len(frame) == 3
    assert duckdb.sql("FROM frame").fetchall() == KEPT
    assert polars.DataFrame(frame).rows() == KEPT
    assert list(zip(*pyarrow.table(frame).to_pydict().values(), strict=True)) == KEPT


def test_pandas_takes_a_frame_with_what_is_missing() -> None:
    table = pandas.DataFrame(Frame(MIXED, ROWS))
    assert table.isna().sum().to_dict() == {
        "text": 1,
        "number_s": 2,
        "whole": 1,
        "flag": 1,
        "at": 1,
    }
    assert table["at"][0] == pandas.Timestamp("2026-11-27 09:00")
    assert (table["text"][0], table["whole"][2]) == ("ü", 3)


def test_a_frame_without_rows_has_the_columns_and_types_of_one_with_rows() -> None:
    empty = Frame(MIXED, [])
    assert len(empty) == 0 and empty
    full = polars.DataFrame(Frame(MIXED, ROWS))
    assert polars.DataFrame(empty).schema == full.schema
    assert polars.concat([polars.DataFrame(empty), full]).rows() == KEPT
    assert pandas.DataFrame(empty).shape == (0, 5)
    assert duckdb.sql("FROM empty").columns == list(MIXED)


@pytest.mark.parametrize("name", FRAMES)
def test_each_frame_has_its_documented_columns_in_all_three(
    results: kneebench.Results, swept: kneebench.Results, name: str
) -> None:
    frame = getattr(swept if name == "sweep" else results, name)()
    assert isinstance(frame, kneebench.Frame)
    assert list(frame) == list(frame.about) == list(FRAMES[name])
    assert polars.DataFrame(frame).shape == pandas.DataFrame(frame).shape
    assert duckdb.sql("SELECT count(*) FROM frame").fetchall() == [(len(frame),)]
    assert "rows" in frame._repr_html_() and f"{len(frame)} rows" in repr(frame)


def test_compare_accept_and_trend_have_frames_and_take_the_folder(tmp_path: Path) -> None:
    first = kneebench.load(finished(nightly("1ms"), tmp_path))
    assert first.folder
    name, again = first.campaign.id, tmp_path / "again"
    shutil.copytree(first.folder, again)
    changed(again / "campaign.json", lambda head: head.update(id="again"))
    assert {one.id for one in kneebench.campaigns(folder=tmp_path)} == {name, "again"}
    both = kneebench.compare(name, "again", folder=tmp_path)
    judged = kneebench.accept(baseline=name, campaign="again", folder=tmp_path)
    nights = kneebench.trend(folder=tmp_path)
    calls = ("compare(...)", "accept(...)", "trend(...)")
    found = dict(zip(calls, (one.frame() for one in (both, judged, nights)), strict=True))
    for call, frame in found.items():
        assert list(frame) == list(CALLS[call]) and len(frame) >= 2
        assert polars.DataFrame(frame).shape == pandas.DataFrame(frame).shape
    compared, accepted, trends = ([*frame.rows()] for frame in found.values())
    assert [(row["users"], row["nopm"], row["ratio"]) for row in compared] == [
        (one.knee.users.value, one.knee.nopm.value, one.against and one.against.ratio.value)
        for one in both.rows
    ]
    assert accepted[0]["answer"] == "same"
    figure = judged.figures[0]
    apart = figure.model_copy(update={"baseline": kneebench.Estimate(value=7, low=6, high=8, n=3)})
    [row] = judged.model_copy(update={"figures": (apart,)}).frame().rows()
    figures = (7, figure.campaign.value, figure.ratio.value)
    assert (row["baseline"], row["value"], row["ratio"]) == figures
    assert [row["value"] for row in trends] == [
        point.value and point.value.value for one in nights.trends for point in one.points
    ]
    assert len(kneebench.trend("again", name, folder=tmp_path).frame()) == len(trends)


def test_an_unknown_column_and_a_file_that_cannot_be_written_are_kneebench_errors(
    results: kneebench.Results,
) -> None:
    with pytest.raises(kneebench.UnknownColumn, match="did you mean 'nopm'") as unknown:
        results.rungs()["nopn"]
    assert isinstance(unknown.value, KeyError | kneebench.KneebenchError)
    brief = kneebench.Brief(results)
    for write in (lambda: brief.write("/proc/x.html"), lambda: brief.figures("/proc/x")):
        with pytest.raises(kneebench.KneebenchError, match=r"cannot write /proc/x.*choose another"):
            write()


def test_frames_have_the_figures_of_the_results(results: kneebench.Results) -> None:
    rungs = [rung for climb in results.climbs for rung in climb.rungs]
    frame = results.rungs()
    assert list(frame["nopm"]) == [rung.tally.nopm for rung in rungs]
    assert list(frame["key"]) == [rung.order.key for rung in rungs]
    assert [one or None for one in frame["rate_per_s"].filled(0)] == [
        rung.order.rate_per_s for rung in rungs
    ]
    knees = [kneebench.knee(climb) for climb in results.climbs]
    found = results.knees()
    assert list(found["nopm_low"]) == [one.nopm.low for one in knees]
    assert list(found["mean_s"]) == [one.latency_s.value for one in knees]
    assert [float(one.nopm) for one in knees] == list(found["nopm"])
    assert f"{knees[0].nopm:,.0f}" == f"{found['nopm'][0]:,.0f}"
    compared = results.comparisons()
    assert list(compared["ratio"]) == [one.ratio.value for one in kneebench.compare(results)]
    assert set(compared["configuration"]) == {"slow"}


@pytest.mark.parametrize("sample", ARCHIVES, ids=lambda file: file.stem)
def test_what_the_climb_measured_at_the_ends_of_a_knee_is_in_its_row(sample: Path) -> None:
    results = kneebench.load(sample)
    for climb, row in zip(results.climbs, results.knees().rows(), strict=True):
        found = kneebench.knee(climb)
        rungs = {one.users: one for one in climb.of("search", "bisection") if not one.invalid}
        wide = found.users.low < found.users.high
        for side, users in (("low", found.users.low), ("high", found.users.high)):
            rung = rungs.get(round(users)) if wide else None
            seen = rung and (rung.users, rung.tally.nopm, rung.tally.latency.mean_s)
            named = [row[f"{side}_end_{one}"] for one in ("users", "nopm", "mean_s")]
            assert named == list(seen or (None, None, None))


def test_series_and_seconds_are_those_of_the_folder(results: kneebench.Results) -> None:
    series = str(results.folder / "series" / "*.parquet")
    kept = duckdb.execute(
        "SELECT count(*), sum(value) FROM read_parquet(?) WHERE quantity = 'log.bytes'", [series]
    ).fetchone()
    found = results.series("log.bytes")
    assert len(found) == kept[0] > 0 and set(found["unit"]) == {"B/s"}
    assert float(np.sum(found["value"])) == pytest.approx(kept[1])
    assert len(results.series("log.bytes", "cores.busy")) > len(found)
    seconds = str(results.folder / "seconds" / "*.parquet")
    [counts] = duckdb.execute("SELECT sum(committed) FROM read_parquet(?)", [seconds]).fetchall()
    assert (int(results.seconds()["committed"].sum()),) == counts


def test_a_second_is_in_the_window_that_the_rungs_figures_are_of(
    results: kneebench.Results,
) -> None:
    seconds, series = (
        pandas.DataFrame(one) for one in (results.seconds(), results.series("cores.busy"))
    )
    for rung in (rung for climb in results.climbs for rung in climb.rungs):
        counted = seconds[(seconds.key == rung.order.key) & seconds.in_window]
        assert counted.committed.sum() == rung.tally.window.committed
        read = series[(series.key == rung.order.key) & series.in_window]
        assert read.at_s.nunique() == round(rung.tally.window_s)
        assert read.at_s.max() == series[series.key == rung.order.key].at_s.max()
    assert not seconds.in_window.all() and not series.in_window.all()


def test_every_file_of_a_campaign_is_in_the_reference_with_its_columns(
    results: kneebench.Results,
) -> None:
    docs = Path(__file__).parent.parent / "docs"
    page = (docs / "results.md").read_text()
    kinds = {"climbs": "CONFIGURATION", "schema": "KIND"}
    for file in (one for one in results.folder.rglob("*") if one.is_file()):
        inner = file.parent.name if file.parent != results.folder else ""
        name = f"{inner}/{kinds.get(inner, 'KEY')}{file.suffix}" if inner else file.name
        assert re.search(rf"^\| \[?`{re.escape(name)}`", page, re.MULTILINE), name
        if file.suffix == ".parquet":
            part = (docs / "results" / f"{inner}.md").read_text()
            for column, kind, *_ in duckdb.execute(
                "DESCRIBE FROM read_parquet(?)", [str(file)]
            ).fetchall():
                assert f"| `{column}` | {kind} |" in part


@pytest.mark.parametrize("sample", ARCHIVES, ids=lambda file: file.stem)
def test_the_documented_query_gives_the_figures_of_the_brief(sample: Path) -> None:
    results = kneebench.load(sample)
    figures = {
        (climb.configuration.name, rung.order.key, quantity): found.value
        for climb in results.climbs
        for rung in climb.rungs
        for quantity, found in rung.quantities.items()
        if quantity in READ and len(found.sources) > 1
        if quantity != "processes.io"  # that of a process that ended is not in its figure
    }
    sampled = () if results.campaign.simulated else ("waits.log",)
    assert {"cores.busy", "processes.cpu", *sampled} <= {quantity for *_, quantity in figures}
    series = results.series()
    queried = {tuple(row[:3]): row[3] for row in duckdb.sql(documented_query()).fetchall()}
    assert len(series) and {key: queried[key] for key in figures} == pytest.approx(
        figures, rel=0.03, abs=0.03
    )


def test_wait_shares_are_those_of_the_brief_and_sum_to_the_mean_latency() -> None:
    results = kneebench.load(SAMPLES / "default.kneebench")
    table = pandas.DataFrame(results.wait_shares())
    for climb in results.climbs:
        mine = table[table.configuration == climb.configuration.name]
        split = bottleneck(climb).time_split
        assert dict(zip(mine.wait, mine.latency_share, strict=True)) == {
            wait: part.share for wait, part in split.items()
        }
        assert mine.latency_share.sum() == pytest.approx(1)
        assert list(mine.title) == [CLASSES[wait] for wait in mine.wait]


def documented_query() -> str:
    """The SQL of docs/python.md that makes figures of the parts of quantities."""
    (found,) = re.findall(
        r"```sql\n(.*?)```", (SAMPLES.parent / "python.md").read_text(), re.DOTALL
    )
    return found


def test_an_unknown_quantity_is_an_error_and_one_that_nothing_read_is_empty(
    results: kneebench.Results,
) -> None:
    with pytest.raises(kneebench.PlanError, match=r"did you mean 'log\.write_latency'"):
        results.series("log.write_latencies")
    assert len(results.series("server.energy")) == 0


def test_the_column_of_a_table_says_its_unit_where_it_has_one() -> None:
    """A dimension and no unit in the name would be seconds to one reader and ms to another."""
    plain = {"users", "nopm", "tpm", "ratio", "runs", "noise_floor", "relative", "busy", "value"}
    plain |= {"baseline", "change", "outlying_ratio", "margin_share"}
    plain |= {"low_end_nopm", "high_end_nopm"}
    of_work = ("_per_transaction", "_per_hour", "mw_per_nopm")
    units = ("_s", "_bytes", "_share", "_busy", "_w", *of_work)
    for name, found in (FRAMES | CALLS).items():
        numbers = {
            one.removesuffix("_low").removesuffix("_high")
            for one, column in found.items()
            if column.kind == "number"
        }
        others = {one for one in numbers - plain if not one.endswith(units)}
        assert others <= {"least_busy_core"}, name


def test_text_of_a_sweep_that_does_not_apply_is_empty_as_elsewhere(
    swept: kneebench.Results,
) -> None:
    assert set(swept.sweep()["database"]) == {""}


def test_results_without_a_folder_have_no_seconds(results: kneebench.Results) -> None:
    alone = results.model_copy(update={"folder": None})
    assert (len(alone.seconds()), len(alone.series())) == (0, 0)
    assert len(alone.rungs()) == len(results.rungs())
