"""The distribution of the log's flushes in a figure: for each rung a thin line from its P50 to its
P99.9, with a tick at the P99.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kneebench.analysis.knee import final_rungs
from kneebench.analysis.log_histogram import agrees, merged
from kneebench.analysis.wording import FEW, listed, plural
from kneebench.brief import chart_theme
from kneebench.brief.lines import Row, line_colour
from kneebench.brief.scales import Domain
from kneebench.brief.view_model import ViewModel
from kneebench.measurement.meters.log_histogram import NAME
from kneebench.records import Climb, Rung
from kneebench.units import time

BESIDE = 5.0
"""Pixels between the lines of two storages at the same number of users."""


def ranges(view: ViewModel, rungs: Sequence[tuple[Climb, Rung]]) -> list[Row]:
    """The rungs that have a distribution that agrees with the database's mean."""
    return [
        {
            "name": view.name(climb.cell.id),
            "place": view.place(climb.cell.id),
            "users": rung.users,
            "p50": one.p50_s * 1e3,
            "p99": one.p99_s * 1e3,
            "p999": one.p999_s * 1e3,
            "certain": one.p999_is_certain,
        }
        for climb, rung in rungs
        if (one := rung.log_histogram) and agrees(one)
    ]


def room(view: ViewModel) -> float:
    """The share of a figure's width that the lines take on either side of their users."""
    return BESIDE * len(view.climbs) / 2 / chart_theme.WIDTH


def beside_each_other(view: ViewModel, found: Sequence[Row], across: Domain) -> list[Row]:
    """The same with `at`, the place on a logarithmic axis of users: storages side by side."""
    middle = (len(view.climbs) - 1) / 2
    pixel = (across.high / across.low) ** (1 / chart_theme.WIDTH)
    return [
        {**row, "at": row["users"] * pixel ** (BESIDE * (row["place"] - middle))} for row in found
    ]


def range_marks(view: ViewModel, found: list[Row]) -> tuple[Any, ...]:
    """The lines, dashed from P99 to an uncertain P99.9, and the ticks."""
    if not found:
        return ()
    drawn = chart_theme.chart(found).encode(x="at:Q", color=line_colour(view))
    thin = {"strokeWidth": 1.5, "opacity": 0.6}
    tail = drawn.encode(y="p99:Q", y2="p999:Q")
    return (
        drawn.mark_rule(**thin).encode(y="p50:Q", y2="p99:Q"),
        tail.transform_filter("datum.certain").mark_rule(**thin),
        tail.transform_filter("!datum.certain").mark_rule(**thin, strokeDash=[2, 2]),
        drawn.mark_tick(orient="horizontal", width=7, thickness=1.5).encode(y="p99:Q"),
    )


def about_ranges(view: ViewModel, found: Sequence[Row], points: Sequence[Row]) -> str:
    """What a caption says of them, and which of the points have none."""
    if NAME not in view.plan.meters or view.campaign.simulated:
        return ""
    shown = {row["name"] for row in found}
    if not shown:
        return (
            " The distribution of these times was not measured; the rungs' notes give the reason."
        )
    uncertain = any(not row["certain"] for row in found)
    dashed = f", dashed where the P99.9 is uncertain ({FEW})" if uncertain else ""
    without = [name for name in view.names if name not in shown]
    missing = f" Not measured on {listed(without)}." if without else ""
    bare = sum(point["name"] in shown for point in points) - len(found)
    some = f" Not shown for {plural(bare, 'rung')}; see the rungs' notes." if bare else ""
    return (
        " Thin lines: the distribution of the same flushes, timed in the kernel, from P50 to P99.9"
        f" with a tick at P99{dashed}.{missing}{some}"
    )


def p999_at_the_knee(climb: Climb) -> str:
    """The P99.9 of all final runs together; empty if it was not measured in each, or does not agree
    with the database's mean.
    """
    measured = [rung.log_histogram for rung in final_rungs(climb)]
    whole = merged([one for one in measured if one])
    if not whole or None in measured or not agrees(whole):
        return ""
    return f", P99.9 {time(whole.p999_s)}" + ("" if whole.p999_is_certain else f" ({FEW})")
