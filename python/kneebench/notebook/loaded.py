"""A campaign's results as Python and notebooks have them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import get_close_matches
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from kneebench import records
from kneebench.analysis.configuration_summary import configuration_summaries, rows
from kneebench.analysis.sweep_rows import required_sweep_rows
from kneebench.brief import Brief, chart_theme, drawing
from kneebench.brief.section import Section
from kneebench.brief.sections import cautions, checks, missing, queries
from kneebench.errors import KneebenchError, PlanError
from kneebench.notebook import frames
from kneebench.notebook.frame import Frame
from kneebench.records import Climb, Results
from kneebench.records.markup import html_table, paragraphs
from kneebench.shelf import SECTIONS

_NEAR = 0.5
"""How near a name must be to what was typed to be suggested, from 0 to 1."""


class UnknownConfiguration(PlanError, KeyError):
    """A name that no configuration of the campaign has."""

    def __str__(self) -> str:
        return self.alone


class LoadedResults(records.Results):
    """A campaign as `run` and `load` give it.

    `results["slow drive"]` is the climb of a configuration, by its name, its id, or its storage
    where that has only one. A loop over the results has all climbs. Frames (`rungs`, `knees`,
    `comparisons`, `series`, `seconds`, `sweep`) are columns of numpy arrays for pandas, polars and
    DuckDB. `plot` has the brief's charts.
    """

    def __getitem__(self, name: str) -> Climb:
        """The climb of a configuration; raises UnknownConfiguration, which is a KeyError, and
        TypeError for what is no name.
        """
        if not isinstance(name, str):
            names = ", ".join(repr(climb.configuration.name) for climb in self.climbs)
            raise TypeError(f"results[{name!r}]: a name is required: {names}")
        found = self._named(name)
        if len(found) == 1:
            return found[0]
        names = [climb.configuration.name for climb in found or self.climbs]
        seen, do = "no such configuration", f"available: {', '.join(names)}"
        if found:
            seen, do = "it has several configurations", f"use one of: {', '.join(names)}"
        elif near := get_close_matches(name, names, 1, _NEAR):
            do = f"did you mean {near[0]!r}? {do}"
        raise UnknownConfiguration(f"results[{name!r}]", seen=seen, do=do)

    def __iter__(self) -> Iterator[Climb]:  # type: ignore[override]
        """Its climbs; pydantic's own gives pairs of fields and values."""
        return iter(self.climbs)

    def __contains__(self, name: object) -> bool:
        """Whether `results[name]` is a climb."""
        return isinstance(name, str) and len(self._named(name)) == 1

    def _named(self, name: str) -> list[Climb]:
        """The climbs of the configuration with this name or id, or on the storage."""
        exact = [one for one in self.climbs if name in (one.configuration.name, one.id)]
        return exact or [one for one in self.climbs if one.configuration.storage == name]

    def rungs(self) -> Frame:
        """A row for each rung, by configuration and in the order measured, invalid ones too: load,
        NOPM, TPM, latencies, log write, device traffic, and what must be known of it.
        """
        return frames.rungs_frame(self)

    def knees(self) -> Frame:
        """A row for each configuration: its knee and its latency at the fixed rate, each with its
        95% interval, stop reason and bottleneck.
        """
        return frames.knees_frame(self)

    def comparisons(self) -> Frame:
        """A row for each configuration and quantity that is compared with the baseline."""
        return frames.comparisons_frame(self)

    def series(self, *quantities: str) -> Frame:
        """What the meters read, a row for each second and source: of the quantities named, such as
        "log.write_latency", or of all. Raises PlanError for a name that no quantity has, TypeError
        for what is no text, and KneebenchError where the campaign's series are missing.
        """
        if not all(isinstance(name, str) for name in quantities):
            raise TypeError("quantities are separate texts: series('a', 'b')")
        return frames.series_frame(self, quantities)

    def seconds(self) -> Frame:
        """Transactions and their latency, a row for each second and transaction type. Raises
        KneebenchError where the campaign's seconds are missing.
        """
        return frames.seconds_frame(self)

    def wait_shares(self) -> Frame:
        """Where a transaction's mean time goes at the knee, a row for each configuration and class
        of waits: the shares that the brief has. Empty where waits were not sampled.
        """
        return frames.wait_shares_frame(self)

    def sweep(self) -> Frame:
        """A row for each configuration of a sweep, the smallest first: limits, NOPM with its
        interval, NOPM relative to the largest, reads. Raises PlanError without a sweep.
        """
        return frames.sweep_frame(self)

    @property
    def plot(self) -> Plot:
        """The brief's charts: `results.plot.curve()`."""
        return Plot(self)

    def __repr_name__(self) -> str:
        return records.Results.__name__

    def _repr_html_(self) -> str:
        """The finding, what must be known before it, and the table of answers."""
        return results_html(self)


def loaded(results: records.Results) -> LoadedResults:
    """Results with all that Python adds to them."""
    return LoadedResults(**{name: getattr(results, name) for name in type(results).model_fields})


# The brief's charts as Altair objects, made by the brief's own sections.

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


# A campaign in a notebook: the finding, the answers, and what must be known before either.


def results_html(results: Results) -> str:
    """What failed, the brief's title and the table that `kneebench show` prints, then the caveats:
    the brief's own sections.
    """
    brief = Brief(results)
    alarms, *notes = (part.section(brief.view) for part in (checks, missing, cautions))
    of_queries = queries.section(brief.view)
    found = [] if of_queries else configuration_summaries(results)
    table = [(name, *cells) for name, cells in rows(found) if name] if found else []
    return "".join(
        (
            _section(alarms),
            paragraphs([brief.banner]),
            f"<p><strong>{escape(brief.title)}</strong></p>",
            paragraphs([brief.subtitle, *(one.words for one in brief.view.disturbances)]),
            html_table(["", *(one.name for one in found)], table, brief.view.plan.question),
            _section(of_queries),
            *map(_section, notes),
            paragraphs([brief.derived]),
        )
    )


def _section(section: Section | None) -> str:
    if section is None:
        return ""
    sentences = "".join(f"<li>{escape(sentence)}</li>" for sentence in section.sentences)
    tables = (
        html_table([column.title for column in one.columns], [row.cells for row in one.rows])
        for one in section.tables
    )
    title = f"<p><strong>{escape(section.title)}</strong></p>"
    return f"{title}<ul>{sentences}</ul>{''.join(tables)}"
