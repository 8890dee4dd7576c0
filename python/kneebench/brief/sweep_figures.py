"""The figures of a sweep: relative throughput and device traffic over memory or cores, a line per
storage, and the busy cores of each configuration over time.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from kneebench.analysis.cpu_utilization import database_cores
from kneebench.analysis.levelling import Levelling
from kneebench.analysis.sweep import Sweep, SweptConfiguration, amount, value_of
from kneebench.brief import chart_theme
from kneebench.brief.bars import interval_ends, reach
from kneebench.brief.scales import combined, thinned
from kneebench.brief.view_model import ViewModel
from kneebench.records import Estimate

Spec = dict[str, Any]
BESIDE = 1.03
"""Factor between the places of two storages at the same size, so that their bars do not cover each
other."""
APART = 1.6
"""Factor from the largest size to the place of the reference."""
LEVEL = 4
"""With more sizes their names are at an angle."""
MOST_POINTS = 80
"""Of a line in a small panel."""
NAMED = ("levels off", "makes no difference")
"""Answers whose configuration is the smallest within 5% of the best, which is circled."""
PANELS, PANEL_WIDTH, PANEL_HEIGHT = 4, 88, 62
"""Small panels: how many in a row, and their size in pixels."""
WARMING = "▲"
"""Marks a configuration that was still warming, in figures and captions."""
TITLES = {
    "memory_bytes": "Memory of the database, with its page cache",
    "cores": "Cores of the database",
    "engine_memory_bytes": "Memory of the database's own cache",
    "databases": "Databases with users",
}


class SweepLine(NamedTuple):
    """A sweep as the figures show it, and where it levels off."""

    sweep: Sweep
    levelling: Levelling

    @property
    def name(self) -> str:
        """What its line is called."""
        return self.sweep.name

    @property
    def configurations(self) -> tuple[SweptConfiguration, ...]:
        """The smallest first, the reference last."""
        reference = self.sweep.reference
        return (*self.sweep.configurations, *((reference,) if reference else ()))


class Across(NamedTuple):
    """The horizontal axis: a doubling of the size is always as far. The reference, which has no
    size, is at `apart`.
    """

    ticks: dict[int, str]
    apart: int | None
    title: str

    def at(self, place: int, storages: int, value: int | None) -> float:
        """Where a configuration is drawn: storages side by side."""
        beside: float = BESIDE ** (place - (storages - 1) / 2)
        return (value or self.apart or 1.0) * beside

    def x(self, title: bool = True) -> Any:
        import altair as alt

        texts = {**self.ticks, **({self.apart: "no limit"} if self.apart else {})}
        axis = alt.Axis(
            values=list(texts),
            labelExpr=f"{json.dumps(texts)}[datum.value]",
            labelAngle=-40 if len(texts) > LEVEL else 0,
            labels=title,
        )
        scale = alt.Scale(
            type="log", base=2, domain=[min(texts) / 1.15, max(texts) * 1.15], nice=False
        )
        return alt.X("drawn_at:Q", scale=scale, axis=axis, title=self.title if title else None)


def across(lines: Sequence[SweepLine]) -> Across:
    """The axis that holds all configurations of these sweeps, which are over one resource."""
    resource = lines[0].sweep.resource
    values = sorted({value for line in lines for value in line.sweep.values})
    reference = any(line.sweep.reference for line in lines)
    return Across(
        {value: amount(value, resource) for value in values},
        round(values[-1] * APART) if reference else None,
        TITLES[resource],
    )


def relative(lines: Sequence[SweepLine]) -> Spec | None:
    """Throughput relative to the largest configuration, of several storages in NOPM, so that they
    can be compared too: a line per storage with interval bars, the configuration where it levels
    off circled, the reference apart.
    """
    alone = len(lines) == 1
    rows = _rows(lines, lambda one: one.relative if alone else one.nopm)
    return _layered(lines, rows, "NOPM, largest = 1" if alone else "NOPM") if rows else None


def devices(lines: Sequence[SweepLine]) -> Spec | None:
    """Device reads above device writes, in MB/s."""
    import altair as alt

    read = _rows(lines, lambda one: _megabytes(one.read_bytes_per_s))
    written = _rows(lines, lambda one: _megabytes(one.write_bytes_per_s))
    if not read and not written:
        return None
    return chart_theme.specification(
        alt.vconcat(
            _panel(lines, read, "Read, MB/s", last=False),
            _panel(lines, written, "Written, MB/s", last=True),
            spacing=10,
        )
    )


def _megabytes(of: Estimate | None) -> Estimate | None:
    if of is None:
        return None
    ends = {end: getattr(of, end) / 1e6 for end in ("value", "low", "high")}
    return of.model_copy(update=ends)


def _rows(
    lines: Sequence[SweepLine], pick: Callable[[SweptConfiguration], Estimate | None]
) -> list[dict[str, Any]]:
    axis = across(lines)
    return [
        {
            "name": line.name,
            line.sweep.resource: (size := value_of(one.configuration, line.sweep.resource)),
            "drawn_at": axis.at(place, len(lines), size),
            "value": found.value,
            **dict(zip(("low", "high"), interval_ends(found), strict=True)),
            "reference": one.configuration.reference,
            "warming": bool(one.warming),
            "circled": one is line.levelling.at and line.levelling.answer in NAMED,
        }
        for place, line in enumerate(lines)
        for one in line.configurations
        if (found := pick(one))
    ]


def _layered(lines: Sequence[SweepLine], rows: list[dict[str, Any]], title: str) -> Spec:
    drawn = _marks(lines, rows, title, across(lines).x())
    return chart_theme.specification(
        drawn.properties(width=chart_theme.WIDTH, height=chart_theme.HEIGHT)
    )


def _panel(
    lines: Sequence[SweepLine], rows: list[dict[str, Any]], title: str, *, last: bool
) -> Any:
    drawn = _marks(lines, [{**row, "circled": False} for row in rows], title, across(lines).x(last))
    return drawn.properties(width=chart_theme.WIDTH, height=chart_theme.HEIGHT / 2)


def _marks(lines: Sequence[SweepLine], rows: list[dict[str, Any]], title: str, x: Any) -> Any:
    import altair as alt

    top = 1.08 * reach((row["value"], row["high"]) for row in rows) or 1.0
    scale = alt.Scale(domain=[0, top], nice=False)
    y = alt.Y("value:Q", title=title, scale=scale, axis=alt.Axis(tickCount=5))
    shared = chart_theme.chart(rows).encode(x=x, color=_colour(lines))
    swept = shared.transform_filter("!datum.reference").encode(y=y)
    ends = {"y": alt.Y("low:Q", scale=scale), "y2": "high:Q"}
    circled = shared.transform_filter("datum.circled").encode(y=y)
    apart = shared.transform_filter("datum.reference").encode(y=y)
    warm, warming = "!datum.warming", "datum.warming"
    hollow = {"filled": False, "strokeWidth": 2, "fill": "white"}
    triangle = {"shape": "triangle-up", "size": 110, "opacity": 1}
    return alt.layer(
        shared.transform_filter("isValid(datum.high)").mark_rule(strokeWidth=1.5).encode(**ends),
        swept.mark_line(strokeWidth=2),
        swept.transform_filter(warm).mark_point(filled=True, size=46, opacity=1),
        swept.transform_filter(warming).mark_point(filled=True, **triangle),
        circled.mark_point(size=330, strokeWidth=2.5, opacity=1, shape="circle"),
        apart.transform_filter(warm).mark_point(size=60, **hollow, opacity=1),
        apart.transform_filter(warming).mark_point(**hollow, **triangle),
    )


def _colour(lines: Sequence[SweepLine]) -> Any:
    names = [line.name for line in lines]
    legend = chart_theme.legend(names) if len(names) > 1 else None
    return chart_theme.colour_by_name(
        names, [chart_theme.colour(n) for n in range(len(names))], legend
    )


# --- cores over time --------------------------------------------------------------------------


def cores_over_time(view: ViewModel, lines: Sequence[SweepLine]) -> Spec | None:
    """A small panel per size: the mean busy share of the database's cores, second by second, of one
    final run; a line per storage.
    """
    import altair as alt

    rows = [row for line in lines for row in _seconds(view, line)]
    if not rows:
        return None
    panels = list(dict.fromkeys(row["panel"] for row in sorted(rows, key=lambda row: row["order"])))
    end = max(row["at"] for row in rows)
    drawn = chart_theme.chart(rows).mark_line(strokeWidth=1.5)
    drawn = drawn.encode(
        x=alt.X(
            "at:Q", title="Seconds", scale=alt.Scale(domain=[0, end]), axis=alt.Axis(tickCount=3)
        ),
        y=alt.Y(
            "value:Q",
            title=None,
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(format="%", values=[0, 0.5, 1]),
        ),
        color=_colour(lines),
    ).properties(width=PANEL_WIDTH, height=PANEL_HEIGHT)
    facet = alt.Facet("panel:N", sort=panels, title=None)
    return chart_theme.specification(drawn.facet(facet=facet, columns=PANELS, spacing=14))


def _seconds(view: ViewModel, line: SweepLine) -> Iterator[dict[str, Any]]:
    for one in line.configurations:
        rung = view.at_the_knee(one.climb)
        counted = database_cores(rung) if rung else frozenset()
        if rung is None or not counted:
            continue
        own = "server.core_busy"
        cores = own if own in rung.quantities else "cores.busy"
        found = [s for s in view.series(rung, cores) if s.source in counted]
        value, mark = (
            value_of(one.configuration, line.sweep.resource),
            f" {WARMING}" if one.warming else "",
        )
        size = "no limit" if value is None else amount(value, line.sweep.resource)
        for at, share in thinned(combined(found, fmean), MOST_POINTS):
            yield {
                "name": line.name,
                "panel": f"{size}{mark}",
                "order": value or sys.maxsize,
                "at": at,
                "value": share,
            }
