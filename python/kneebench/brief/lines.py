"""Lines in a plane, one per storage, with texts beside some of their points: what the figures of a
climb share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from kneebench.brief import chart_theme
from kneebench.brief.labels import Point, marks, placed
from kneebench.brief.scales import Domain
from kneebench.brief.view_model import ViewModel

HEIGHT = chart_theme.HEIGHT + 32
Row = dict[str, Any]


class Plane(NamedTuple):
    """A plot over two fields of its rows."""

    x: str
    y: str
    across: Domain
    up: Domain

    def at(self, row: Row) -> Point:
        """Where a row is drawn."""
        return Point(
            chart_theme.WIDTH * self.across.share(row[self.x]),
            HEIGHT * (1 - self.up.share(row[self.y])),
        )

    def labels(self, rows: Sequence[Row], behind: Sequence[Sequence[Row]]) -> Iterator[Any]:
        """The `label` of each row as a text beside its point, clear of each other and of the lines
        behind them; in the row's `ink` if it has one. A label that has no room is left out.
        """
        import altair as alt

        found = placed(
            [(row["label"], self.at(row)) for row in rows],
            [[self.at(row) for row in line] for line in behind],
            chart_theme.WIDTH,
            HEIGHT,
        )
        at = {"x": alt.X(f"{self.x}:Q"), "y": alt.Y(f"{self.y}:Q"), "text": alt.Text("label:N")}
        for row, label in zip(rows, found, strict=True):
            if label:
                chart = chart_theme.chart([row]).encode(**at)
                yield marks(chart, label, **({"color": row["ink"]} if "ink" in row else {}))

    def specification(self, *layers: Any) -> dict[str, Any]:
        """The layers over each other, as a Vega-Lite specification."""
        import altair as alt

        return chart_theme.specification(alt.layer(*layers, width=chart_theme.WIDTH, height=HEIGHT))


def by_storage(view: ViewModel, points: Sequence[Row]) -> list[list[Row]]:
    """The points of each storage, in the order of the names."""
    return [[point for point in points if point["name"] == name] for name in view.names]


def line_colour(view: ViewModel) -> Any:
    """Each storage's colour, with a legend unless the names are beside the lines."""
    return chart_theme.colour_by_name(
        view.names, view.colours, None if view.named_at_lines else chart_theme.legend(view.names)
    )
