"""Power through one rung at each knee, second by second, on the clock of all series."""

from __future__ import annotations

from typing import Any

from kneebench import units
from kneebench.analysis.wording import number_of_users
from kneebench.brief import chart_theme
from kneebench.brief.lines import Plane, by_storage, line_colour
from kneebench.brief.scales import Domain, thinned
from kneebench.brief.section import Figure, Section
from kneebench.brief.sections import numbered
from kneebench.brief.sections.over_time import chosen, left_out
from kneebench.brief.view_model import ViewModel
from kneebench.records import CampaignPower, Rung

QUANTITY = "power"
Point = dict[str, Any]


def section(view: ViewModel) -> Section | None:
    """A line for each storage, and its power without a load; nothing where none was measured."""
    power = view.campaign.power
    if not power or not power.leading:
        return None
    shown = [(climb, rung) for climb in chosen(view.climbs) if (rung := view.at_the_knee(climb))]
    points = [
        {"name": view.name(climb.id), "at": at, "w": watts}
        for climb, rung in shown
        for at, watts in _course(view, rung, power)
    ]
    if not points:
        return None
    return Section(
        name="power-over-time",
        title=f"Power at the {view.point}, second by second",
        sentences=left_out(view),
        figures=(_figure(view, points, [rung for _, rung in shown]),),
        part="appendix",
    )


def _course(view: ViewModel, rung: Rung, power: CampaignPower) -> list[tuple[float, float]]:
    """The watts of the leading meter; of a sum in the seconds that all its parts have."""
    parts = [one.name for one in power.parts(power.leading)]
    series = [one for one in view.series(rung, QUANTITY) if one.source in parts]
    if len(series) < len(parts):
        return []
    each = [dict(zip(one.at_s, one.value, strict=True)) for one in series]
    shared = [at for at in each[0] if all(at in one for one in each)]
    return thinned([(at, sum(one[at] for one in each)) for at in shared])


def _figure(view: ViewModel, points: list[Point], rungs: list[Rung]) -> Figure:
    highest = max(points, key=lambda one: one["w"])
    title = f"Power over time: {units.power(highest['w'])} at most, on {highest['name']}"
    users = "; ".join(
        f"{view.name(rung.order.configuration)} {number_of_users(rung.users)}" for rung in rungs
    )
    caption = (
        f"One rung at each {view.point} ({users}), from its start on, the warm-up included."
        " Readings are shifted by how late their meter is."
    )
    return Figure(
        name="power-over-time",
        number=numbered("power_over_time"),
        title=title,
        caption=caption,
        alt=f"Power over time. {title}.",
        spec=_spec(view, points),
    )


def _spec(view: ViewModel, points: list[Point]) -> dict[str, Any]:
    import altair as alt

    across = Domain(0, max(one["at"] for one in points))
    up = Domain(0, 1.1 * max(one["w"] for one in points))
    plane = Plane("at", "w", across, up)
    lines = chart_theme.chart(points).encode(
        x=alt.X("at:Q", title="Seconds since the rung started", scale=across.scale),
        y=alt.Y("w:Q", title="W", scale=up.scale),
        color=line_colour(view),
    )
    each = [line for line in by_storage(view, points) if line]
    ends = [{**line[-1], "label": line[-1]["name"]} for line in each] if view.named_at_lines else []
    return plane.specification(lines.mark_line(strokeWidth=1.6), *plane.labels(ends, each))
