"""Fig. 3: the NOPM-latency curve of each storage, its knee circled."""

from __future__ import annotations

from typing import Any

from kneebench.brief import look, words
from kneebench.brief.reading import Reading
from kneebench.brief.scales import latency_scale
from kneebench.brief.section import Figure, Section
from kneebench.records import Climb

PLACE = 40
THOUSANDS = "datum.value ? format(datum.value / 1000, ',.4~r') + 'k' : '0'"


def section(reading: Reading) -> Section | None:
    """A line per storage through its rungs in the order of users: past the knee it bends back."""
    points = [point for climb in reading.climbs for point in _points(reading, climb)]
    if len(points) < 2:
        return None
    return Section(name="curve", title="The climb", figures=(_figure(reading, points),))


def _points(reading: Reading, climb: Climb) -> list[dict[str, Any]]:
    rungs = {rung.users: rung for rung in climb.of("scout", "bisection", "fixed") if not rung.invalid and rung.tally.latency}
    return [
        {"name": reading.name(climb.cell.id), "users": users, "nopm": rung.tally.nopm, "ms": rung.tally.latency.mean_s * 1e3}
        for users, rung in sorted(rungs.items())
        if rung.tally.latency
    ]


def _knees(reading: Reading) -> list[dict[str, Any]]:
    return [
        {
            "name": reading.name(cell),
            "label": f"{reading.name(cell)}, {knee.users.value:.0f} users" if reading.direct else f"{knee.users.value:.0f}",
            "nopm": knee.nopm.value,
            "left": knee.nopm.low,
            "right": knee.nopm.high,
            "ms": knee.latency_s.value * 1e3,
            "low": knee.latency_s.low * 1e3,
            "high": knee.latency_s.high * 1e3,
            "boxed": knee.nopm.n > 1,
        }
        for cell, knee in reading.knees.items()
    ]


def _figure(reading: Reading, points: list[dict[str, Any]]) -> Figure:
    knees = _knees(reading)
    title = _title(reading, knees)
    rung = "scouting rung" if reading.point == "knee" else "first rung"
    caption = (
        f"Each point is a {rung}, the line follows the users as they are added (closed loop). "
        f"The circle is the {reading.point} as the report measured it again; "
        "its box is the 95 % interval of NOPM and of mean latency, the latter widened by the users between which it lies."
    )
    return Figure(name="curve", number="Fig. 3", title=title, caption=caption, alt=f"Mean latency against NOPM. {title}.", spec=_spec(reading, points, knees))


def _title(reading: Reading, knees: list[dict[str, Any]]) -> str:
    if not knees:
        return "The climb so far"
    if not reading.direct:
        nopm = sorted(knee["nopm"] for knee in knees)
        return f"{words.plural(len(knees), reading.point)}, from {words.significant(nopm[0])} to {words.significant(nopm[-1])} NOPM"
    found = words.listed([f"{knee['label']} ({words.significant(knee['nopm'])} NOPM)" for knee in knees])
    return f"{reading.point.capitalize()}{'' if len(knees) == 1 else 's'}: {found}"


def _spec(reading: Reading, points: list[dict[str, Any]], knees: list[dict[str, Any]]) -> dict[str, Any]:
    import altair as alt

    right = max([p["nopm"] for p in points] + [k["nopm"] for k in knees]) * 1.12
    y = alt.Y("ms:Q", title="mean latency, ms", **latency_scale([p["ms"] for p in points] + [k["ms"] for k in knees]))
    x = alt.X("nopm:Q", title="NOPM", scale=alt.Scale(domain=[0, right], nice=False), axis=alt.Axis(tickCount=6, labelExpr=THOUSANDS))
    colour = alt.Color("name:N", scale=alt.Scale(domain=reading.names, range=reading.colours), legend=look.legend(reading.direct))
    shape = alt.Shape(
        "name:N", scale=alt.Scale(domain=reading.names, range=[look.SHAPES[n % len(look.SHAPES)] for n in range(len(reading.names))]), legend=None
    )
    rungs = look.chart(points).encode(x=x, y=y, color=colour)
    found = look.chart(knees).encode(color=colour)
    at = {"x": alt.X("nopm:Q"), "y": alt.Y("ms:Q")}
    drawn = alt.layer(
        found.transform_filter("datum.boxed").mark_rect(opacity=0.22, clip=True, strokeWidth=1).encode(x="left:Q", x2="right:Q", y="low:Q", y2="high:Q"),
        rungs.mark_line(strokeWidth=2).encode(order="users:Q"),
        rungs.mark_point(filled=True, size=42, opacity=1).encode(shape=shape),
        found.mark_point(size=330, strokeWidth=2.5, shape="circle", opacity=1).encode(**at),
        *(_label(knee, right, reading.direct) for knee in knees),
    )
    return look.specification(drawn.properties(width=look.WIDTH, height=look.HEIGHT + 40))


def _label(knee: dict[str, Any], right: float, direct: bool) -> Any:
    """A knee's name on the side where there is room; a bare number of users above its circle."""
    beside = {"align": "right", "dx": -15, "dy": -12} if knee["nopm"] > 0.55 * right else {"align": "left", "dx": 15, "dy": 12}
    placed = beside if direct else {"align": "center", "dy": -18}
    text = {"fontWeight": "bold", "fontSize": 13, **placed}
    halo = {"stroke": "white", "strokeWidth": 4, "strokeJoin": "round"}
    named = look.chart([knee]).encode(x="nopm:Q", y="ms:Q", text="label:N")
    return named.mark_text(**text, **halo) + named.mark_text(**text, color=look.INK)
