"""The tables of the campaign at a glance: each storage at its knee, and at the fixed rate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import compress

from kneebench import units
from kneebench.analysis.cpu_utilization import cpu_utilization
from kneebench.analysis.fixed_rate import FixedRateLatency
from kneebench.analysis.knee import final_rungs, metered
from kneebench.analysis.knee_readings import KneeReadings
from kneebench.analysis.price import PriceOfWork, prices_of_work
from kneebench.analysis.still_warming import still_warming
from kneebench.analysis.wording import (
    FEW,
    FEW_MEANS,
    WAIT_MEANS,
    number_of_users,
    percent,
    stop_reason,
    times_and_interval,
    value_and_ends,
)
from kneebench.brief.section import Column, Row, Table
from kneebench.brief.view_model import ViewModel
from kneebench.records import Climb, Estimate, Knee

KNEE = (
    "Storage",
    "Users at the {point}",
    "NOPM",
    "Vs. baseline",
    "Mean latency",
    "P99.9 latency",
    "Log write",
    "Stop reason",
)
USED = ("Storage", "CPU busy", "Reads", "Writes", "Price")
RATE = ("Storage", "Share of its {point}", "Mean latency", "P99.9 latency", "Wait for a user")
TEXTS = ("Storage", "Stop reason")


def _columns(view: ViewModel, titles: tuple[str, ...]) -> tuple[Column, ...]:
    return tuple(
        Column(title=title.format(point=view.point), number=title not in TEXTS) for title in titles
    )


def at_the_knee(view: ViewModel) -> Table:
    """Throughput, and the latency of the same runs."""
    few = any(not (knee.latency and knee.latency.p999_is_certain) for knee in view.knees.values())
    caption = (
        f"At the {view.point} (closed loop), latency roughly equals users / throughput and says"
        " little about the drive." + f" {FEW_MEANS}" * few
    )
    rows = tuple(_knee_row(view, climb) for climb in view.climbs)
    return _without_empty(Table(caption=caption, columns=_columns(view, KNEE), rows=rows))


def _without_empty(table: Table) -> Table:
    """The table without columns in which nothing is known."""
    known = [
        any(row.cells[n] != units.NOTHING for row in table.rows) for n in range(len(table.columns))
    ]
    rows = tuple(
        row.model_copy(update={"cells": tuple(compress(row.cells, known))}) for row in table.rows
    )
    return table.model_copy(update={"columns": tuple(compress(table.columns, known)), "rows": rows})


def _knee_row(view: ViewModel, climb: Climb) -> Row:
    id_ = climb.id
    knee = view.knees.get(id_)
    log_write = metered(final_rungs(climb), "log.write_latency")
    against = view.compared("nopm", id_)
    least = "at least " if id_ in view.lower_bounds else ""
    ratio = (
        "not compared"
        if still_warming(climb) and not (least and view.is_base(climb))
        else "baseline"
        if view.is_base(climb) and any(not view.is_base(one) for one in view.climbs)
        else _below(*times_and_interval(against.ratio))
        if against
        else units.NOTHING
    )
    return Row(
        cells=(
            view.name(id_),
            _users(knee.users) if knee else units.NOTHING,
            (least + _below(*value_and_ends(knee.nopm)) if knee else units.NOTHING),
            ratio,
            (_below(*value_and_ends(knee.latency_s, units.time)) if knee else units.NOTHING),
            (
                _percentile(knee.p999_s, bool(knee.latency and knee.latency.p999_is_certain))
                if knee
                else units.NOTHING
            ),
            units.time(log_write.value) if log_write else units.NOTHING,
            _ended(climb, knee),
        ),
        tone="strong" if against and against.differs else "plain",
    )


def tables_of_each(view: ViewModel) -> tuple[Table, ...]:
    """A row for each configuration: at its knee, at the fixed rate, and what it used."""
    return tuple(filter(None, (at_the_knee(view), at_the_rate(view), while_measured(view))))


def while_measured(view: ViewModel) -> Table | None:
    """What cores and devices did in the final runs; None where none of it was measured."""
    prices = prices_of_work(view.results)
    rows = tuple(
        Row(cells=(view.name(climb.id), *_used(climb), _price(prices.get(climb.id))))
        for climb in view.climbs
    )
    power = "" if view.campaign.power else " Power was not measured."
    price = " Prices are the author's words." if prices else ""
    caption = f"In the final runs, means of their windows.{power}{price}"
    columns = _columns(view, USED)
    table = _without_empty(Table(caption=caption, narrow=True, columns=columns, rows=rows))
    return table if len(table.columns) > 1 else None


def _price(found: PriceOfWork | None) -> str:
    return _below(*found.words) if found else units.NOTHING


def _used(climb: Climb) -> Iterator[str]:
    """How busy the cores were, and what the devices read and wrote."""
    rungs = final_rungs(climb)
    used, readings = cpu_utilization(rungs), KneeReadings(rungs)
    yield percent(round(used.mean.value, 2)) if used and used.mean else units.NOTHING
    for quantity in ("device.read_bytes", "device.write_bytes"):
        per_s = readings.value(quantity)
        yield units.NOTHING if per_s is None else units.rate(per_s)


def at_the_rate(view: ViewModel) -> Table | None:
    """Latency in open loop: it belongs to no throughput above."""
    found = {
        climb.id: rate for climb in view.climbs if (rate := view.fixed_rate_latency.get(climb.id))
    }
    if not found:
        return None
    few = any(not rate.p999_certain for rate in found.values())
    rate_per_s = units.count(min(one.rate_per_s for one in found.values()))
    caption = (
        f"At a fixed rate: open loop, {rate_per_s} transactions/s on every storage; latency"
        f" counts from the intended start. {WAIT_MEANS}"
        + f" {FEW_MEANS}" * few
        + _slower_than_at_the_knee(view, found)
    )
    rows = (
        Row(
            cells=(
                view.name(id_),
                percent(round(one.share, 2)) if one.share else units.NOTHING,
                _below(*value_and_ends(one.mean_s, units.time)),
                _percentile(one.p999_s, one.p999_certain),
                percent(None if one.wait is None else round(one.wait, 3)),
            )
        )
        for id_, one in found.items()
    )
    return Table(caption=caption, narrow=True, columns=_columns(view, RATE), rows=tuple(rows))


def _slower_than_at_the_knee(view: ViewModel, found: Mapping[str, FixedRateLatency]) -> str:
    """Why latency can be higher at a lower rate, where it is."""
    slower = {
        id_: one
        for id_, one in found.items()
        if (knee := view.knees.get(id_)) and one.mean_s.low > knee.latency_s.value
    }
    if not slower:
        return ""
    most = number_of_users(max(one.users for one in slower.values()))
    return (
        f" On {view.some([*slower])}, mean latency is higher here than at the knee: arrivals are"
        f" random, so up to {most} are busy at once, and wait for each other."
    )


def _below(value: str, sure: str) -> str:
    """A value, and in the line below how sure it is."""
    return f"{value}\n({sure})"


def _percentile(value: Estimate, certain: bool) -> str:
    return units.time(value.value) if certain else _below(units.time(value.value), FEW)


def _ended(climb: Climb, knee: Knee | None) -> str:
    reason = stop_reason(climb.stopped_by) or units.NOTHING
    return _below(reason, "may be higher") if knee and knee.open_ended else reason


def _users(users: Estimate) -> str:
    return f"{users.value:.0f}" + (
        f" ({users.low:.0f} to {users.high:.0f})" if users.low < users.high else ""
    )
