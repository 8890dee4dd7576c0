"""What pages say of knees, over all recordings and samples: intervals that the final runs allow,
one reason why each climb ended, and figures that contain what they draw.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kneebench.analysis.configuration_summary import configuration_summaries, rows
from kneebench.analysis.estimate import student_t
from kneebench.analysis.knee import MAY_BE_HIGHER, knee, quoted_rungs, where_between
from kneebench.analysis.quoted_load import climb_end
from kneebench.analysis.wording import number_of_users, stop_reason
from kneebench.brief.glance_tables import at_the_knee
from kneebench.brief.labels import CHARACTER, LINE, Box, Point
from kneebench.brief.scales import Domain
from kneebench.brief.section import Figure
from kneebench.brief.sections import cautions
from kneebench.brief.sections.glance import stop_reason_sentence
from kneebench.brief.view_model import ViewModel
from kneebench.records import Results
from kneebench.results import load
from kneebench.shelf import SECTIONS
from tests.recordings import recorded

RECORDINGS = ("emulated", "interrupted", "log_bound", "noisy", "plateau", "saturated")
FOLDER = Path(__file__).parent.parent / "docs/samples"
SAMPLES = sorted(file for file in FOLDER.glob("*.kneebench") if file.stem != "scan")
"""Without the one of queries, which has no knee."""
NAMES = (*RECORDINGS, *(file.stem for file in SAMPLES))


@functools.cache
def campaign(name: str) -> Results:
    files = {file.stem: file for file in SAMPLES}
    return load(files[name]) if name in files else recorded(name)


@pytest.mark.parametrize("name", ["default", "drives", "simulated"])
def test_the_interval_of_a_knees_users_follows_from_the_page_of_the_climb(name: str) -> None:
    page = (Path(__file__).parent.parent / "docs/method/climb.md").read_text()
    values = [
        [
            float(one)
            for one in re.findall(r"[\d.]+", re.findall(rf"^\| {row} \| (.*) \|$", page, re.M)[0])
        ]
        for row in ("p, its sharpness", "a, the rise", "c, the fall")
    ]
    for climb in campaign(name).climbs:
        rungs = [rung for rung in climb.of("search", "bisection") if not rung.invalid]
        logs = np.log([[rung.users, rung.tally.throughput_per_s] for rung in rungs]).T
        bends = np.arange(logs[0].min() - 1.1, logs[0].max() + 1.1, 0.025)
        b, p, a, c = (axis.ravel()[:, None] for axis in np.meshgrid(bends, *values))

        def curve(at: Any, b: Any = b, p: Any = p, a: Any = a, c: Any = c) -> Any:
            return a * at - (a + c) / p * np.logaddexp(0, p * (at - b))

        left = logs[1] - curve(logs[0])
        squares = ((left - left.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
        weight = (squares + 2 * 0.015**2) ** (-(len(rungs) + 1) / 2)
        weight[weight < weight.max() / 10_000] = 0
        numbers = sorted({rung.users for rung in rungs if rung.order.phase == "search"})
        at = np.log(numbers)
        e = climb.limits.elasticity
        best = curve(np.clip(b + np.log((a - e) / (c + e)) / p, at[0], at[-1]))
        shares = np.exp(curve(at) - np.minimum(best, curve(at).max(axis=1, keepdims=True)))
        first = np.argmax(shares >= 0.97, axis=1)
        upto = np.cumsum(np.bincount(first, weight, len(at))) / weight.sum()
        found = knee(climb)
        assert found
        assert climb.bracket
        low, high = (int(np.argmax(upto >= end)) for end in (0.025, 0.975))
        assert found.users.low == min(numbers[max(0, low - 1)], climb.bracket[0])
        assert found.users.high == max(numbers[high], climb.bracket[1])


@pytest.mark.parametrize("name", NAMES)
def test_an_interval_of_latency_at_a_knee_is_what_its_final_runs_allow(name: str) -> None:
    for climb in campaign(name).climbs:
        if not (found := knee(climb)):
            continue
        means = [r.tally.latency.mean_s for r in quoted_rungs(climb) if r.tally.latency]
        n = len(means)
        assert found.latency_s.n == found.nopm.n == n
        assert min(means) <= found.latency_s.value <= max(means)
        if n == 1:
            continue
        units = len({r.order.restore or r.order.repeat for r in quoted_rungs(climb)})
        allowed = (max(means) / min(means)) ** (student_t(units - 1) / units**0.5)
        assert found.latency_s.low >= min(means) / allowed
        assert found.latency_s.high <= max(means) * allowed
        assert found.p999_s.low <= found.p999_s.value <= found.p999_s.high


@pytest.mark.parametrize("name", NAMES)
def test_a_knees_ends_are_search_rungs_as_measured_and_beside_its_latency(name: str) -> None:
    for climb in campaign(name).climbs:
        if not (found := knee(climb)) or found.users.low == found.users.high:
            continue
        measured = {(r.users, r.tally.nopm) for r in climb.of("search", "bisection")}
        assert {(end.users, end.nopm) for end in found.ends} <= measured
        assert {end.users for end in found.ends} <= {found.users.low, found.users.high}
        assert where_between(found) in stop_reason_sentence(ViewModel(campaign(name)), climb)


@pytest.mark.parametrize("name", NAMES)
def test_each_storage_has_one_stop_sentence_of_the_same_reason_as_its_tables(name: str) -> None:
    view = ViewModel(campaign(name))
    said = cautions.section(view)
    caveats = said.sentences if said else ()
    table = {row.cells[0]: row.cells[-1] for row in at_the_knee(view).rows}
    summaries = configuration_summaries(view.results)
    terminal = dict(rows(summaries))["stop reason"]
    for climb, cell in zip(view.climbs, terminal, strict=True):
        if not climb.stopped_by:
            continue
        words, reason = stop_reason_sentence(view, climb), stop_reason(climb.stopped_by)
        others = [one for one in climb.stop_results if one is not climb.ended_by]
        assert reason in (climb_end(climb) or words).lower()
        assert not [one for one in others if one.sentence in words]
        higher = (found := knee(climb)) is not None and found.open_ended
        everywhere = {
            MAY_BE_HIGHER in words,
            "may be higher" in words,
            "may be higher" in cell,
            "may be higher" in table[climb.configuration.name],
            any(
                ("may be higher" in one and view.name(climb.id).lower() in one.lower())
                or one.startswith("All storages: the knee may be")
                for one in caveats
            ),
        }
        assert everywhere == {higher}
        assert table[climb.configuration.name].startswith(reason)
        assert cell.startswith(reason)
        if higher:
            searched = [r for r in climb.of("search", "bisection") if not r.invalid]
            last = max(searched, key=lambda r: r.users)
            assert last.users == climb.knee_users
            assert last.tally.nopm == max(r.tally.nopm for r in searched)


def figures(name: str) -> list[Figure]:
    view = ViewModel(campaign(name))
    made = (
        SECTIONS.module(part).section(view)
        for part in ("relative", "latency", "knee_latency", "power", "sweep")
    )
    return [figure for one in made if one for figure in one.figures]


@pytest.mark.parametrize("name", NAMES)
def test_every_whisker_ends_within_its_axis_and_no_arrow_is_said(name: str) -> None:
    for figure in figures(name):
        assert "Arrow" not in figure.caption
        tops = list(_domains(figure.spec))
        drawn = [row for rows in _values(figure.spec) for row in rows if row.get("high")]
        assert all(row["high"] <= max(tops) for row in drawn), figure.title


def _domains(spec: object) -> list[float]:
    if isinstance(spec, list):
        return [top for part in spec for top in _domains(part)]
    if not isinstance(spec, dict):
        return []
    own = spec.get("domain")
    tops = [own[1]] if isinstance(own, list) and isinstance(own[-1], int | float) else []
    return tops + [top for part in spec.values() for top in _domains(part)]


def _values(spec: object) -> list[list[dict[str, float]]]:
    if isinstance(spec, list):
        return [one for part in spec for one in _values(part)]
    if not isinstance(spec, dict):
        return []
    values = spec.get("values")
    own = [values] if isinstance(values, list) and values and isinstance(values[0], dict) else []
    return own + [one for part in spec.values() for one in _values(part)]


@pytest.mark.parametrize("name", NAMES)
def test_the_label_of_each_knee_stands_at_the_circle_that_it_names(name: str) -> None:
    view = ViewModel(campaign(name))
    [figure] = SECTIONS.module("curve").section(view).figures
    drawn = [(mark, row) for mark, rows in _marks(figure.spec) for row in rows]
    axes = next(one["encoding"] for one in figure.spec["layer"] if one["mark"]["type"] == "line")
    across, up = (
        Domain(*one["domain"], logarithmic=one["type"] == "log")
        for one in (axes["x"]["scale"], axes["y"]["scale"])
    )

    def at(row: Any) -> Point:
        rise = figure.spec["height"] * (1 - up.share(row["ms"]))
        return Point(figure.spec["width"] * across.share(row["nopm"]), rise)

    circles = {row["name"]: at(row) for mark, row in drawn if mark.get("shape") == "circle"}
    labels = [(mark, row) for mark, row in drawn if mark["type"] == "text"]
    assert {row["name"] for _, row in labels} == circles.keys()
    assert len(circles) == len(view.knees)
    for mark, row in labels:
        point, width = circles[row["name"]], CHARACTER * len(row["label"])
        assert at(row) == point
        left = (
            point.x + mark["dx"] - {"left": 0, "center": width / 2, "right": width}[mark["align"]]
        )
        middle = point.y + mark["dy"]
        box = Box(left, middle - LINE / 2, left + width, middle + LINE / 2)
        assert row["name"] == min(circles, key=lambda one: box.distance(circles[one]))
        assert row["label"].endswith(number_of_users(row["users"]))


def _marks(spec: Any, rows: Any = ()) -> Iterator[tuple[Any, Any]]:
    """Each mark, and the rows that it draws."""
    rows = spec.get("data", {}).get("values", rows)
    if "mark" in spec:
        yield spec["mark"], rows
    for layer in spec.get("layer", ()):
        yield from _marks(layer, rows)


@pytest.mark.parametrize("name", NAMES)
def test_no_bottleneck_withdraws_its_evidence_or_calls_a_part_most(name: str) -> None:
    for found in ViewModel(campaign(name)).bottlenecks.values():
        for said in (found.sentence, *found.evidence):
            assert "says little" not in said
            assert "most of their time" not in said


def test_all_figures_of_a_sweep_have_the_same_configuration_as_1() -> None:
    [throughput, *_], [swept, *_] = (
        SECTIONS.module(name).section(ViewModel(campaign("memory"))).figures
        for name in ("relative", "sweep")
    )
    for figure, sought in ((throughput, "NVMe drive (384 MiB)"), (swept, 384 * 2**20)):
        bars = [row for rows in _values(figure.spec) for row in rows]
        at_1 = [row for row in bars if 1.0 in (row.get("ratio"), row.get("value"))]
        assert any(sought in row.values() for row in at_1), figure.title
        assert "largest = 1" in str(figure.spec)
    assert "NVMe drive (384 MiB) = 1" in throughput.caption


def test_a_search_rung_above_the_titles_ratio_is_explained_in_the_caption() -> None:
    [figure] = SECTIONS.module("relative").section(ViewModel(campaign("drives"))).figures
    assert "1.81x" in figure.title
    assert "8 drives' bar at 8 users is higher than the title's ratio" in figure.caption
