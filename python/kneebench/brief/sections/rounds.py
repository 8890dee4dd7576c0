"""NOPM of every round, in the order of time: a storage that moved is seen at once."""

from __future__ import annotations

from typing import Any

from kneebench.analysis.course import FEWEST, course, minutes, rounds_in_order
from kneebench.analysis.wording import listed
from kneebench.brief import chart_theme
from kneebench.brief.lines import Row
from kneebench.brief.scales import THOUSANDS
from kneebench.brief.section import Figure, Section
from kneebench.brief.sections import numbered
from kneebench.brief.view_model import ViewModel
from kneebench.units import significant


def section(view: ViewModel) -> Section | None:
    """In front where a storage moved; nothing with long runs, or few rounds."""
    rounds = {climb.id: rounds_in_order(climb) for climb in view.climbs}
    if max(map(len, rounds.values()), default=0) < FEWEST:
        return None
    points = [
        {"name": view.name(id_), "minutes": at, "nopm": rung.tally.nopm}
        for id_, rungs in rounds.items()
        for at, rung in zip(minutes(rungs), rungs, strict=True)
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
        ),
        alt=f"NOPM of each round over time. {title}.",
        spec=_spec(view, points),
    )
    part = "front" if moved else "appendix"
    return Section(name="rounds", title="The rounds", figures=(figure,), part=part)


def _spec(view: ViewModel, points: list[Row]) -> dict[str, Any]:
    import altair as alt

    x = alt.X("minutes:Q", title="Minutes since the first round")
    y = alt.Y(
        "nopm:Q", title="NOPM", axis=alt.Axis(labelExpr=THOUSANDS), scale=alt.Scale(zero=True)
    )
    colour = chart_theme.colour_by_name(view.names, view.colours, chart_theme.legend(view.names))
    chart = chart_theme.chart(points).encode(x=x, y=y, color=colour)
    layers = (chart.mark_line(strokeWidth=1.5), chart.mark_point(filled=True, size=42, opacity=1))
    size = {"width": chart_theme.WIDTH, "height": chart_theme.HEIGHT}
    return chart_theme.specification(alt.layer(*layers, **size))
