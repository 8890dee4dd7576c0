"""Fig. 4: I/Os per second through the rows of random writes and of log writes."""

from __future__ import annotations

from typing import Any

from kneebench import units
from kneebench.analysis.wording import capital
from kneebench.brief import chart_theme
from kneebench.brief.section import Figure, Section
from kneebench.measurement.profile import Profile, ProfileRow

FEWEST = 3
"""Points of a line that shows anything."""


def section(found: Profile) -> Section | None:
    """One panel per row."""
    rows = [row for row in found.rows if len(row.over_time) >= FEWEST and not row.invalid]
    if not rows:
        return None
    return Section(name="over-time", title="Over time", figures=(_figure(rows),))


def _figure(rows: list[ProfileRow]) -> Figure:
    (first, _), (second, _), *_ = rows[0].over_time
    title = capital("; ".join(_range(row) for row in rows))
    return Figure(
        name="over-time",
        number="Fig. 4",
        title=title,
        caption=(
            f"Each point is the mean of {units.time(second - first)}; dashed: the mean of the row."
            " A drive slows down when its cache is full, or when it moves data to free space."
        ),
        alt=f"I/Os per second over time. {title}.",
        spec=_spec(rows),
    )


def _name(row: ProfileRow) -> str:
    return "log writes" if row.sync else f"random {'writes' if row.write else 'reads'}"


def _range(row: ProfileRow) -> str:
    values = [iops for _, iops in row.over_time]
    return (
        f"{_name(row)}: {units.significant(min(values))} to {units.significant(max(values))} IOPS"
    )


def _spec(rows: list[ProfileRow]) -> dict[str, Any]:
    import altair as alt

    end = max(row.over_time[-1][0] for row in rows)
    titles = [*[None] * (len(rows) - 1), "Seconds since the row started"]
    panels = [_panel(row, end, title) for row, title in zip(rows, titles, strict=True)]
    return chart_theme.specification(alt.vconcat(*panels, spacing=14))


def _panel(row: ProfileRow, end: float, title: str | None) -> Any:
    import altair as alt

    points = [{"at": at, "iops": iops} for at, iops in row.over_time]
    top = 1.1 * max(iops for _, iops in row.over_time)
    y = alt.Y(
        "iops:Q",
        title=f"{capital(_name(row))} per s",
        scale=alt.Scale(domain=[0, top or 1], nice=False),
        axis=alt.Axis(tickCount=4, format=",.4~r"),
    )
    scale, axis = alt.Scale(domain=[0, end], nice=False), alt.Axis(tickCount=6)
    x = alt.X("at:Q", title=title, scale=scale, axis=axis)
    colour = chart_theme.LOG if row.sync else chart_theme.WRITTEN
    line = chart_theme.chart(points).mark_line(strokeWidth=1.8, color=colour).encode(x=x, y=y)
    mean = chart_theme.chart([{"iops": row.iops}])
    dashed = mean.mark_rule(color=chart_theme.FAINT, strokeDash=[3, 3]).encode(y=y)
    return alt.layer(line, dashed, width=chart_theme.WIDTH, height=120)
