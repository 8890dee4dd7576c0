"""TPROC-H: each query's speed against the baseline's, its time, its reads and what limits it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kneebench import units
from kneebench.analysis.comparison import base_climbs
from kneebench.analysis.query_streams import composite, stream_curve, stream_knee, stream_ratio
from kneebench.analysis.query_times import (
    QueryFigures,
    answered,
    compared,
    energy_j,
    energy_ratio,
    figures,
    is_cold,
    megabytes,
    numbers,
    of_queries,
    pass_s,
    power_per_hour,
    query_name,
    query_speed,
    query_title,
    with_few_readings,
)
from kneebench.analysis.quoted_load import climb_end
from kneebench.analysis.wording import (
    as_sentence,
    has_interval,
    listed,
    percent,
    times_with_interval,
    value_and_ends,
)
from kneebench.brief import chart_theme
from kneebench.brief.bars import interval_ends, reach, whisker_marks
from kneebench.brief.section import Column, Figure, Row, Section, Table, columns
from kneebench.brief.view_model import ViewModel
from kneebench.records import Climb, Estimate
from kneebench.units import NOTHING

COLD = " Each query begins with none of its data in memory: its server was started again."
ENERGY = " Energy: the mean power of each query times its time, added up."
AGAIN = " In memory: the same query run once more; a dash where that still read its data."
WARM = " Each query begins with what those before it left in memory."


def section(view: ViewModel) -> Section | None:
    """None for a campaign of TPROC-C."""
    of = numbers(view.results)
    if not of:
        return None
    each = [(climb, figures(climb, number)) for number in of for climb in view.climbs]
    drawn = [found for found in (_speeds(view, of), _rates(view, each), _streams(view)) if found]
    return Section(
        name="queries",
        title="Queries",
        sentences=tuple(map(as_sentence, view.campaign.notes)),
        figures=tuple(drawn),
        tables=(_passes(view, of), *_knees(view), _each(view, each)),
    )


def _speeds(view: ViewModel, of: tuple[int, ...]) -> Figure | None:
    """Bars of speed by query, with whiskers; None for one configuration."""
    found = compared(view.results)
    if not found:
        return None
    rows = [
        {"name": view.name(one.climb.id), "query": query_name(number), **_bar(ratio)}
        for one in found.values()
        for number in of
        if (ratio := query_speed(one.climb, one.base, number))
    ]
    bases = listed([*dict.fromkeys(view.name(one.base.id) for one in found.values())])
    over, title = of_queries(answered(view.results)), query_title(view.results)
    return Figure(
        name="query-speeds",
        number="Fig. Q1",
        title=title,
        caption=(
            f"Speed of each query, {bases} = 1; whiskers are 95% CIs over passes. The title has the"
            f" geometric mean over {over}.{COLD if is_cold(view.results) else WARM}"
        ),
        alt=f"Bars of speed by query. {title}.",
        spec=_grouped(view, rows, f"Speed, {bases} = 1"),
    )


def _bar(of: Estimate) -> dict[str, Any]:
    low, high = interval_ends(of)
    return {"value": of.value, "low": low, "high": high}


def _rates(view: ViewModel, each: Sequence[tuple[Climb, QueryFigures]]) -> Figure | None:
    """Bars of bytes read per second by query; None where nothing was read."""
    rows = [
        {"name": view.name(climb.id), "query": query_name(one.number), **_rate(one)}
        for climb, one in each
        if one.read_bytes_per_s
    ]
    if not rows:
        return None
    title = f"Up to {units.significant(max(row['value'] for row in rows))} MB/s read by a query"
    return Figure(
        name="query-reads",
        number="Fig. Q2",
        title=title,
        caption=(
            "Bytes read per second at the devices over each query's whole time, the middle one of"
            " its runs. Table: the share of what fio reads there in sequence."
        ),
        alt=f"Bars of MB/s by query. {title}.",
        spec=_grouped(view, rows, "MB/s read"),
    )


def _rate(one: QueryFigures) -> dict[str, Any]:
    return {"value": (one.read_bytes_per_s or 0.0) / 1e6, "low": None, "high": None}


def _grouped(view: ViewModel, rows: list[dict[str, Any]], title: str) -> dict[str, Any]:
    """Bars side by side for each query."""
    import altair as alt

    scale = alt.Scale(domain=[0, 1.05 * reach((row["value"], row["high"]) for row in rows)])
    x = alt.X("query:N", title="Query", sort=None, axis=alt.Axis(labelAngle=0))
    offset = alt.XOffset("name:N", sort=view.names)
    shared = chart_theme.chart(rows).encode(x=x, xOffset=offset)
    legend = chart_theme.legend(view.names, "square")
    drawn = alt.layer(
        shared.mark_bar().encode(
            y=alt.Y("value:Q", title=title, scale=scale),
            color=chart_theme.colour_by_name(view.names, view.colours, legend),
        ),
        *whisker_marks(shared, "y", scale, length=5),
        width=chart_theme.WIDTH,
        height=chart_theme.HEIGHT,
    )
    return chart_theme.specification(drawn)


def _streams(view: ViewModel) -> Figure | None:
    """Queries per hour by streams; None without streams side by side."""
    curves = {climb.id: stream_curve(climb) for climb in view.climbs}
    rows = [
        {"name": view.name(id_), "streams": streams, "per_hour": value}
        for id_, curve in curves.items()
        for streams, value in curve
    ]
    if not rows:
        return None
    most = max(value for curve in curves.values() for _, value in curve)
    title = f"Up to {units.significant(most)} queries per hour"
    return Figure(
        name="query-streams",
        number="Fig. Q3",
        title=title,
        caption=(
            "Queries per hour by streams side by side, one pass each. Every stream has all queries,"
            " in an order and with parameters of its own. Table: the knee, measured again in turn."
        ),
        alt=f"Lines of queries per hour by streams. {title}.",
        spec=_lines(view, rows),
    )


def _lines(view: ViewModel, rows: list[dict[str, Any]]) -> dict[str, Any]:
    import altair as alt

    most = max(row["per_hour"] for row in rows)
    shared = chart_theme.chart(rows).encode(
        x=alt.X("streams:Q", title="Streams", axis=alt.Axis(format="d", tickMinStep=1)),
        y=alt.Y("per_hour:Q", title="Queries per hour", scale=alt.Scale(domain=[0, 1.05 * most])),
        color=chart_theme.colour_by_name(
            view.names, view.colours, chart_theme.legend(view.names, "circle")
        ),
    )
    drawn = alt.layer(shared.mark_line(), shared.mark_point(filled=True)).properties(
        width=chart_theme.WIDTH, height=chart_theme.HEIGHT
    )
    return chart_theme.specification(drawn)


def _passes(view: ViewModel, of: tuple[int, ...]) -> Table:
    """A row for each configuration."""
    found, bases, rows = compared(view.results), base_climbs(view.results), []
    energies = {climb.id: energy_j(climb, of) for climb in view.climbs}
    metered = any(energies.values())
    for climb in view.climbs:
        took_s, per_hour = pass_s(climb, of), power_per_hour(climb, of)
        cells = (
            view.name(climb.id),
            NOTHING if took_s is None else units.time(took_s),
            NOTHING if per_hour is None else units.significant(per_hour),
            _over(climb, bases, found[climb.id].ratio if climb.id in found else None),
            *(_energy(climb, bases, of, energies[climb.id]) if metered else ()),
        )
        rows.append(Row(cells=cells, tone="strong" if climb is view.base else "plain"))
    caption = (
        f"Pass: the sum of the times of {of_queries(of)}, one after the other. Queries per hour and"
        f" speed: by the geometric mean of their times, so that each counts alike."
        f"{_energy_said(view, of) if metered else ''}"
    )
    energy = (">Energy of a pass", ">Energy ratio (95% CI)") if metered else ()
    titles = ("Storage", ">Pass", ">Queries per hour", ">Speed (95% CI)", *energy)
    return Table(caption=caption, columns=columns(*titles), rows=tuple(rows))


def _energy_said(view: ViewModel, of: Sequence[int]) -> str:
    few = {number for climb in view.climbs for number in with_few_readings(climb, of)}
    return f"{ENERGY} The meter had few readings of {of_queries(sorted(few))}." if few else ENERGY


def _energy(
    climb: Climb, bases: Mapping[str, Climb], of: Sequence[int], found: Estimate | None
) -> tuple[str, str]:
    """Of a pass, and over what it is compared with."""
    base = bases.get(climb.id, climb)
    ratio = energy_ratio(climb, base, of) if base is not climb else None
    return units.energy(found.value if found else None), _over(climb, bases, ratio)


def _over(climb: Climb, bases: Mapping[str, Climb], ratio: Estimate | None) -> str:
    """A ratio to what a configuration is compared with."""
    if ratio:
        return times_with_interval(ratio)
    return "1x" if bases.get(climb.id) is climb else NOTHING


def _knees(view: ViewModel) -> Iterator[Table]:
    """A row for each configuration whose streams were added until they gave no more."""
    bases, rows = base_climbs(view.results), []
    for climb in view.climbs:
        if found := stream_knee(climb):
            base = bases.get(climb.id, climb)
            value, ends = value_and_ends(found.per_hour)
            sure = f" ({ends})" if has_interval(found.per_hour) else ""
            whole = composite(view.results, climb)
            cells = (
                *(view.name(climb.id), str(found.streams), f"{value}{sure}"),
                _over(climb, bases, None if base is climb else stream_ratio(climb, base)),
                NOTHING if whole is None else units.significant(whole),
                climb_end(climb),
            )
            rows.append(Row(cells=cells, tone="strong" if climb is view.base else "plain"))
    if rows:
        caption = (
            "Streams: as many as gave the most queries per hour, or as the plan says. Ratio: of"
            " pairs of passes, each storage at its own number of streams. Composite: the square"
            " root of queries per hour of one stream, by the geometric mean of all 22 and both"
            " refresh functions, and of these streams, each times the scale."
        )
        titles = (
            "Storage",
            ">Streams",
            ">Queries per hour (95% CI)",
            ">Ratio",
            ">Composite",
            "Ended by",
        )
        yield Table(caption=caption, columns=columns(*titles), rows=tuple(rows))


def _each(view: ViewModel, each: Sequence[tuple[Climb, QueryFigures]]) -> Table:
    """A row for each query on each configuration."""
    rows = tuple(_row(view, climb, one) for climb, one in each)
    caption = (
        f"Time: with its 95% CI.{AGAIN if is_cold(view.results) else WARM} MB/s: read at the"
        " devices over its whole time; of fio: that as a share of what fio reads there in sequence"
        " (1 MiB, 8 at a time). Cores: that the server kept busy. Spilled: into temporary files."
        " Limit: reads, if it is at least 1.25 times as fast with its data in memory; or, where"
        " they never are, if it reads at least 80% of what fio does and the cores are less than 90%"
        " busy. Only these queries gain from a faster drive."
    )
    return Table(caption=caption, columns=COLUMNS, rows=rows)


COLUMNS = (
    Column(title="Query", number=False),
    Column(title="Storage", number=False),
    Column(title="Time"),
    Column(title="In memory"),
    Column(title="MB/s"),
    Column(title="Of fio"),
    Column(title="Cores"),
    Column(title="Spilled"),
    Column(title="Limit", number=False),
)


def _row(view: ViewModel, climb: Climb, one: QueryFigures) -> Row:
    cells = (
        query_name(one.number),
        view.name(climb.id),
        _time(one.took_s) if one.took_s else _lacks(one),
        units.time(one.warm_s.value) if one.warm_s else NOTHING,
        megabytes(one.read_bytes_per_s),
        percent(round(one.raw_share, 2)) if one.raw_share is not None else NOTHING,
        NOTHING if one.cores is None else f"{one.cores:.1f}",
        units.size(one.spilled_bytes) if one.spilled_bytes else NOTHING,
        one.limit or NOTHING,
    )
    return Row(cells=cells, tone="light" if one.took_s is None else "plain")


def _lacks(one: QueryFigures) -> str:
    return f"{one.cancelled} cancelled" if one.cancelled else "no valid run"


def _time(of: Estimate) -> str:
    if interval_ends(of)[0] is None:
        return units.time(of.value)
    return f"{units.time(of.value)} ({units.time(of.low)} to {units.time(of.high)})"
