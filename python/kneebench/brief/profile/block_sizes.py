"""Fig. 3: I/Os per second and MB/s by block size."""

from __future__ import annotations

from typing import Any

from kneebench import units
from kneebench.brief import chart_theme
from kneebench.brief.labels import Label, marks
from kneebench.brief.section import Figure, Section
from kneebench.measurement.profile import Profile

GROUP = "block size"
ABOVE = Label("", "center", 0, -13)
Point = dict[str, Any]


def section(found: Profile) -> Section | None:
    """Two panels over the same blocks: one falls, the other rises to the drive's bandwidth."""
    points = [
        {
            "block": units.size(row.block_bytes),
            "iops": row.iops,
            "iops_label": units.significant(row.iops),
            "mb": row.bytes_per_s / 1e6,
            "mb_label": units.significant(row.bytes_per_s / 1e6),
        }
        for row in found.rows
        if row.group == GROUP and not row.invalid
    ]
    if len(points) < 2:
        return None
    return Section(name="blocks", title="Block sizes", figures=(_figure(points),))


def _figure(points: list[Point]) -> Figure:
    small, large = points[0], points[-1]
    title = (
        f"Random read: {small['iops_label']} IOPS at {small['block']}, {large['mb_label']} MB/s at"
        f" {large['block']}"
    )
    return Figure(
        name="blocks",
        number="Fig. 3",
        title=title,
        caption="Random reads at depth 32, one worker. Above: I/Os per second. Below: MB/s.",
        alt=f"I/Os per second and MB/s by block size. {title}.",
        spec=_spec(points),
    )


def _spec(points: list[Point]) -> dict[str, Any]:
    import altair as alt

    blocks = [point["block"] for point in points]

    def panel(field: str, title: str, across: str | None) -> Any:
        top = 1.2 * max(point[field] for point in points)
        encoded = chart_theme.chart(points).encode(
            x=alt.X(
                "block:N", sort=blocks, title=across, axis=alt.Axis(labelAngle=0), scale=_inset()
            ),
            y=alt.Y(
                f"{field}:Q",
                title=title,
                scale=alt.Scale(domain=[0, top], nice=False),
                axis=alt.Axis(tickCount=4, format=",.4~r"),
            ),
        )
        return alt.layer(
            encoded.mark_line(strokeWidth=2, color=chart_theme.READ),
            encoded.mark_point(filled=True, size=48, opacity=1, color=chart_theme.READ),
            marks(encoded.encode(text=alt.Text(f"{field}_label:N")), ABOVE),
            width=chart_theme.WIDTH,
            height=120,
        )

    panels = (panel("iops", "I/Os per second", None), panel("mb", "MB/s", "Block size"))
    return chart_theme.specification(alt.vconcat(*panels, spacing=14))


def _inset() -> Any:
    import altair as alt

    return alt.Scale(type="point", padding=0.5)
