"""The NOPM-latency curve of each storage, its knee circled."""

from __future__ import annotations

from typing import Any

from kneebench import units
from kneebench.analysis.knee import rungs_by_users
from kneebench.analysis.wording import listed, number_of_users, plural
from kneebench.brief import chart_theme
from kneebench.brief.lines import Plane, by_storage, line_colour
from kneebench.brief.scales import THOUSANDS, Domain, latencies, latency_axis
from kneebench.brief.section import Figure, Section, part_of_each, searched
from kneebench.brief.sections import numbered
from kneebench.brief.view_model import ViewModel
from kneebench.records import Climb

MOST_LISTED = 3
"""Storages whose points have their users in the caption."""


def section(view: ViewModel) -> Section | None:
    """A line per storage through its rungs in the order of users: past the knee it bends back."""
    points = [point for climb in view.climbs for point in _points(view, climb)]
    if len(points) < 2:
        return None
    return Section(
        name="curve", title="The climb", figures=(_figure(view, points),), part=part_of_each(view)
    )


def _points(view: ViewModel, climb: Climb) -> list[dict[str, Any]]:
    return [
        {
            "name": view.name(climb.id),
            "users": rung.users,
            "nopm": rung.tally.nopm,
            "ms": rung.tally.latency.mean_s * 1e3,
        }
        for rung in rungs_by_users(climb)
        if rung.tally.latency
    ]


def _knees(view: ViewModel) -> list[dict[str, Any]]:
    return [
        {
            "name": view.name(configuration),
            "label": f"{view.name(configuration)}, {number_of_users(knee.users.value)}",
            "users": knee.users.value,
            "nopm": knee.nopm.value,
            "left": knee.nopm.low,
            "right": knee.nopm.high,
            "ms": knee.latency_s.value * 1e3,
            "low": knee.latency_s.low * 1e3,
            "high": knee.latency_s.high * 1e3,
            "boxed": knee.nopm.n > 1,
        }
        for configuration, knee in view.knees.items()
    ]


def _figure(view: ViewModel, points: list[dict[str, Any]]) -> Figure:
    knees = _knees(view)
    title = _title(view, knees)
    caption = (
        f"Each point is {searched(view.campaign)} (closed loop){_line(view)}. The circle is the"
        f" {view.point} from the final runs. Its box is the 95% CI of NOPM and of mean latency over"
        f" these runs.{_users(view, points)}"
    )
    return Figure(
        name="curve",
        number=numbered("curve"),
        title=title,
        caption=caption,
        alt=f"Mean latency vs. NOPM. {title}.",
        spec=_spec(view, points, knees),
    )


def _users(view: ViewModel, points: list[dict[str, Any]]) -> str:
    """The users of each point along the lines, of few storages."""
    if not view.direct or len(view.names) > MOST_LISTED or view.campaign.resolved.fixed_load:
        return ""
    lines = (
        f"{name} {', '.join(str(one['users']) for one in points if one['name'] == name)}"
        for name in view.names
    )
    return f" Users of the points along each line: {'; '.join(lines)}."


def _line(view: ViewModel) -> str:
    return "" if view.campaign.resolved.fixed_load else "; the line follows the number of users"


def _title(view: ViewModel, knees: list[dict[str, Any]]) -> str:
    if not knees:
        return "The climb so far"
    if not view.direct:
        nopm = sorted(knee["nopm"] for knee in knees)
        return (
            f"{plural(len(knees), view.point)}, from {units.significant(nopm[0])} to"
            f" {units.significant(nopm[-1])} NOPM"
        )
    found = listed([f"{knee['label']} ({units.significant(knee['nopm'])} NOPM)" for knee in knees])
    return f"{view.point.capitalize()}{'' if len(knees) == 1 else 's'}: {found}"


def _spec(
    view: ViewModel, points: list[dict[str, Any]], knees: list[dict[str, Any]]
) -> dict[str, Any]:
    import altair as alt

    across = Domain(0, max([p["nopm"] for p in points] + [k["nopm"] for k in knees]) * 1.12)
    up = latencies([p["ms"] for p in points] + [k["ms"] for k in knees])
    y = alt.Y("ms:Q", title="Mean latency, ms", **latency_axis(up))
    x = alt.X(
        "nopm:Q", title="NOPM", scale=across.scale, axis=alt.Axis(tickCount=6, labelExpr=THOUSANDS)
    )
    colour, plane = line_colour(view), Plane("nopm", "ms", across, up)
    shape = alt.Shape(
        "name:N",
        scale=alt.Scale(
            domain=view.names,
            range=[chart_theme.SHAPES[n % len(chart_theme.SHAPES)] for n in range(len(view.names))],
        ),
        legend=None,
    )
    rungs = chart_theme.chart(points).encode(x=x, y=y, color=colour)
    found = chart_theme.chart(knees).encode(color=colour)
    at = {"x": alt.X("nopm:Q"), "y": alt.Y("ms:Q")}
    return plane.specification(
        found.transform_filter("datum.boxed")
        .mark_rect(opacity=0.22, clip=True, strokeWidth=1)
        .encode(x=alt.X("left:Q"), x2=alt.X2("right:Q"), y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        rungs.mark_line(strokeWidth=2).encode(order=alt.Order("users:Q")),
        rungs.mark_point(filled=True, size=42, opacity=1).encode(shape=shape),
        found.mark_point(size=330, strokeWidth=2.5, shape="circle", opacity=1).encode(**at),
        *plane.labels(_labelled(view, knees), [*by_storage(view, points), knees]),
    )


def _labelled(view: ViewModel, knees: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The knees with their names, or where a legend has those with their users."""
    return (
        knees
        if view.named_at_lines
        else [{**knee, "label": number_of_users(knee["users"])} for knee in knees]
    )
