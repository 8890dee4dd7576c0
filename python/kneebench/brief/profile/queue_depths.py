"""Fig. 1: latency vs. I/Os per second, with the queue depth beside each point."""

from __future__ import annotations

from typing import Any

from kneebench import units
from kneebench.brief import chart_theme
from kneebench.brief.lines import Plane
from kneebench.brief.scales import THOUSANDS, latencies, latency_axis
from kneebench.brief.section import Figure, Section
from kneebench.measurement.profile import Profile, ProfileRow

BLOCK_BYTES = 4096
COLOURS = {"4 KiB random read": chart_theme.READ, "4 KiB random write": chart_theme.WRITTEN}
NAMES = {"randread": "4 KiB random read", "randwrite": "4 KiB random write"}
INKS = {"randread": "#8f6200", "randwrite": chart_theme.WRITTEN}
"""Of the depths beside the points: the lines' colours, dark enough for text."""
Point = dict[str, Any]


def section(found: Profile) -> Section | None:
    """A line per direction for one worker; points for several."""
    points = [_point(row) for row in found.rows if _shown(row)]
    points.sort(key=lambda point: (point["name"], point["workers"], point["depth"]))
    if len(points) < 2:
        return None
    return Section(name="depths", title="Queue depths", figures=(_figure(points),))


def _shown(row: ProfileRow) -> bool:
    return row.pattern in NAMES and row.block_bytes == BLOCK_BYTES and not row.invalid


def _point(row: ProfileRow) -> Point:
    return {
        "name": NAMES[row.pattern],
        "depth": row.depth,
        "workers": row.workers,
        "ink": INKS[row.pattern],
        "label": f"{row.workers} x {row.depth}" if row.workers > 1 else f"{row.depth}",
        "iops": row.iops,
        "ms": (row.mean_s or 0.0) * 1e3,
    }


def _figure(points: list[Point]) -> Figure:
    best = max(points, key=lambda point: point["iops"])
    most, what = units.significant(best["iops"]), best["name"].removeprefix("4 KiB ")
    workers = f" with {best['workers']} workers" if best["workers"] > 1 else ""
    title = f"Most: {most} {what}s per second at depth {best['depth']}{workers}"
    return Figure(
        name="depths",
        number="Fig. 1",
        title=title,
        caption=(
            "Each number is a queue depth. Lines: one worker. Hollow points: several workers, each"
            " with that depth. Where a line turns upwards, more depth adds latency and hardly any"
            " throughput."
        ),
        alt=f"Mean latency vs. I/Os per second, by queue depth. {title}.",
        spec=_spec(points),
    )


def _spec(points: list[Point]) -> dict[str, Any]:
    import altair as alt

    across = latencies([point["iops"] for point in points])
    up = latencies([point["ms"] for point in points])
    plane = Plane("iops", "ms", across, up)
    names = [name for name in COLOURS if any(point["name"] == name for point in points)]
    colours = [COLOURS[name] for name in names]
    axis = latency_axis(across)
    axis["axis"].labelExpr = THOUSANDS
    encoded = chart_theme.chart(points).encode(
        x=alt.X("iops:Q", title="I/Os per second", **axis),
        y=alt.Y("ms:Q", title="Mean latency, ms", **latency_axis(up)),
        color=chart_theme.colour_by_name(names, colours, chart_theme.legend(names)),
    )
    alone = encoded.transform_filter("datum.workers == 1")
    several = encoded.transform_filter("datum.workers > 1")
    lines = [
        [point for point in points if point["name"] == name and point["workers"] == 1]
        for name in names
    ]
    return plane.specification(
        alone.mark_line(strokeWidth=2).encode(order=alt.Order("depth:Q")),
        alone.mark_point(filled=True, size=48, opacity=1),
        several.mark_point(size=60, strokeWidth=2, opacity=1),
        *plane.labels(
            sorted(points, key=lambda point: -point["workers"]),
            [*lines, *([point] for point in points)],
        ),
    )
