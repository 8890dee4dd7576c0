"""NOPM of every round, in the order of time, above the speed of the CPU: a storage that moved is
seen at once, and so is a machine that did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from kneebench.analysis.course import (
    FEWEST,
    course,
    cpu_speeds,
    minutes,
    rounds_in_order,
    speed_correlation,
)
from kneebench.analysis.wording import listed
from kneebench.brief import chart_theme
from kneebench.brief.lines import Row
from kneebench.brief.scales import THOUSANDS
from kneebench.brief.section import Figure, Section
from kneebench.brief.sections import numbered
from kneebench.brief.view_model import ViewModel
from kneebench.records import Rung
from kneebench.units import significant


def section(view: ViewModel) -> Section | None:
    """In front where a storage moved; nothing with long runs, or few rounds."""
    rounds = {climb.id: rounds_in_order(climb) for climb in view.climbs}
    if max(map(len, rounds.values()), default=0) < FEWEST:
        return None
    points = [
        {"name": view.name(id_), "minutes": at, "nopm": rung.tally.nopm, "speed": speed}
        for id_, rungs in rounds.items()
        for at, rung, speed in zip_longest(minutes(rungs), rungs, cpu_speeds(rungs))
    ]
    moved = [one for climb in view.climbs if (one := course(climb))]
    ends = [
        f"{view.name(one.climb.id)} from {significant(one.first)} to {significant(one.last)} NOPM"
        for one in moved
    ]
    title = f"Rounds: {listed(ends)}" if ends else "Rounds: no storage moved from first to last"
    figure = Figure(
        name="rounds",
        number=numbered("rounds"),
        title=title,
        caption=(
            "NOPM at the knee in each round, by the time at which it began. A storage moved"
            " where a line through its rounds changes by 20% or more, beyond its 99% interval."
            + _speed(view, rounds)
        ),
        alt=f"NOPM of each round over time. {title}.",
        spec=_spec(view, points),
    )
    part = "front" if moved else "appendix"
    return Section(name="rounds", title="The rounds", figures=(figure,), part=part)


def _speed(view: ViewModel, rounds: Mapping[str, Sequence[Rung]]) -> str:
    """What the lower plot is, and how far NOPM went with it."""
    found = {id_: speed_correlation(rungs) for id_, rungs in rounds.items()}
    every = [f"{r:.2f} ({view.name(id_)})" for id_, r in found.items() if r is not None]
    if not every:
        return ""
    return (
        " Below, the speed of the machine's CPU in each window, by the load generator's CPU time"
        f" per transaction, with a mean of 1; its correlation with NOPM: {listed(every)}."
        " Near 1, what scatters is the machine, not the storage."
    )


def _spec(view: ViewModel, points: list[Row]) -> dict[str, Any]:
    import altair as alt

    nopm = alt.Y(
        "nopm:Q", title="NOPM", axis=alt.Axis(labelExpr=THOUSANDS), scale=alt.Scale(zero=True)
    )
    speed = alt.Y("speed:Q", title="CPU speed", scale=alt.Scale(zero=False))
    colour = chart_theme.colour_by_name(view.names, view.colours, chart_theme.legend(view.names))
    measured = any(one["speed"] for one in points)

    def panel(y: alt.Y, height: float, *, last: bool) -> Any:
        title = "Minutes since the first round" if last else None
        x = alt.X("minutes:Q", title=title, axis=alt.Axis(labels=last))
        chart = chart_theme.chart(points).encode(x=x, y=y, color=colour)
        points_ = chart.mark_point(filled=True, size=42, opacity=1)
        return alt.layer(chart.mark_line(strokeWidth=1.5), points_).properties(
            width=chart_theme.WIDTH, height=height
        )

    panels = [panel(nopm, chart_theme.HEIGHT * 0.7, last=not measured)]
    if measured:
        panels.append(panel(speed, chart_theme.HEIGHT * 0.3, last=True))
    return chart_theme.specification(alt.vconcat(*panels, spacing=10))
