"""The distribution of the log's flushes in a figure: for each rung a thin line from its P50 to its
P99.9, with a tick at the P99. A percentile that few flushes exceed is drawn as uncertain, one that
hardly any exceed is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kneebench.analysis.knee import final_rungs
from kneebench.analysis.log_histogram import AGREEMENT, agrees, is_certain, is_shown, merged
from kneebench.analysis.wording import FEW, listed, percent, plural
from kneebench.brief import chart_theme
from kneebench.brief.lines import Row, line_colour
from kneebench.brief.scales import Domain
from kneebench.brief.view_model import ViewModel
from kneebench.measurement.meters.log_histogram import NAME
from kneebench.records import Climb, LogHistogram, Rung
from kneebench.units import time

GREY = "#9aa5b1"
"""Of the tick at an uncertain P99."""
BESIDE = 5.0
"""Pixels between the lines of two storages at the same number of users."""


Rungs = Sequence[tuple[Climb, Rung]]


def ranges(view: ViewModel, rungs: Rungs) -> list[Row]:
    """The rungs that have a distribution that agrees with the database's mean, and flushes enough
    for its P99. `p999` is None where they are too few; `top` is the last percentile that is shown.
    """
    return [
        {
            "name": view.name(climb.id),
            "place": view.place(climb.id),
            "users": rung.users,
            **_percentiles(one),
        }
        for climb, rung in rungs
        if (one := rung.log_histogram) and agrees(one) and is_shown(one, 0.99)
    ]


def _percentiles(one: LogHistogram) -> Row:
    last_s = one.p999_s if is_shown(one, 0.999) else None
    return {
        "p50": one.p50_s * 1e3,
        "p99": one.p99_s * 1e3,
        "p999": last_s and last_s * 1e3,
        "top": (last_s or one.p99_s) * 1e3,
        "certain99": is_certain(one, 0.99),
        "certain999": is_certain(one, 0.999),
    }


def room(view: ViewModel) -> float:
    """The share of a figure's width that the lines take on either side of their users."""
    return BESIDE * len(view.climbs) / 2 / chart_theme.WIDTH


def beside_each_other(view: ViewModel, found: Sequence[Row], across: Domain) -> list[Row]:
    """The same with `drawn_at`, the place on a logarithmic axis of users: storages side by side."""
    middle = (len(view.climbs) - 1) / 2
    pixel = (across.high / across.low) ** (1 / chart_theme.WIDTH)
    return [
        {**row, "drawn_at": row["users"] * pixel ** (BESIDE * (row["place"] - middle))}
        for row in found
    ]


def range_marks(view: ViewModel, found: list[Row]) -> tuple[Any, ...]:
    """The lines, dashed up to a percentile that is uncertain, and the ticks, grey at such a P99."""
    if not found:
        return ()
    import altair as alt

    drawn = chart_theme.chart(found).encode(x=alt.X("drawn_at:Q"), color=line_colour(view))
    thin = {"strokeWidth": 1.5, "opacity": 0.6}
    p99, up_to_p99 = alt.Y("p99:Q"), alt.Y2("p99:Q")
    tick = drawn.mark_tick(orient="horizontal", width=7, thickness=1.5).encode(y=p99)
    body = drawn.encode(y=alt.Y("p50:Q"), y2=up_to_p99)
    tail = drawn.transform_filter("datum.p999 != null").encode(y=p99, y2=alt.Y2("p999:Q"))
    return (
        body.transform_filter("datum.certain99").mark_rule(**thin),
        body.transform_filter("!datum.certain99").mark_rule(**thin, strokeDash=[2, 2]),
        tail.transform_filter("datum.certain999").mark_rule(**thin),
        tail.transform_filter("!datum.certain999").mark_rule(**thin, strokeDash=[2, 2]),
        tick.transform_filter("datum.certain99"),
        tick.transform_filter("!datum.certain99").encode(color=alt.value(GREY)),
    )


def about_ranges(view: ViewModel, found: Sequence[Row], rungs: Rungs) -> str:
    """What a caption says of them, and which of the rungs have none."""
    if NAME not in view.plan.meters or view.campaign.simulated:
        return ""
    shown = {row["name"] for row in found}
    traced = {view.name(climb.id) for climb, rung in rungs if rung.log_histogram}
    if not shown and traced:
        return f" The distribution of these times is not shown: {_why(rungs)}."
    if not shown:
        return (
            " The distribution of these times was not measured; the rungs' notes give the reason."
        )
    drawn = [(climb, rung) for climb, rung in rungs if view.name(climb.id) in shown]
    others = [(climb, rung) for climb, rung in rungs if view.name(climb.id) not in shown]
    hidden = [name for name in view.names if name in traced - shown]
    without = [name for name in view.names if name not in traced]
    points = [rung for _, rung in drawn if rung.quantity("log.write_latency")]
    bare = plural(len(points) - len(found), "rung") if len(points) > len(found) else ""
    return (
        " Thin lines: the distribution of the same flushes, timed in the kernel, from P50 to P99.9"
        f" with a tick at P99.{_uncertain(found)}"
        + (f" On {listed(hidden)} it is not shown: {_why(others)}." if hidden else "")
        + (f" Not measured on {listed(without)}." if without else "")
        + (f" Not shown for {bare}: too few flushes, or see the rungs' notes." if bare else "")
    )


def _uncertain(found: Sequence[Row]) -> str:
    """How percentiles with few flushes beyond them are drawn; empty if all have enough."""
    if all(row["certain999"] for row in found):
        return ""
    return " Dashed or grey: fewer than 100 flushes exceed this percentile (below 10: omitted)."


def _why(rungs: Rungs) -> str:
    """Why no distribution of these rungs is shown."""
    measured = [rung.log_histogram for _, rung in rungs if rung.log_histogram]
    if any(agrees(one) for one in measured):
        return "fewer than 10 flushes exceed the P99"
    if all(one.difference is None for one in measured):
        return "the database reports nothing to compare it with"
    return f"it differs by more than {percent(AGREEMENT)} from the database's statistics"


def p999_at_the_knee(climb: Climb) -> str:
    """The P99.9 of all final runs together; empty if it was not measured in each, if one does not
    agree with the database's mean, or if fewer than 10 flushes exceed it.
    """
    measured = [rung.log_histogram for rung in final_rungs(climb)]
    whole = merged([one for one in measured if one])
    if not whole or None in measured or not agrees(whole) or not is_shown(whole, 0.999):
        return ""
    return f", P99.9 {time(whole.p999_s)}" + ("" if is_certain(whole, 0.999) else f" ({FEW})")
