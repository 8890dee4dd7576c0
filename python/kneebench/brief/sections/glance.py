"""The row of big numbers, the stop reason of each storage, and the campaign at a glance."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench import units
from kneebench.analysis.comparison import step_up
from kneebench.analysis.cpu_utilization import cpu_utilization
from kneebench.analysis.fixed_rate import without_wait
from kneebench.analysis.headline import between_databases, foremost, least_per_nopm
from kneebench.analysis.knee import MAY_BE_HIGHER, confirmed_knee, final_rungs, where_between
from kneebench.analysis.levelling import levelling
from kneebench.analysis.levelling_words import bought, needed
from kneebench.analysis.power import doubts
from kneebench.analysis.quantity_ratio import MEAN, P999, few_beyond
from kneebench.analysis.quoted_load import climb_end
from kneebench.analysis.sweep import (
    Sweep,
    SweptConfiguration,
    amount,
    needs,
    sweeps,
    value_of,
)
from kneebench.analysis.undecided import not_shown, undecided
from kneebench.analysis.wording import (
    FEW,
    number_of_users,
    times_and_interval,
    times_with_interval,
    value_and_ends,
)
from kneebench.brief import chart_theme
from kneebench.brief.glance_tables import tables_of_each
from kneebench.brief.power_meters import measured_by
from kneebench.brief.section import Number, Section, StopReason, has_paragraphs
from kneebench.brief.view_model import ViewModel
from kneebench.records import Climb, Comparison, Results

NO_PEAK = "A plateau, not a proven peak."
FLAT = ("plateau", "saturation")
"""Stops that saw throughput level off; the others end a climb that may still be growing."""


def section(view: ViewModel) -> Section:
    """The campaign in half a page."""
    numbers = tuple(_numbers(view))[:4]
    return Section(
        name="glance",
        title="At a glance",
        numbers=numbers,
        stop_reasons=tuple(_stop_reasons(view)) if has_paragraphs(view) else (),
        tables=tables_of_each(view) if has_paragraphs(view) else (),
    )


def _numbers(view: ViewModel) -> Iterator[Number]:
    about = foremost(view.comparisons)
    best = about.configuration if about else None
    if swept := [*sweep_numbers(view.results)]:
        yield from swept
        return
    what = f"NOPM at the {view.point}"
    if between := between_databases(view.results):
        yield _difference(view, between, what)
        best = best or between.configuration
    if len(view.parts) > 1 and about:
        each = (foremost(part.comparisons) for part in view.parts)
        yield from (_difference(view, one, what) for one in each if one)
    elif about:
        first, *latencies = _differences(view, about)
        yield from (first, *_other(view, about), *_proved(view), *latencies)
    else:
        yield from _proved(view)
    for configuration, knee in view.knees.items():
        if configuration in (best, view.base.id):
            value, sure = value_and_ends(knee.nopm)
            yield Number(
                value=value,
                says=f"NOPM on {view.name(configuration)}, at {number_of_users(knee.users.value)}",
                sure=sure,
            )
    if not best:
        yield from _baseline_latency(view)


def _proved(view: ViewModel) -> Iterator[Number]:
    """What the relief of a proved bottleneck gained: the largest gain of the baseline's, else of
    any.
    """
    found = [
        (id_ == view.base.id, one.gain.value, id_, one.relief, one.gain)
        for id_, proof in view.campaign.proofs.items()
        for one in proof.relieved
        if one.gain and one.verdict == "proved"
    ]
    for _, _, id_, relief, gain in sorted(found, key=lambda each: each[:2])[-1:]:
        value, sure = times_and_interval(gain)
        yield Number(value=value, says=f"NOPM on {view.name(id_)} with {relief}", sure=sure)


def _other(view: ViewModel, best: Comparison) -> Iterator[Number]:
    """The NOPM of the step between the two best storages, which costs money; else of the other one
    of two comparisons: its own question may be the plan's.
    """
    every = [one for one in view.comparisons if one.quantity == "nopm"]
    others = [one for one in every if one.configuration != best.configuration]
    step = step_up(view.results, best, view.comparisons)
    if step and {step.configuration, step.baseline} != {best.configuration, best.baseline}:
        others = [step]
    if len(others) == 1:
        yield _difference(view, others[0], f"NOPM at the {view.point}")


def _differences(view: ViewModel, best: Comparison) -> Iterator[Number]:
    """Of the foremost pair; power and price of the pair whose storage takes the least per NOPM."""
    for quantity, what in (
        ("nopm", f"NOPM at the {view.point}"),
        ("power.per_nopm", f"power per NOPM at the {view.point}"),
        ("price.per_nopm", f"price of work at the {view.point}"),
        ("latency.mean", "mean latency at the fixed rate"),
        ("latency.p999", "P99.9 latency at the fixed rate"),
    ):
        same = [one for one in view.comparisons if one.baseline == best.baseline]
        some = [one for one in same if one.quantity == quantity]
        found = next((one for one in some if one.configuration == best.configuration), None)
        if quantity == "power.per_nopm" and doubts(view.climbs, view.campaign.power):
            continue
        if quantity.endswith("per_nopm"):
            found = least_per_nopm(view.comparisons, best, quantity)
        if found and (quantity != "latency.p999" or _certain(view, found)):
            number = _difference(view, found, what)
            scope = f"; {measured_by(view)}" if quantity == "power.per_nopm" else ""
            yield number.model_copy(update={"sure": number.sure + scope})


def _certain(view: ViewModel, found: Comparison) -> bool:
    """Whether enough samples exceed the percentile on both sides."""
    rates = map(view.fixed_rate_latency.get, (found.configuration, found.baseline))
    return all(one is not None and one.p999_certain for one in rates)


def _difference(view: ViewModel, found: Comparison, what: str) -> Number:
    both = f"{view.name(found.configuration)} vs. {view.name(found.baseline)}"
    if found.differs:
        value, sure = times_and_interval(found.ratio)
        return Number(value=value, says=f"{what}, {both}", sure=sure + _doubt(view, found))
    sure = times_with_interval(found.ratio) + _doubt(view, found)
    said, beside = not_shown(found.ratio), undecided(found.ratio, f"{what}, {both}")
    return Number(value=said, says=beside.removeprefix(f"{said} "), sure=sure, words=True)


def _doubt(view: ViewModel, found: Comparison) -> str:
    """Beside a ratio of mean latencies, where the wait for a free user is a large part of them, and
    of percentiles of which a run alone has too few transactions.
    """
    climbs = {climb.id: climb for climb in view.climbs}
    pair = climbs[found.configuration], climbs[found.baseline]
    if found.quantity == P999.name:
        return f"; {FEW}" if few_beyond(*pair) else ""
    if found.quantity != MEAN.name:
        return ""
    said = without_wait(*pair, view.campaign.resolved.connections)
    return f"; {said}" if said else ""


def _baseline_latency(view: ViewModel) -> Iterator[Number]:
    if alone := view.fixed_rate_latency.get(view.base.id):
        rate = f"{units.count(alone.rate_per_s)} transactions/s"
        found = {"mean": alone.mean_s} | ({"P99.9": alone.p999_s} if alone.p999_certain else {})
        for which, latency in found.items():
            value, sure = value_and_ends(latency, units.time)
            yield Number(value=value, says=f"{which} latency at {rate}", sure=sure)


def _stop_reasons(view: ViewModel) -> Iterator[StopReason]:
    for climb in view.climbs:
        if climb.rungs:
            id_ = climb.id
            yield StopReason(
                name=view.name(id_),
                colour=chart_theme.colour(view.place(id_)),
                sentence=stop_reason_sentence(view, climb),
            )


def stop_reason_sentence(view: ViewModel, climb: Climb) -> str:
    """How sure the knee of a storage is, where its climb ended and what it was short of, in
    sentences. The table has its figures.
    """
    knee, short = view.knees.get(climb.id), view.bottlenecks.get(climb.id)
    parts = list[str]()
    if knee:
        sure = confirmed_knee(climb)
        parts += filter(None, [where_between(knee), sure.sentence if sure else ""])
        parts += [NO_PEAK] if climb.stopped_by in FLAT and not knee.peak else []
    parts += filter(None, [_climb_end(climb)])
    parts += [MAY_BE_HIGHER] if knee and knee.open_ended else []
    parts += [short.sentence] if short else []
    return " ".join(parts) or "Partly measured; no stop reason yet."


def _climb_end(climb: Climb) -> str:
    """Of a fixed load with the CPU utilization of the final runs."""
    if climb.stopped_by != "fixed_load":
        return climb_end(climb)
    used = cpu_utilization(final_rungs(climb))
    cores = f"; the database's cores were {used.words}" if used else ""
    return f"Fixed load of {number_of_users(climb.of('fixed_load')[0].users)}, not a knee{cores}."


# The big numbers of a sweep: how much of the throughput how much of the resource gives.


def sweep_numbers(results: Results) -> Iterator[Number]:
    """Of each sweep its ratio, then what the target or most of the throughput needs; of one sweep
    alone also the NOPM of both ends.
    """
    found = sweeps(results)
    for sweep in found:
        if one := bought(levelling(sweep)):
            yield Number(value=one.value, says=f"{one.says}, on {sweep.name}", sure=one.sure)
    for sweep in found:
        for need in needs(sweep)[-1:]:
            nopm, takes, around = needed(need, sweep.resource)
            yield Number(value=takes, says=f"for {nopm}, on {sweep.name}", sure=around)
    if len(found) == 1:
        yield from _nopm(found[0], found[0].configurations[-1])
        yield from _nopm(found[0], found[0].configurations[0])


def _nopm(sweep: Sweep, one: SweptConfiguration) -> Iterator[Number]:
    if one.nopm and one.users:
        at_least = ", at least" if one.warming else ""
        value, sure = value_and_ends(one.nopm)
        yield Number(
            value=value,
            says=f"NOPM with {_size(sweep, one)}, at {number_of_users(one.users.value)}{at_least}",
            sure=sure,
        )


def _size(sweep: Sweep, one: SweptConfiguration) -> str:
    return amount(value_of(one.configuration, sweep.resource) or 0, sweep.resource)
