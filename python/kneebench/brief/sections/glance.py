"""The row of big numbers, a verdict for each storage, and the campaign at a glance."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench.analysis.headline import foremost
from kneebench.analysis.knee import metered, report_rungs
from kneebench.analysis.wording import FEW, FEW_MEANS, NO_DIFFERENCE, stop_reason, times_and_interval, times_with_interval
from kneebench.brief import chart_theme, formatting
from kneebench.brief.section import Column, Number, Row, Section, Table, Verdict
from kneebench.brief.view_model import Reading
from kneebench.records import Climb, Estimate

PLACE = 10
FLAT = ("plateau", "saturation")
"""Stops that saw throughput level off; the others end a climb that may still be growing."""
KNEE = ("Storage", "Users at the {point}", "NOPM", "Vs. baseline", "Mean latency", "P99.9 latency", "Log write", "Stop reason")
RATE = ("Storage", "Share of its {point}", "Mean latency", "P99.9 latency")
TEXTS = ("Storage", "Stop reason")


def section(reading: Reading) -> Section:
    """The campaign in half a page."""
    numbers = tuple(_numbers(reading))[:4]
    tables = tuple(filter(None, (_at_the_knee(reading), _at_the_rate(reading))))
    return Section(name="glance", title="At a glance", numbers=numbers, verdicts=tuple(_verdicts(reading)), tables=tables)


def _numbers(reading: Reading) -> Iterator[Number]:
    about = foremost(reading.comparisons)
    best = about.cell if about else None
    for quantity, what in (
        ("nopm", f"NOPM at the {reading.point}"),
        ("latency.mean", "mean latency at the fixed rate"),
        ("latency.p999", "P99.9 latency at the fixed rate"),
    ):
        found = reading.compared(quantity, best) if best else None
        if found and best:
            both = f"{reading.name(best)} vs. {reading.name(found.baseline)}"
            value, sure = times_and_interval(found.ratio)
            if found.differs:
                yield Number(value=value, says=f"{what}, {both}", sure=sure)
            else:
                yield Number(value=NO_DIFFERENCE, says=f"in {what}, {both}", sure=times_with_interval(found.ratio), words=True)
    alone = reading.at_one_rate.get(reading.base.cell.id)
    if alone and not best:
        uncertain = "" if alone.p999_certain else f"{FEW}: {alone.n:,} transactions"
        rate = f"{formatting.count(60 * alone.rate_per_s)} transactions per minute"
        yield Number(value=formatting.time(alone.mean_s.value), says=f"mean latency at {rate}", sure=formatting.time_interval(alone.mean_s))
        yield Number(value=formatting.time(alone.p999_s.value), says=f"P99.9 latency at {rate}", sure=uncertain or formatting.time_interval(alone.p999_s))
    for cell, knee in reading.knees.items():
        if cell in (best, reading.base.cell.id):
            yield Number(
                value=formatting.significant(knee.nopm.value),
                says=f"NOPM on {reading.name(cell)}, at {knee.users.value:.0f} users",
                sure=formatting.interval(knee.nopm),
            )


def _verdicts(reading: Reading) -> Iterator[Verdict]:
    for climb in reading.climbs:
        if climb.rungs:
            id_ = climb.cell.id
            yield Verdict(name=reading.name(id_), colour=chart_theme.colour(reading.place(id_)), sentence=verdict(reading, climb))


def verdict(reading: Reading, climb: Climb) -> str:
    """What a storage did, what stopped it and what it was short of, in sentences."""
    knee, short = reading.knees.get(climb.cell.id), reading.bottlenecks.get(climb.cell.id)
    parts = []
    if knee:
        mark = "; a plateau, not a proven peak" if climb.stopped_by in FLAT and not knee.peak else ""
        nopm = f"{formatting.significant(knee.nopm.value)} NOPM ({formatting.interval(knee.nopm)})"
        parts.append(f"{nopm} with {formatting.time(knee.latency_s.value)} mean latency at {knee.users.value:.0f} users{mark}.")
    parts += [formatting.sentence(v.sentence) for v in climb.verdicts if v.fired or v.mark]
    parts += [short.sentence] if short else []
    return " ".join(parts) or "Partly measured; no stop reason yet."


def _columns(reading: Reading, titles: tuple[str, ...]) -> tuple[Column, ...]:
    return tuple(Column(title=title.format(point=reading.point), number=title not in TEXTS) for title in titles)


def _at_the_knee(reading: Reading) -> Table:
    """Throughput, and the latency of the same runs."""
    few = any(not (knee.latency and knee.latency.p999_is_certain) for knee in reading.knees.values())
    caption = f"At the {reading.point} (closed loop), latency equals users / throughput and says little about the drive." + f" {FEW_MEANS}" * few
    rows = tuple(_knee_row(reading, climb) for climb in reading.climbs)
    return Table(caption=caption, columns=_columns(reading, KNEE), rows=rows)


def _knee_row(reading: Reading, climb: Climb) -> Row:
    id_ = climb.cell.id
    knee, log_write, against = reading.knees.get(id_), metered(report_rungs(climb), "log.write_latency"), reading.compared("nopm", id_)
    ratio = "baseline" if reading.is_base(climb) else _below(*times_and_interval(against.ratio)) if against else formatting.NOTHING
    return Row(
        cells=(
            reading.name(id_),
            _users(knee.users) if knee else formatting.NOTHING,
            _below(formatting.significant(knee.nopm.value), formatting.interval(knee.nopm)) if knee else formatting.NOTHING,
            ratio,
            formatting.time(knee.latency_s.value) if knee else formatting.NOTHING,
            _percentile(knee.p999_s, bool(knee.latency and knee.latency.p999_is_certain)) if knee else formatting.NOTHING,
            formatting.time(log_write.value) if log_write else formatting.NOTHING,
            stop_reason(climb.stopped_by) or formatting.NOTHING,
        ),
        tone="strong" if against and against.differs else "plain",
    )


def _at_the_rate(reading: Reading) -> Table | None:
    """Latency in open loop: it belongs to no throughput above."""
    found = {climb.cell.id: rate for climb in reading.climbs if (rate := reading.at_one_rate.get(climb.cell.id))}
    if not found:
        return None
    few = any(not rate.p999_certain for rate in found.values())
    per_min = formatting.count(60 * min(one.rate_per_s for one in found.values()))
    caption = f"At a fixed rate: open loop, {per_min} transactions per minute on every storage; latency counts from the intended start." + f" {FEW_MEANS}" * few
    rows = (
        Row(
            cells=(
                reading.name(id_),
                formatting.percent(round(one.share, 2)) if one.share else formatting.NOTHING,
                _below(formatting.time(one.mean_s.value), formatting.time_interval(one.mean_s)),
                _percentile(one.p999_s, one.p999_certain),
            )
        )
        for id_, one in found.items()
    )
    return Table(caption=caption, narrow=True, columns=_columns(reading, RATE), rows=tuple(rows))


def _below(value: str, sure: str) -> str:
    """A value, and in the line below how sure it is."""
    return f"{value}\n({sure})"


def _percentile(value: Estimate, certain: bool) -> str:
    return formatting.time(value.value) if certain else _below(formatting.time(value.value), FEW)


def _users(users: Estimate) -> str:
    return f"{users.value:.0f}" + (f" ({users.low:.0f} to {users.high:.0f})" if users.low < users.high else "")
