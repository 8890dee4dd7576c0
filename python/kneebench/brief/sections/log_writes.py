"""Fig. 4: how long the database waits for its log, as users are added."""

from __future__ import annotations

from functools import partial
from typing import Any

from kneebench.analysis.knee import metered, report_rungs
from kneebench.brief import look, words
from kneebench.brief.reading import Reading
from kneebench.brief.scales import latency_scale, round_numbers
from kneebench.brief.section import Figure, Section
from kneebench.records import Climb

PLACE = 50


def section(reading: Reading) -> Section | None:
    """Nothing where the log's writes were not measured."""
    points = [point for climb in reading.climbs for point in _points(reading, climb)]
    return Section(name="log-writes", title="Log writes", figures=(_figure(reading, points),)) if points else None


def _points(reading: Reading, climb: Climb) -> list[dict[str, Any]]:
    seen = {rung.users: rung.quantity("log.write_latency") for rung in climb.of("scout", "bisection", "fixed") if not rung.invalid}
    return [{"name": reading.name(climb.cell.id), "users": users, "ms": value * 1e3} for users, value in sorted(seen.items()) if value]


def _figure(reading: Reading, points: list[dict[str, Any]]) -> Figure:
    limit_s = reading.plan.ladder.stops.log_latency.limit
    above = sorted({point["name"] for point in points if point["ms"] > limit_s * 1e3})
    title = f"Log writes: {words.listed(above) + ' above' if above else 'all within'} the limit of {words.time(limit_s)}, by the mean of the window"
    at_knees = list(filter(None, map(partial(_at_the_knee, reading), reading.climbs)))
    at = f" At the {reading.point}, as the report measured it: {'; '.join(at_knees)}." if at_knees and reading.direct else ""
    judged = _judged(reading, above)
    caption = (
        "Each point is the mean over a scouting rung's window of write plus sync as the database issues them: "
        f"not the wait of a commit, which may join another's flush.{judged}{at}"
    )
    return Figure(
        name="log-writes",
        number="Fig. 4",
        title=title,
        caption=caption,
        alt=f"Log write latency against users. {title}.",
        spec=_spec(reading, points, limit_s * 1e3),
    )


def _at_the_knee(reading: Reading, climb: Climb) -> str:
    rungs = report_rungs(climb)
    took, commits = metered(rungs, "log.write_latency"), metered(rungs, "log.commits_per_flush")
    shared = f", {words.count(commits.value)} commits a flush" if commits else ""
    return f"{reading.name(climb.cell.id)} {words.time(took.value)}{shared}" if took else ""


def _judged(reading: Reading, above: list[str]) -> str:
    """Where the stop, which judges a shorter time than the window, saw the limit exceeded and the points drawn do not show it."""
    exceeded = [reading.name(c.cell.id) for c in reading.climbs if any(v.stop == "log_latency" and (v.fired or v.mark) for v in c.verdicts)]
    hidden = [name for name in exceeded if name not in above]
    return (
        f" The stop judges the median of shorter means (10 s, or a third of the window): that one exceeded the limit on {words.listed(hidden)}."
        if hidden
        else ""
    )


def _spec(reading: Reading, points: list[dict[str, Any]], limit_ms: float) -> dict[str, Any]:
    import altair as alt

    most = max(point["users"] for point in points)
    least = min(point["users"] for point in points)
    users = alt.Scale(type="log", domain=[least / 1.05, max(most, least * 2) * 1.45], nice=False)
    x = alt.X(
        "users:Q",
        title="users",
        scale=users,
        axis=alt.Axis(values=round_numbers(least, most) if most > 5 * least else sorted({p["users"] for p in points}), format="d"),
    )
    y = alt.Y("ms:Q", title="log write latency, ms", **latency_scale([point["ms"] for point in points] + [limit_ms]))
    colour = alt.Color("name:N", scale=alt.Scale(domain=reading.names, range=reading.colours), legend=look.legend(reading.direct))
    lines = look.chart(points).encode(x=x, y=y, color=colour)
    limit = look.chart([{"ms": limit_ms, "users": least / 1.05, "label": f"limit {words.time(limit_ms / 1e3)}"}])
    ends = [max((p for p in points if p["name"] == name), key=lambda p: p["users"]) for name in dict.fromkeys(p["name"] for p in points)]
    named = look.chart(ends if reading.direct else []).mark_text(align="left", dx=9, fontWeight="bold", limit=100)
    drawn = alt.layer(
        limit.mark_rule(color=look.ALARM, strokeDash=[6, 4], strokeWidth=1.5).encode(y="ms:Q"),
        limit.mark_text(align="left", dy=-8, dx=4, color=look.ALARM).encode(x="users:Q", y="ms:Q", text="label:N"),
        lines.mark_line(strokeWidth=2),
        lines.mark_point(filled=True, size=42, opacity=1),
        named.encode(x="users:Q", y="ms:Q", text="name:N"),
    )
    return look.specification(drawn.properties(width=look.WIDTH, height=look.HEIGHT + 40))
