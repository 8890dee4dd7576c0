"""Latency in open loop as the rate rises to each storage's knee."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kneebench import units
from kneebench.analysis.fixed_rate import LoadLevel
from kneebench.analysis.wording import FEW_MEANS, WAIT_MEANS, listed, percent, percentile
from kneebench.brief import chart_theme
from kneebench.brief.lines import Plane, Row, by_storage, line_colour
from kneebench.brief.scales import Domain, latencies, latency_axis
from kneebench.brief.section import Figure, Section, Table, columns, part_of_each
from kneebench.brief.section import Row as Cells
from kneebench.brief.sections import numbered
from kneebench.brief.view_model import ViewModel

TITLES = {"mean": "Mean latency", "p999": "P99.9 latency", "log": "Log write latency"}
SAME_RUNS = f"The runs of {numbered('load_levels', 'a')}."
ABOUT = {"p999": "", "log": " Means of write plus sync, as the database issues them."}


def section(view: ViewModel) -> Section | None:
    """A curve per storage of each latency, and the table of its points."""
    if not view.load_levels:
        return None
    points = [point for id_ in view.load_levels for point in _points(view, id_)]
    return Section(
        name="load-levels",
        title="Latency vs. rate",
        figures=tuple(_figures(view, points)),
        tables=(_table(view),),
        stack=True,
        part=part_of_each(view),
    )


def _points(view: ViewModel, configuration: str) -> Iterator[Row]:
    for level in view.load_levels[configuration]:
        at, log = level.latency, level.log_write_s
        yield {
            "name": view.name(configuration),
            "rate": at.rate_per_s,
            "mean": at.mean_s.value * 1e3,
            "p999": at.p999_s.value * 1e3,
            "log": log.value * 1e3 if log else 0.0,
            "label": view.name(configuration),
        }


def _figures(view: ViewModel, points: list[Row]) -> Iterator[Figure]:
    """One for each latency that was measured."""
    measured = [which for which in TITLES if any(point[which] for point in points)]
    for letter, which in zip("abc", measured, strict=False):
        title = _title(view, points, which)
        yield Figure(
            name=f"load-levels-{which}",
            number=numbered("load_levels", letter),
            title=title,
            caption=_caption(view) if which == "mean" else f"{SAME_RUNS}{ABOUT[which]}",
            alt=f"{TITLES[which]} vs. rate, a line per storage. {title}.",
            spec=_spec(view, [point for point in points if point[which]], which),
        )


def _title(view: ViewModel, points: list[Row], which: str) -> str:
    """What each storage's latency was at its lowest and highest level."""
    what = f"{TITLES[which]} up to each {view.point}"
    if not view.direct:
        return what
    lines = [[p for p in line if p[which]] for line in by_storage(view, points)]
    found = [
        f"{line[0]['name']} {' to '.join(units.time(p[which] / 1e3) for p in (line[0], line[-1]))}"
        for line in lines
        if line
    ]
    return f"{what}: {listed(found)}"


def _caption(view: ViewModel) -> str:
    levels = sorted({one.percent for some in view.load_levels.values() for one in some})
    shares = listed([f"{level}%" for level in levels])
    return (
        f"Each point is one run in an open loop, at {shares} of the storage's own throughput at its"
        f" {view.point}. Latency counts from the intended start. One run has no interval."
    )


def _spec(view: ViewModel, points: list[Row], which: str) -> dict[str, Any]:
    import altair as alt

    across = Domain(0, max(point["rate"] for point in points) * 1.25)
    up = latencies([point[which] for point in points])
    rows = chart_theme.chart(points).encode(
        x=alt.X(
            "rate:Q",
            title="Transactions/s",
            scale=across.scale,
            axis=alt.Axis(tickCount=6, format=",.6~r"),
        ),
        y=alt.Y(f"{which}:Q", title=f"{TITLES[which]}, ms", **latency_axis(up)),
        color=line_colour(view),
    )
    plane, lines = Plane("rate", which, across, up), by_storage(view, points)
    named = [line[-1] for line in lines if line and view.named_at_lines]
    return plane.specification(
        rows.mark_line(strokeWidth=2),
        rows.mark_point(filled=True, size=42, opacity=1),
        *plane.labels(named, lines),
    )


def _table(view: ViewModel) -> Table:
    every = [(id_, level) for id_, some in view.load_levels.items() for level in some]
    few = any(not level.latency.p999_certain for _, level in every)
    invalid = [view.where(one) for one in view.invalid if one.order.phase == "load_level"]
    behind = [
        f"{view.name(id_)} at {level.percent}% ({units.count(level.completed_per_s)}/s)"
        for id_, level in every
        if level.saturated
    ]
    grew = f" Fewer completed than were offered, so the queue grew: {'; '.join(behind)}."
    left_out = f" Invalid, so not shown: {'; '.join(invalid)}." if invalid else ""
    share = f"Share of its {view.point}"
    heads = (share, "Rate", "Users", *TITLES.values(), "Wait for a user")
    return Table(
        caption=(
            f"The points of the figures. {WAIT_MEANS}"
            f"{grew if behind else ''}{left_out}{f' {FEW_MEANS}' if few else ''}"
        ),
        narrow=True,
        columns=columns("Storage", *(f">{head}" for head in heads)),
        rows=tuple(Cells(cells=(view.name(id_), *_cells(level))) for id_, level in every),
    )


def _cells(level: LoadLevel) -> Iterator[str]:
    at, log = level.latency, level.log_write_s
    yield percent(round(at.share, 2)) if at.share else f"{level.percent}%"
    yield f"{units.count(at.rate_per_s)}/s"
    yield str(at.users)
    yield units.time(at.mean_s.value)
    yield percentile(at.p999_s.value, at.p999_certain).replace(" (", "\n(")
    yield units.time(log.value if log else None)
    yield percent(None if at.wait is None else round(at.wait, 3))
