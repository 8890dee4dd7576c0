"""Figures that others published, beside those that were measured here.

A published figure is drawn and printed as it is. No ratio, interval or title contains it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from kneebench import units
from kneebench.analysis.comparison import measured_ratio
from kneebench.analysis.cpu_utilization import cpu_utilization
from kneebench.analysis.final_estimates import estimate_of
from kneebench.analysis.knee import final_rungs
from kneebench.analysis.power import mw_per_nopm
from kneebench.analysis.quantity_ratio import ComparedQuantity
from kneebench.analysis.wording import FEW, capital, known, percent, times_and_interval
from kneebench.brief import chart_theme
from kneebench.brief.bars import (
    axis_end,
    interval_ends,
    labels_beside,
    names_beside,
    whisker_marks,
)
from kneebench.brief.section import Column, Figure, Row, Section, Table
from kneebench.brief.sections import numbered
from kneebench.brief.view_model import ViewModel
from kneebench.plan.authors_words import Published
from kneebench.records import Climb, Estimate, Rung

MARK = "published, not measured here"
TITLE = "Published figures beside those measured here"
COLUMNS = (
    Column(title="Figure", number=False),
    Column(title="Storage", number=False),
    Column(title="Measured here"),
    Column(title=capital(MARK)),
    Column(title="Source", number=False),
)


def _latency(which: Callable[[Any], float]) -> Callable[[Rung], float]:
    return lambda rung: which(rung.tally.latency) if rung.tally.latency else 0.0


def _metered(quantity: str) -> Callable[[Rung], float]:
    return lambda rung: rung.quantity(quantity) or 0.0


def _busy(rung: Rung) -> float:
    found = cpu_utilization([rung])
    return found.mean.value if found else 0.0


class Own(NamedTuple):
    """How a figure of the plan's names is read from a run (0: it was not measured), the factor to
    what is drawn, and the unit there.
    """

    pick: Callable[[Rung], float]
    factor: float
    unit: str


OWN = {
    "NOPM": Own(lambda rung: rung.tally.nopm, 1.0, "NOPM"),
    "TPM": Own(lambda rung: rung.tpm, 1.0, "TPM"),
    "users": Own(lambda rung: rung.users, 1.0, "users"),
    "mean latency": Own(_latency(lambda one: one.mean_s), 1e3, "ms"),
    "P99.9 latency": Own(_latency(lambda one: one.p999_s), 1e3, "ms"),
    "power per NOPM": Own(mw_per_nopm, 1.0, "mW/NOPM"),
    "log write": Own(_metered("log.write_latency"), 1e3, "ms"),
    "device reads": Own(_metered("device.read_bytes"), 1e-6, "MB/s"),
    "device writes": Own(_metered("device.write_bytes"), 1e-6, "MB/s"),
    "CPU busy": Own(_busy, 1e2, "%"),
}
"""By the names that a plan may give to published figures."""


WRITTEN: dict[str, Callable[[float], str]] = {
    "users": lambda value: f"{units.count(value)} users",
    "ms": units.time,
    "MB/s": units.rate,
    "%": percent,
    "mW/NOPM": lambda value: f"{units.significant(value)} mW/NOPM",
}
"""By the unit that is drawn: a figure as it is printed, of what results have."""


class Beside(NamedTuple):
    """A published figure and one configuration that it stands beside; `own`: what was measured of
    that, None if it was not; `certain`: enough transactions exceed a percentile.
    """

    published: Published
    configuration: str
    own: Estimate | None
    certain: bool = True


def section(view: ViewModel) -> Section | None:
    """A panel per figure and a row per published value; None without any in the plan."""
    found = [one for each in view.plan.brief.published for one in _beside(view, each)]
    if not found:
        return None
    return Section(
        name="published",
        title=TITLE,
        figures=(_figure(view, found),),
        tables=(_table(view, found),),
        part="front",
    )


def _beside(view: ViewModel, one: Published) -> Iterator[Beside]:
    """One for each configuration of its storage and constraint; none of a profile, whose page has
    it.
    """
    for climb in view.climbs if one.kind != "profile" else ():
        own = climb.configuration
        constraint = "" if own.reference else own.constraint
        if own.storage == one.storage and constraint == one.constraint:
            knee = view.knees.get(climb.id)
            sure = bool(knee and knee.latency and knee.latency.p999_is_certain)
            certain = sure or one.name != "P99.9 latency"
            yield Beside(one, climb.id, _own(view, climb, one), certain)


def _own(view: ViewModel, climb: Climb, one: Published) -> Estimate | None:
    pick = OWN[one.name].pick
    if one.kind == "figure":
        measured = [rung for rung in final_rungs(climb) if pick(rung) > 0]
        return estimate_of(measured, pick, adds=OWN[one.name].unit == "MB/s") if measured else None
    of = climb.configuration
    for base in view.climbs:
        same = (base.configuration.database, base.configuration.constraint)
        if view.is_base(base) and same == (of.database, of.constraint):
            interleaved = view.campaign.interleaved(climb.id, base.configuration.id)
            quantity = ComparedQuantity(one.name, "final_run", pick, one.name)
            return measured_ratio(climb, base, quantity, interleaved=interleaved)
    return None


# --- table ----------------------------------------------------------------------------------------


def _table(view: ViewModel, found: list[Beside]) -> Table:
    rows = (
        Row(
            cells=(
                _title(view, one.published),
                view.name(one.configuration),
                _measured(one),
                _told(one.published),
                one.published.source,
            )
        )
        for one in found
    )
    caption = (
        f"{capital(MARK)}: the author of the plan copied these figures from their source."
        " kneebench did not check them, and no other figure of this brief contains them. Server,"
        " database and drives differ, so agreement and difference are no proof."
    )
    return Table(caption=caption, columns=COLUMNS, rows=tuple(rows))


def _title(view: ViewModel, one: Published) -> str:
    of = f", {view.plan.base} = 1" if one.kind == "ratio" else ""
    return f"{capital(one.name)} at the {view.point}{of}"


def _measured(one: Beside) -> str:
    """With its interval below, where there is one."""
    of, unit = one.own, OWN[one.published.name].unit
    if of is None:
        return "not measured"
    doubt = "" if one.certain else f" ({FEW})"
    if one.published.kind == "ratio":
        value, sure = times_and_interval(of)
        return f"{value}{doubt}\n({sure})"
    written = WRITTEN.get(unit) or (lambda value: f"{units.significant(value)} {unit}")
    value, ends = f"{written(of.value)}{doubt}", f"{written(of.low)} to {written(of.high)}"
    return f"{value}\n({ends})" if _has_interval(of) else value


def _has_interval(of: Estimate) -> bool:
    return known(of) and of.low < of.high


# --- figure ---------------------------------------------------------------------------------------


def _figure(view: ViewModel, found: list[Beside]) -> Figure:
    import altair as alt

    panels: dict[tuple[str, str], list[Beside]] = {}
    for one in found:
        panels.setdefault((one.published.name, one.published.kind), []).append(one)
    rows = {key: _rows(view, some) for key, some in panels.items()}
    titles = {key: _axis(view, some[0].published) for key, some in panels.items()}
    drawn = [_panel(view, rows[key], titles[key]) for key in panels]
    caption = (
        f"Dashed outline: {MARK}; the table names the source. Filled: measured here, whiskers are"
        " 95% CIs. No other figure contains a published one."
    )
    return Figure(
        name="published",
        number=numbered("published"),
        title=TITLE,
        caption=caption,
        alt=f"Bars. {TITLE}: {', '.join(titles.values())}.",
        spec=chart_theme.specification(alt.vconcat(*drawn, spacing=26)),
    )


def _axis(view: ViewModel, one: Published) -> str:
    unit = OWN[one.name].unit
    more = "" if unit == one.name or one.kind == "ratio" else f", {unit}"
    return f"{_title(view, one)}{more}"


def _rows(view: ViewModel, some: list[Beside]) -> list[dict[str, Any]]:
    """Measured, then published, of each storage."""
    rows: list[dict[str, Any]] = []
    for one in some:
        name, of = view.name(one.configuration), one.own
        factor = 1.0 if one.published.kind == "ratio" else OWN[one.published.name].factor
        if of:
            low, high = interval_ends(of, factor) if _has_interval(of) else (None, None)
            ends = {"low": low, "high": high}
            label = _measured(one).partition("\n")[0]
            rows.append({"name": name, "place": name, "value": factor * of.value, "label": label})
            rows[-1] |= {**ends, "published": False}
        value, told = factor * one.published.in_results_unit, _told(one.published)
        rows.append({"name": f"{name}: {MARK}", "place": name, "value": value, "label": told})
        rows[-1] |= {"low": None, "high": None, "published": True}
    return [{**row, "end": max(row["value"], row["high"] or 0.0)} for row in rows]


def _told(one: Published) -> str:
    return f"{one.value:,.10g}{'' if one.unit in ('x', '%') else ' '}{one.unit}"


def _panel(view: ViewModel, rows: list[dict[str, Any]], title: str) -> Any:
    import altair as alt

    y, lines, width = names_beside([row["name"] for row in rows])
    scale = alt.Scale(domain=[0, axis_end(rows, width)], nice=False)
    x = alt.X("value:Q", title=title, scale=scale, axis=alt.Axis(grid=True, tickCount=5))
    shared = chart_theme.chart(rows).encode(y=y)
    colours = alt.Scale(domain=view.names, range=view.colours)
    own = shared.transform_filter("!datum.published")
    told = shared.transform_filter("datum.published")
    return alt.layer(
        own.mark_bar(height=20, cornerRadiusEnd=2).encode(
            x=x, color=alt.Color("place:N", scale=colours, legend=None)
        ),
        told.mark_bar(
            height=20,
            fill="white",
            stroke=chart_theme.FAINT,
            strokeDash=[4, 3],
            strokeWidth=1.5,
        ).encode(x=x),
        *whisker_marks(own, "x", scale, length=8),
        labels_beside(shared),
        width=width,
        height={"step": max(30, 20 * lines)},
    )
