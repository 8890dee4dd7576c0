"""The latency at the fixed rate from P50 to P99.99, and of each transaction type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log10
from typing import Any

from kneebench import units
from kneebench.analysis.fixed_rate import together
from kneebench.analysis.latency_spectrum import (
    LEAST_BEYOND,
    NAMED,
    Quantile,
    named_quantiles,
    spectrum,
)
from kneebench.brief import chart_theme
from kneebench.brief.scales import latencies, latency_axis
from kneebench.brief.section import Column, Figure, Row, Section, Table
from kneebench.brief.view_model import ViewModel
from kneebench.records import Climb, Latency, Rung
from kneebench.units import NOTHING, time

TICKS = (0.30103, 1, 2, 3, 4)
"""Of the named percentiles along the nines: P50 is at -log10(1 - 0.5)."""
TYPES = {
    "new_order": "New-Order",
    "payment": "Payment",
    "order_status": "Order-Status",
    "delivery": "Delivery",
    "stock_level": "Stock-Level",
}


def section(view: ViewModel) -> Section | None:
    """Nothing where no latency was measured at a fixed rate or at a knee."""
    found = {climb.id: some for climb in view.climbs if (some := _latencies(view, climb))}
    tables = (*_quantile_table(view, found), *_type_table(view))
    if not tables:
        return None
    return Section(
        name="latency-spectrum",
        title="Latency in full",
        figures=_figures(view, found),
        tables=tables,
        part="appendix",
    )


def _has_a_rate(view: ViewModel) -> bool:
    return any(climb.of("fixed_rate") for climb in view.climbs)


def _runs(view: ViewModel, climb: Climb) -> list[Rung]:
    """Those at the fixed rate; of a campaign without one those at the knee."""
    runs = climb.of("fixed_rate" if _has_a_rate(view) else "final_run")
    return [rung for rung in runs if not rung.invalid and rung.tally.latency]


def _latencies(view: ViewModel, climb: Climb) -> list[Latency]:
    return [rung.tally.latency for rung in _runs(view, climb) if rung.tally.latency]


def _where(view: ViewModel) -> str:
    """Which runs these are."""
    if _has_a_rate(view):
        return "at the fixed rate (open loop)"
    return f"at each {view.point} (closed loop)"


def _quantile_table(view: ViewModel, found: dict[str, list[Latency]]) -> Iterator[Table]:
    quantiles = {configuration: named_quantiles(some) for configuration, some in found.items()}
    if not any(quantiles.values()):
        return
    columns = ("Storage", *NAMED.values(), "Largest", "Transactions")
    yield Table(
        caption=(
            f"Latency {_where(view)}, of all repeats together. {NOTHING}: fewer than"
            f" {LEAST_BEYOND} transactions exceed it."
        ),
        columns=tuple(Column(title=title, number=n > 0) for n, title in enumerate(columns)),
        rows=tuple(
            Row(cells=(view.name(configuration), *_cells(quantiles[configuration], some)))
            for configuration, some in found.items()
        ),
    )


def _cells(quantiles: dict[str, Quantile], some: Sequence[Latency]) -> Iterator[str]:
    for name in NAMED.values():
        yield time(quantiles[name].latency_s) if name in quantiles else NOTHING
    yield time(max(one.max_s for one in some))
    yield units.count(sum(one.n for one in some))


def _type_table(view: ViewModel) -> Iterator[Table]:
    rows = tuple(row for climb in view.climbs for row in _types(view, climb, _runs(view, climb)))
    if rows:
        columns = ("Storage", "Transaction", "Share", "Mean", "P99", "P99.9")
        yield Table(
            caption=f"Each transaction type {_where(view)}, of all repeats together.",
            columns=tuple(Column(title=title, number=n > 1) for n, title in enumerate(columns)),
            rows=rows,
        )


def _types(view: ViewModel, climb: Climb, runs: Sequence[Rung]) -> Iterator[Row]:
    whole = sum(rung.tally.window.completed for rung in runs)
    for kind, called in TYPES.items():
        tallies = [one for rung in runs if (one := rung.tally.transactions.get(kind))]
        some = [one.latency for one in tallies if one.latency]
        if not some or not whole:
            continue
        all_ = together(some)
        share = sum(one.window.completed for one in tallies) / whole
        yield Row(
            cells=(
                view.name(climb.id),
                called,
                f"{100 * share:.1f}%",
                time(all_.mean_s),
                time(all_.p99_s) if all_.n >= 100 * LEAST_BEYOND else NOTHING,
                time(all_.p999_s) if all_.n >= 1000 * LEAST_BEYOND else NOTHING,
            )
        )


def _figures(view: ViewModel, found: dict[str, list[Latency]]) -> tuple[Figure, ...]:
    curves = {configuration: spectrum(some) for configuration, some in found.items()}
    rows = [
        {
            "name": view.name(configuration),
            "percentile": 100 * one.share,
            "nines": _nines(one.share),
            "ms": 1e3 * one.latency_s,
        }
        for configuration, curve in curves.items()
        for one in curve
    ]
    if not rows:
        return ()
    title = f"Latency {_where(view)}, from the middle to the far tail"
    return (
        Figure(
            name="spectrum",
            number="Fig. A1",
            title=title,
            caption="Of all repeats together; a line ends where fewer than"
            f" {LEAST_BEYOND} transactions are beyond.",
            alt=f"Lines of latency by percentile, one for each storage. {title}.",
            spec=_spec(view, rows),
        ),
    )


def _nines(share: float) -> float:
    return -log10(1 - share)


def _spec(view: ViewModel, rows: list[dict[str, Any]]) -> dict[str, Any]:
    import altair as alt

    ticks = alt.Axis(values=list(TICKS), labelExpr=_labels(), labelFlush=False)
    domain = latencies([row["ms"] for row in rows])
    most = max(row["nines"] for row in rows)
    across = alt.Scale(domain=[TICKS[0], most], nice=False)
    colour = chart_theme.colour_by_name(view.names, view.colours, chart_theme.legend(view.names))
    drawn = (
        chart_theme.chart(rows)
        .mark_line(strokeWidth=2.5)
        .encode(
            x=alt.X("nines:Q", title="Percentile", scale=across, axis=ticks),
            y=alt.Y("ms:Q", title="Latency, ms", **latency_axis(domain)),
            color=colour,
        )
    )
    return chart_theme.specification(
        drawn.properties(width=chart_theme.WIDTH, height=chart_theme.HEIGHT)
    )


def _labels() -> str:
    """Vega's expression for the name of a tick.

    >>> _labels()[:44]
    "datum.value < 0.50103 ? 'P50' : datum.value "
    """
    names = list(NAMED.values())
    steps = [
        f"datum.value < {tick + 0.2:g} ? '{name}'"
        for tick, name in zip(TICKS[:-1], names, strict=False)
    ]
    return " : ".join([*steps, f"'{names[-1]}'"])
