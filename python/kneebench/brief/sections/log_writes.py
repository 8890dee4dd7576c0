"""Fig. 4: how long the database waits for its log, as users are added."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from kneebench import units
from kneebench.analysis.knee import final_rungs, metered
from kneebench.analysis.wording import listed
from kneebench.brief import chart_theme
from kneebench.brief.flush_ranges import (
    about_ranges,
    beside_each_other,
    p999_at_the_knee,
    range_marks,
    ranges,
    room,
)
from kneebench.brief.lines import Plane, Row, by_storage, line_colour
from kneebench.brief.load_words import searched
from kneebench.brief.paragraphs import part_of_each
from kneebench.brief.scales import Domain, latencies, latency_axis, round_numbers
from kneebench.brief.section import Figure, Section
from kneebench.brief.view_model import ViewModel
from kneebench.records import Climb, Rung

PLACE = 50


def section(view: ViewModel) -> Section | None:
    """Nothing where the log's writes were not measured."""
    points = [point for climb in view.climbs for point in _points(view, climb)]
    return (
        Section(
            name="log-writes",
            title="Log writes",
            figures=(_figure(view, points),),
            part=part_of_each(view),
        )
        if points
        else None
    )


def _rungs(climb: Climb) -> list[Rung]:
    """Those that are drawn, by their users."""
    seen = {
        rung.users: rung
        for rung in climb.of("search", "bisection", "fixed_load")
        if not rung.invalid
    }
    return [seen[users] for users in sorted(seen)]


def _points(view: ViewModel, climb: Climb) -> list[dict[str, Any]]:
    return [
        {"name": view.name(climb.id), "users": rung.users, "ms": value * 1e3}
        for rung in _rungs(climb)
        if (value := rung.quantity("log.write_latency"))
    ]


def _figure(view: ViewModel, points: list[dict[str, Any]]) -> Figure:
    limits_s = {view.name(climb.id): climb.limits.log_write_s for climb in view.climbs}
    above = sorted({p["name"] for p in points if p["ms"] > limits_s[p["name"]] * 1e3})
    title = (
        f"Log writes: {listed(above) + ' above' if above else 'all within'}"
        f" {_limits_in_words(limits_s)} (window means)"
    )
    at_knees = list(filter(None, map(partial(_at_the_knee, view), view.climbs)))
    at = (
        f" At the {view.point}, in the final runs: {'; '.join(at_knees)}."
        if at_knees and view.direct
        else ""
    )
    judged = _judged(view, above)
    rungs = [(climb, rung) for climb in view.climbs for rung in _rungs(climb)]
    found = ranges(view, rungs)
    caption = (
        "Each point is the mean of write plus sync, as the database issues them, over the window"
        f" of one {searched(view.campaign)}. It is not the commit wait: a commit may join another's"
        f" flush.{judged}{about_ranges(view, found, rungs)}{at}"
    )
    return Figure(
        name="log-writes",
        number="Fig. 4",
        title=title,
        caption=caption,
        alt=f"Log write latency vs. users. {title}.",
        spec=_spec(view, points, found, [1e3 * one for one in sorted({*limits_s.values()})]),
    )


def _limits_in_words(limits_s: Mapping[str, float]) -> str:
    """The one limit of all storages; or each one's where a storage has its own."""
    if len({*limits_s.values()}) == 1:
        return f"the limit of {units.time(next(iter(limits_s.values())))}"
    each = (f"{name} {units.time(limit_s)}" for name, limit_s in limits_s.items())
    return f"the limits of {listed([*each])}"


def _at_the_knee(view: ViewModel, climb: Climb) -> str:
    rungs = final_rungs(climb)
    took, commits = metered(rungs, "log.write_latency"), metered(rungs, "log.commits_per_flush")
    shared = f", {units.count(commits.value)} commits per flush" if commits else ""
    if not took:
        return ""
    name = view.name(climb.id)
    return f"{name} {units.time(took.value)}{p999_at_the_knee(climb)}{shared}"


def _judged(view: ViewModel, above: list[str]) -> str:
    """Where the stop, which judges a shorter time than the window, saw the limit exceeded and the
    points drawn do not show it.
    """
    exceeded = [
        view.name(c.configuration.id)
        for c in view.climbs
        if not c.stepped_down
        and any(v.stop == "log_latency" and v.worth_saying for v in c.stop_results)
    ]
    hidden = [name for name in exceeded if name not in above]
    return (
        " The stop condition uses the median of shorter means (10 s, or a third of the window); it"
        f" exceeded the limit on {listed(hidden)}."
        if hidden
        else ""
    )


def _spec(
    view: ViewModel, points: list[Row], found: list[Row], limits_ms: list[float]
) -> dict[str, Any]:
    import altair as alt

    least, most = min(point["users"] for point in points), max(point["users"] for point in points)
    right = max(most, least * 2) * 1.45
    left = least / max(1.05, (right / least) ** room(view)) if found else least / 1.05
    across = Domain(left, right, logarithmic=True)
    found = beside_each_other(view, found, across)
    ends = [[{"users": row["drawn_at"], "ms": row[end]} for end in ("p50", "top")] for row in found]
    up = latencies([row["ms"] for line in (points, *ends) for row in line] + limits_ms)
    ticks = round_numbers(least, most) if most > 5 * least else sorted({p["users"] for p in points})
    x = alt.X("users:Q", title="Users", scale=across.scale, axis=alt.Axis(values=ticks, format="d"))
    y = alt.Y("ms:Q", title="Log write latency, ms", **latency_axis(up))
    lines = chart_theme.chart(points).encode(x=x, y=y, color=line_colour(view))
    limits, plane = [_rule(ms, across) for ms in limits_ms], Plane("users", "ms", across, up)
    behind = [*by_storage(view, points), *limits, *ends]
    return plane.specification(
        chart_theme.chart([{"ms": ms} for ms in limits_ms])
        .mark_rule(color=chart_theme.ALARM, strokeDash=[6, 4], strokeWidth=1.5)
        .encode(y=alt.Y("ms:Q")),
        *range_marks(view, found),
        lines.mark_line(strokeWidth=2),
        lines.mark_point(filled=True, size=42, opacity=1),
        *plane.labels(_labelled(view, points, [left for left, _ in limits]), behind),
    )


def _rule(limit_ms: float, across: Domain) -> tuple[Row, Row]:
    """The line of a limit, from its left end to its right one."""
    return {"ms": limit_ms, "users": across.low}, {"ms": limit_ms, "users": across.high}


def _labelled(
    view: ViewModel, points: list[dict[str, Any]], limits: list[Row]
) -> list[dict[str, Any]]:
    """The limits with their names at their left ends, and the lines' right ends with theirs unless
    a legend has them.
    """
    ends = [line[-1] for line in by_storage(view, points) if line] if view.named_at_lines else []
    named = [
        {**one, "label": f"limit {units.time(one['ms'] / 1e3)}", "ink": chart_theme.ALARM}
        for one in limits
    ]
    return [*named, *({**end, "label": end["name"]} for end in ends)]
