"""The brief's charts as Altair objects, made by the brief's own sections."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from kneebench.analysis.sweep_rows import required_sweep_rows
from kneebench.brief import Brief, chart_theme, drawing
from kneebench.errors import KneebenchError
from kneebench.records import Results
from kneebench.shelf import SECTIONS

if TYPE_CHECKING:
    import altair


class Plot:
    """The charts of a campaign, each with the brief's title and, below it, what the figures must
    not be taken for.

    Each raises KneebenchError where the campaign has no data for it.
    """

    def __init__(self, results: Results) -> None:
        self._results = results

    def curve(self) -> altair.TopLevelMixin:
        """Mean latency against NOPM as users are added, with the knee of each configuration."""
        return self._chart("curve", "curve")

    def latency(self, which: Literal["mean", "p999"] = "mean") -> altair.TopLevelMixin:
        """Latency at the fixed rate by configuration: the mean, or P99.9."""
        return self._chart("latency", f"latency-{which}")

    def log_writes(self) -> altair.TopLevelMixin:
        """Log write latency against users, with the limit."""
        return self._chart("log_writes", "log-writes")

    def sweep(
        self, which: Literal["relative", "devices", "cores"] = "relative"
    ) -> altair.TopLevelMixin:
        """What more memory or cores buy: NOPM, the traffic of the devices, or busy cores."""
        name = f"sweep-{which}"
        required_sweep_rows(self._results, f"chart {name!r}")
        return self._chart("sweep", name)

    def _chart(self, section: str, name: str) -> altair.TopLevelMixin:
        """A figure of a section, by their names."""
        import altair

        brief = Brief(self._results)
        with chart_theme.without_validation():
            made = SECTIONS.module(section).section(brief.view)
        figures = {figure.name: figure for figure in made.figures} if made else {}
        if name not in figures:
            others = f"; it has {', '.join(figures)}" if figures else ""
            raise KneebenchError(f"chart {name!r}", seen=f"the campaign has no data for it{others}")
        specification: dict[str, Any] = json.loads(drawing.titled(figures[name], brief.says))
        chart: altair.TopLevelMixin = altair.Chart.from_dict(specification)
        return chart
