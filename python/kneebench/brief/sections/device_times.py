"""Await, queue depth and utilization of the devices through one rung at the knee, second by
second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from string import ascii_lowercase
from typing import Any, NamedTuple

from kneebench import units
from kneebench.analysis.devices import KINDS, Courses
from kneebench.analysis.wording import capital, number_of_users, percent
from kneebench.brief import chart_theme
from kneebench.brief.knee_devices import KneeDevices, SeenVolume, knee_devices
from kneebench.brief.scales import Domain, latencies, round_numbers
from kneebench.brief.section import Figure, Section
from kneebench.brief.sections import numbered
from kneebench.brief.sections.over_time import chosen, left_out
from kneebench.brief.view_model import ViewModel
from kneebench.records import Rung

MOST_POINTS, MOST_OF_A_PANEL = 150, 2400
"""Of one line, and of all lines of a panel: more seconds are put together."""
INKS = (chart_theme.WRITTEN, chart_theme.LOG, *chart_theme.COLOURS[2:])
"""Of the volumes, in their order."""
TITLES = {
    **{kind: f"{capital(kind)} await, ms" for kind in KINDS},
    "queue": "Queue depth",
    "busy": "Utilization",
}
"""Of the panels, from top to bottom."""
HEIGHT = 92
WIDTHS = {"thin": 0.9, "thick": 2.0, "odd": 1.6}
"""Of lines, in the order in which they cover each other."""
FAINTNESS = 3.6
"""Opacities of all thin lines together: of many each is fainter, so that the thick one is seen."""
Point = dict[str, Any]


class Drawn(NamedTuple):
    """What a figure shows: its volumes, points by panel, and the colour of each name."""

    rung: Rung
    seen: tuple[SeenVolume, ...]
    points: dict[str, list[Point]]
    inks: dict[str, str]


def section(view: ViewModel) -> Section | None:
    """One figure for each storage; equal panels have equal scales."""
    drawn = {
        climb.id: found
        for climb in chosen(view.climbs)
        if (devices := knee_devices(view, climb)) and (found := _drawn(devices))
    }
    if not drawn:
        return None
    scales = _scales([*drawn.values()])
    figures = tuple(
        _figure(view, configuration, one, letter, scales)
        for (configuration, one), letter in zip(drawn.items(), ascii_lowercase, strict=False)
    )
    return Section(
        name="device-times",
        title=f"Devices at the {view.point}",
        sentences=left_out(view),
        figures=figures,
        part="appendix",
    )


def _drawn(devices: KneeDevices) -> Drawn | None:
    rung, seen, courses = devices
    inks = dict(zip((one.name for one in seen), cycle(INKS), strict=False))
    inks |= {odd.device: chart_theme.ALARM for one in seen for odd in one.odd}
    lines = sum(1 + len(one.loads) for one in seen)
    parts = courses.parts(max(20, min(MOST_POINTS, MOST_OF_A_PANEL // lines)))
    points = {
        panel: [point for one in seen for point in _points(courses, one, panel, parts)]
        for panel in TITLES
    }
    some = {panel: all_ for panel, all_ in points.items() if any(p["value"] for p in all_)}
    return Drawn(rung, seen, some, inks) if some else None


def _points(
    courses: Courses, seen: SeenVolume, panel: str, parts: Sequence[Sequence[int]]
) -> Iterator[Point]:
    """The thick line of a volume, and those of its devices where it has several."""
    names = [load.device for load in seen.loads]
    odd = {one.device for one in seen.odd}
    lines = [(seen.name, names, "thick")]
    if len(names) > 1:
        lines += [(name, [name], "odd") for name in names if name in odd]
        lines += [(seen.name, [name], "thin") for name in names if name not in odd]
    for number, (ink, devices, width) in enumerate(lines):
        for seconds in parts:
            value = _value(courses, panel, devices, seconds)
            line = {"ink": ink, "line": f"{seen.name} {number}", "width": width}
            yield {"at": seconds[0], "value": value, **line}


def _value(
    courses: Courses, panel: str, devices: Sequence[str], seconds: Sequence[int]
) -> float | None:
    if panel == "queue":
        return courses.queue(devices, seconds)
    if panel == "busy":
        return courses.busy(devices, seconds)
    wait_s = courses.wait_s(panel, devices, seconds)
    return 1e3 * wait_s if wait_s else None


def _scales(drawn: Sequence[Drawn]) -> dict[str, Domain]:
    """By panel, and "at" for the seconds: the same in all figures."""

    def values(panel: str) -> list[float]:
        return [p["value"] for one in drawn for p in one.points.get(panel, ()) if p["value"]]

    end = max(p["at"] for one in drawn for points in one.points.values() for p in points)
    found = {kind: latencies(values(kind)) for kind in KINDS}
    top = max(values("queue"), default=1.0)
    return {**found, "queue": Domain(0, 1.08 * top), "busy": Domain(0, 1), "at": Domain(0, end)}


def _figure(
    view: ViewModel, configuration: str, drawn: Drawn, letter: str, scales: dict[str, Domain]
) -> Figure:
    busiest = max(drawn.seen, key=lambda one: one.whole.busy)
    odd = [one for seen in drawn.seen for one in seen.odd]
    where = f"{capital(view.name(configuration))} at {number_of_users(drawn.rung.users)}"
    finding = f"{odd[0].device} {odd[0].says[0]}" if odd else _finding(busiest)
    title = f"{where}: {finding}"
    several = any(len(one.loads) > 1 for one in drawn.seen)
    lines = (
        " Thick: all drives of a volume (queues added up, await over all I/Os, mean utilization);"
        " thin: each drive."
        if several
        else ""
    )
    told = "".join(f" {one.sentence}" for one in odd)
    caption = (
        f"The rung of {numbered('over_time')} (shaded: the window).{lines}{told} Await does not"
        " include waits above the block layer. The title has the means of all windows at the"
        f" {view.point}."
    )
    return Figure(
        name=f"device-times-{letter}",
        number=numbered("device_times", letter),
        title=title,
        caption=caption,
        alt=f"Await, queue depth and utilization of the devices over time. {title}.",
        spec=_spec(drawn, scales),
    )


def _finding(seen: SeenVolume) -> str:
    """The figures of a volume, for a title: the await of the I/Os that took most time in all."""
    whole = seen.whole
    took = {
        "read": (whole.reads_per_s, whole.read_await_s),
        "write": (whole.writes_per_s, whole.write_await_s),
        "flush": (whole.flushes_per_s, whole.flush_await_s),
    }
    kind, (_, await_s) = max(took.items(), key=lambda one: (one[1][0] or 0) * (one[1][1] or 0))
    wait = f"{kind} await {units.time(await_s)}, " if await_s else ""
    return f"{seen.name} {percent(whole.busy)} busy, {wait}queue {units.count(whole.queue_depth)}"


def _spec(drawn: Drawn, scales: dict[str, Domain]) -> dict[str, Any]:
    import altair as alt

    panels = [
        _panel(drawn, panel, scales, last=panel == [*drawn.points][-1]) for panel in drawn.points
    ]
    return chart_theme.specification(alt.vconcat(*panels, spacing=10))


def _panel(drawn: Drawn, panel: str, scales: dict[str, Domain], *, last: bool) -> Any:
    """One panel; the axis of seconds has its numbers below the last one."""
    import altair as alt

    rung, points, across = drawn.rung, drawn.points[panel], scales["at"]
    title = "Seconds since the rung started" if last else None
    axis = alt.Axis(labels=last, tickCount=7, format=",.3~r")
    seconds = {"scale": across.scale, "title": title, "axis": axis}
    x = alt.X("at:Q", **seconds)
    y = alt.Y("value:Q", title=TITLES[panel], scale=scales[panel].scale, axis=_axis(panel, scales))
    legend = chart_theme.legend([*drawn.inks])
    names = alt.Scale(domain=[*drawn.inks], range=[*drawn.inks.values()])
    ink = alt.Color("ink:N", scale=names, legend=legend)
    end = min(across.high, rung.warm_up_s + rung.tally.window_s)
    window = chart_theme.shaded(rung.warm_up_s, end)
    layers = [window.encode(x=alt.X("from:Q", **seconds), x2=alt.X2("to:Q"))]
    thin = min(0.45, FAINTNESS / max(len(one.loads) for one in drawn.seen))
    for width, pixels in WIDTHS.items():
        some = chart_theme.chart([point for point in points if point["width"] == width])
        line = some.mark_line(strokeWidth=pixels, opacity=thin if width == "thin" else 1)
        layers.append(line.encode(x=x, y=y, color=ink, detail=alt.Detail("line:N")))
    alone = chart_theme.chart([point for point in _alone(points) if point["width"] == "thick"])
    layers.append(alone.mark_circle(size=8, opacity=1).encode(x=x, y=y, color=ink))
    return alt.layer(*layers, width=chart_theme.WIDTH, height=HEIGHT)


def _axis(panel: str, scales: dict[str, Domain]) -> Any:
    import altair as alt

    domain = scales[panel]
    if panel == "busy":
        return alt.Axis(format="%", values=[0, 0.5, 1])
    if domain.logarithmic:
        return alt.Axis(values=round_numbers(domain.low, domain.high), format=",.6~r")
    return alt.Axis(tickCount=4, format=",.6~r")


def _alone(points: Sequence[Point]) -> Iterator[Point]:
    """Points whose neighbours have no value: no line would show them."""
    for n, point in enumerate(points):
        around = [points[m] for m in (n - 1, n + 1) if 0 <= m < len(points)]
        near = [one for one in around if one["line"] == point["line"]]
        if point["value"] is not None and all(one["value"] is None for one in near):
            yield point
