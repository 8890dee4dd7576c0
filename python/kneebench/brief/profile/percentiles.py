"""Fig. 2: latency by percentile, from the median to the slowest of 10,000."""

from __future__ import annotations

import json
from math import log10
from typing import Any

from kneebench import units
from kneebench.brief import chart_theme
from kneebench.brief.lines import HEIGHT
from kneebench.brief.scales import Domain, latencies, latency_axis
from kneebench.brief.section import Figure, Section
from kneebench.measurement.profile import Profile, ProfileRow

STYLES = {
    "randread": ("4 KiB random read", chart_theme.READ),
    "randwrite": ("4 KiB random write", chart_theme.WRITTEN),
}
SHALLOW, DEEP = 1, 64
DASHES = {SHALLOW: [1, 0], DEEP: [6, 3]}
LOG = "log write, its sync"
BLOCK_BYTES = 4096
Point = dict[str, Any]


def section(found: Profile) -> Section | None:
    """Random reads and writes at two depths, and the sync of log writes."""
    lines = [line for row in found.rows if (line := _line(row))]
    if not lines:
        return None
    return Section(name="percentiles", title="Percentiles", figures=(_figure(lines),))


class _Line:
    """A row's percentiles. `nines` is 1 for P90, 2 for P99: equal steps for ten times fewer."""

    def __init__(self, name: str, colour: str, dash: list[int], row: ProfileRow) -> None:
        self.name, self.colour, self.dash = name, colour, dash
        self.slowest = list(row.percentiles_s.items())[-1]
        self.points: list[Point] = [
            {"name": name, "percentile": percent, "nines": nines(percent), "ms": value * 1e3}
            for percent, value in row.percentiles_s.items()
        ]


def nines(percent: str) -> float:
    """How far a percentile is along the axis.

    >>> nines("90"), nines("99.9")
    (1.0, 3.0)
    """
    return round(-log10(1 - float(percent) / 100), 4)


def _line(row: ProfileRow) -> _Line | None:
    if row.invalid or len(row.percentiles_s) < 2:
        return None
    if row.sync:
        return _Line(LOG, chart_theme.LOG, [2, 2], row)
    shown = row.group == "queue depth" and row.block_bytes == BLOCK_BYTES
    if not shown or row.pattern not in STYLES or row.depth not in DASHES:
        return None
    name, colour = STYLES[row.pattern]
    return _Line(f"{name}, depth {row.depth}", colour, DASHES[row.depth], row)


def _figure(lines: list[_Line]) -> Figure:
    worst = max(lines, key=lambda line: line.slowest[1])
    percent, value_s = worst.slowest
    title = f"Slowest tail: P{percent} of {units.time(value_s)}, {worst.name}"
    return Figure(
        name="percentiles",
        number="Fig. 2",
        title=title,
        caption=(
            "Time of one I/O from its submission to its end. A line ends at the last percentile"
            " that at least 100 I/Os exceed; a longer --seconds shows more of the tail."
        ),
        alt=f"Latency by percentile. {title}.",
        spec=_spec(lines),
    )


def _spec(lines: list[_Line]) -> dict[str, Any]:
    import altair as alt

    points = [point for line in lines for point in line.points]
    up = latencies([point["ms"] for point in points])
    ticks = {nines(one): f"P{one}" for one in ("50", "90", "99", "99.9", "99.99")}
    texts = {f"{at:g}": text for at, text in ticks.items()}
    across = Domain(0.2, max(point["nines"] for point in points) + 0.1)
    names = [line.name for line in lines]
    legend = chart_theme.legend(names)
    encoded = chart_theme.chart(points).encode(
        x=alt.X(
            "nines:Q",
            title="Percentile",
            scale=across.scale,
            axis=alt.Axis(values=list(ticks), labelExpr=f"{json.dumps(texts)}[datum.value]"),
        ),
        y=alt.Y("ms:Q", title="Latency, ms", **latency_axis(up)),
        color=chart_theme.colour_by_name(names, [line.colour for line in lines], legend),
        strokeDash=alt.StrokeDash(
            "name:N",
            scale=alt.Scale(domain=names, range=[line.dash for line in lines]),
            legend=legend,
        ),
    )
    drawn = alt.layer(
        encoded.mark_line(strokeWidth=2),
        encoded.mark_point(filled=True, size=36, opacity=1).encode(strokeDash=alt.StrokeDash()),
        width=chart_theme.WIDTH,
        height=HEIGHT,
    )
    return chart_theme.specification(drawn)
