"""The row of big numbers, a verdict for each storage, and the campaign at a glance."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench.analysis.finding import foremost
from kneebench.analysis.knee import metered, report_rungs
from kneebench.analysis.within import nopm_within
from kneebench.analysis.words import times_and_interval, times_with_interval
from kneebench.brief import look, words
from kneebench.brief.reading import Reading
from kneebench.brief.section import Column, Number, Row, Section, Table, Verdict
from kneebench.records import Climb, Estimate

PLACE = 10
FLAT = ("plateau", "saturation")
"""Stops that saw throughput level off; the others end a climb that may still be growing."""
TITLES = (
    "Storage",
    "Users at the {point}",
    "NOPM",
    "Against baseline",
    "Mean latency there",
    "P99.9 there",
    "Mean at one rate",
    "P99.9 at one rate",
    "Log write",
    "Stopped by",
)


def section(reading: Reading) -> Section:
    """The campaign in half a page."""
    numbers = tuple(_numbers(reading))[:4]
    rows = tuple(_row(reading, climb) for climb in reading.climbs)
    columns = tuple(Column(title=title.format(point=reading.point), number=title not in ("Storage", "Stopped by")) for title in TITLES)
    tables = (Table(caption=_caption(reading), columns=columns, rows=rows),)
    return Section(name="glance", title="At a glance", numbers=numbers, verdicts=tuple(_verdicts(reading)), tables=tables)


def _numbers(reading: Reading) -> Iterator[Number]:
    about = foremost(reading.comparisons)
    best = about.cell if about else None
    for quantity, what in (
        ("nopm", f"the NOPM at the {reading.point}"),
        ("latency.mean", "the mean latency at one rate"),
        ("latency.p999", "the P99.9 latency at one rate"),
    ):
        found = reading.compared(quantity, best) if best else None
        if found and best:
            value, sure = times_and_interval(found.ratio)
            shown = "" if found.differs else "; no difference shown"
            yield Number(value=value, says=f"{what}, {reading.name(best)} against {reading.name(found.baseline)}", sure=sure + shown)
    alone = reading.at_one_rate.get(reading.base.cell.id)
    if alone and not best:
        uncertain = "" if alone.p999_certain else f"uncertain, n = {alone.n:,}"
        rate = f"{words.count(60 * alone.rate_per_s)} transactions a minute"
        yield Number(value=words.time(alone.mean_s.value), says=f"mean latency at {rate}", sure=words.time_interval(alone.mean_s))
        yield Number(value=words.time(alone.p999_s.value), says=f"P99.9 latency at {rate}", sure=uncertain or words.time_interval(alone.p999_s))
    for cell, knee in reading.knees.items():
        if cell in (best, reading.base.cell.id):
            yield Number(
                value=words.significant(knee.nopm.value), says=f"NOPM on {reading.name(cell)}, at {knee.users.value:.0f} users", sure=words.interval(knee.nopm)
            )


def _verdicts(reading: Reading) -> Iterator[Verdict]:
    for climb in reading.climbs:
        if climb.rungs:
            id_ = climb.cell.id
            yield Verdict(name=reading.name(id_), colour=look.colour(reading.place(id_)), sentence=verdict(reading, climb))


def verdict(reading: Reading, climb: Climb) -> str:
    """What a storage did, what stopped it and what it was short of, in sentences."""
    knee, short = reading.knees.get(climb.cell.id), reading.bottlenecks.get(climb.cell.id)
    parts = []
    if knee:
        mark = "; a plateau, not a proven peak" if climb.stopped_by in FLAT and not knee.peak else ""
        nopm = f"{words.significant(knee.nopm.value)} NOPM ({words.interval(knee.nopm)})"
        parts.append(f"{nopm} with {words.time(knee.latency_s.value)} mean latency at {knee.users.value:.0f} users{mark}.")
    parts += [words.sentence(v.sentence) for v in climb.verdicts if v.fired or v.mark]
    parts += [_within(reading, climb)] if any(v.stop == "log_latency" and (v.fired or v.mark) for v in climb.verdicts) else []
    parts += [short.sentence] if short else []
    return " ".join(parts) or "measured in part, without a verdict yet."


def _within(reading: Reading, climb: Climb) -> str:
    """A limit already exceeded at the first rung is a mark, not a stop: then this reads "none"."""
    limit_s = reading.plan.ladder.stops.log_latency.limit
    most = nopm_within(climb.of("scout", "bisection", "fixed"), "log.write_latency", limit_s)
    return f"NOPM with log writes within {words.time(limit_s)}, by the mean of the window: {'none' if most is None else words.significant(most)} (scouting)."


def _row(reading: Reading, climb: Climb) -> Row:
    id_ = climb.cell.id
    knee, rate, log_write = reading.knees.get(id_), reading.at_one_rate.get(id_), metered(report_rungs(climb), "log.write_latency")
    against = reading.compared("nopm", id_)
    return Row(
        cells=(
            reading.name(id_),
            _users(knee.users) if knee else words.NOTHING,
            f"{words.significant(knee.nopm.value)} ({words.interval(knee.nopm)})" if knee else words.NOTHING,
            "baseline" if reading.is_base(climb) else times_with_interval(against.ratio) if against else words.NOTHING,
            words.time(knee.latency_s.value) if knee else words.NOTHING,
            words.time(knee.p999_s.value) + ("" if knee.latency and knee.latency.p999_is_certain else " ?") if knee else words.NOTHING,
            words.time(rate.mean_s.value) if rate else words.NOTHING,
            words.time(rate.p999_s.value) + ("" if rate.p999_certain else " ?") if rate else words.NOTHING,
            words.time(log_write.value) if log_write else words.NOTHING,
            climb.stopped_by or words.NOTHING,
        ),
        tone="strong" if against and against.differs else "plain",
    )


def _users(users: Estimate) -> str:
    return f"{users.value:.0f}" + (f" ({users.low:.0f} to {users.high:.0f})" if users.low < users.high else "")


def _caption(reading: Reading) -> str:
    rates = {rate.rate_per_s for rate in reading.at_one_rate.values()}
    open_loop = (
        f" At one rate: open loop, {words.count(60 * min(rates))} transactions a minute on every storage, latency from the intended start." if rates else ""
    )
    return (
        f"At the {reading.point} users wait for each other (closed loop): its latency is users / throughput and says little about the drive." + open_loop
        + " A ? marks a percentile with fewer than 100 samples beyond it."
    )  # fmt: skip
