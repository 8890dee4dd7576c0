"""Power per NOPM at each knee, and the energy of equal work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kneebench import units
from kneebench.analysis import power as analysis
from kneebench.analysis.power import PowerOfLoad, Witness
from kneebench.analysis.wording import capital, listed, plural, times_and_interval, value_and_ends
from kneebench.brief.bars import Bar, bars, interval_ends
from kneebench.brief.power_meters import covered
from kneebench.brief.section import Column, Figure, Row, Section, Table
from kneebench.brief.sections import numbered
from kneebench.brief.view_model import ViewModel
from kneebench.records import LOAD_NOT_SEEN, CampaignPower, Climb
from kneebench.units import energy, significant

AT_KNEE = (
    "Storage",
    "mW/NOPM",
    "Vs. baseline",
    "Power",
    "Without load",
    "mW/NOPM above idle",
    "Per order",
    "NOPM per W",
)
AT_RATE = ("Storage", "Power", "Per transaction", "Vs. baseline", "Per order")


def section(view: ViewModel) -> Section | None:
    """Power per NOPM with its scope, accuracy and interval; nothing without meters."""
    power = view.campaign.power
    if not power:
        return None
    knees = {climb.id: analysis.at_the_knee(climb, power) for climb in view.climbs}
    found = {id_: one for id_, one in knees.items() if one}
    return Section(
        name="power",
        title="Power per order",
        sentences=tuple(_sentences(view, power, found)),
        figures=(_figure(view, power, found),) if found else (),
        tables=tuple(_tables(view, power, found)),
    )


def _tables(
    view: ViewModel, power: CampaignPower, found: dict[str, PowerOfLoad]
) -> Iterator[Table]:
    if found:
        yield _at_the_knee(view, power, found)
    if rate := _at_the_rate(view, power):
        yield rate


def _sentences(
    view: ViewModel, power: CampaignPower, found: dict[str, PowerOfLoad]
) -> Iterator[str]:
    """What keeps a figure from being believed, before the figure."""
    if not power.leading:
        yield (
            "No mW/NOPM: the plan names no meter, or several, of all that the server takes"
            " (scope wall)."
        )
        return
    lacking = [view.name(climb.id) for climb in view.climbs if climb.id not in found]
    if lacking:
        yield f"Power was not measured at the {view.point} of {listed(lacking)}."
    for id_, one in found.items():
        if one.n < one.runs:
            of = f"{one.n} of {plural(one.runs, 'run')}"
            yield f"{view.name(id_)}: mW/NOPM is of {of}; of the others power was not measured."
    yield from _of_idle(power)
    yield from _per_drive(view)
    yield from (_witnessed(one, power.leading) for one in analysis.witnesses(view.climbs, power))


def _of_idle(power: CampaignPower) -> Iterator[str]:
    """What keeps power without load, and how late the meters are, from being known."""
    short = [one.seconds for one in power.idle.values() if one.seconds < 59]
    if short:
        yield f"Power without load was measured for {units.time(min(short))} only (at least 1 min)."
    parts = [one.name for one in power.parts(power.leading)]
    for place, window in power.idle.items():
        for one in window.meters:
            if one.why and one.meter in parts:
                yield f"Power without load on {place} was not measured: {one.meter}, {one.why}."
    for name in parts:
        lags = [one for some in power.lags.values() for one in some if one.meter == name]
        if lags and all(one.lag_s is None and one.why != LOAD_NOT_SEEN for one in lags):
            yield f"How late {name} is could not be found: {lags[0].why}."


def _per_drive(view: ViewModel) -> Iterator[str]:
    """What each drive more takes, where storages have different numbers of drives."""
    drives = {
        name: sum(len(one.named_drives) + len(one.emulated_drives) for one in storage.volumes)
        for name, storage in view.plan.storages.items()
    }
    base = view.base.configuration
    for climb in view.climbs:
        own = climb.configuration
        more = drives.get(own.storage, 0) - drives.get(base.storage, 0)
        if more > 0 < drives.get(base.storage, 0) and own.constraint == base.constraint:
            yield from _for_each(view, climb, more)


def _for_each(view: ViewModel, climb: Climb, more: int) -> Iterator[str]:
    """At equal work, or else at the knee."""
    at_rate = analysis.more_w(climb, view.base, analysis.AT_RATE)
    if found := at_rate or analysis.more_w(climb, view.base, analysis.PER_NOPM):
        value, low, high = (f"{w / more:.3g}" for w in (found.value, found.low, found.high))
        where = "the fixed rate" if at_rate else f"the {view.point}"
        yield (
            f"{capital(view.name(climb.id))}: {value} W for each of {more} more drives, at {where}"
            f" (95% CI {low} to {high} W, n={found.n})."
        )


def _witnessed(one: Witness, leading: str) -> str:
    ratio, sure = times_and_interval(one.ratio)
    return f"A second witness: {one.name} shows {ratio} the power of {leading} ({sure})."


def _figure(view: ViewModel, power: CampaignPower, found: dict[str, PowerOfLoad]) -> Figure:
    rows = [
        Bar(
            view.name(id_),
            one.mw_per_nopm.value,
            *interval_ends(one.mw_per_nopm),
            f"{significant(one.mw_per_nopm.value)} mW/NOPM",
        )
        for id_, one in found.items()
    ]
    title = _title(view, found)
    return Figure(
        name="power-per-nopm",
        number=numbered("power"),
        title=title,
        caption=_caption(view, power),
        alt=f"Power per NOPM. {title}.",
        spec=bars(view, rows, "mW/NOPM"),
    )


def _title(view: ViewModel, found: dict[str, PowerOfLoad]) -> str:
    if len(found) > 3:
        values = sorted(one.mw_per_nopm.value for one in found.values())
        return f"From {significant(values[0])} to {significant(values[-1])} mW/NOPM"
    each = [f"{view.name(id_)} {significant(one.mw_per_nopm.value)}" for id_, one in found.items()]
    return f"Power per NOPM at the {view.point}: {listed(each)} mW/NOPM"


def _caption(view: ViewModel, power: CampaignPower) -> str:
    parts = power.parts(power.leading)
    means = listed(list(dict.fromkeys(one.caption for one in parts)))
    accuracies = [one.accuracy for one in parts if one.accuracy]
    accuracy = (
        f"accuracy as its maker says ±{100 * max(accuracies):g}%, which is in no interval"
        if accuracies
        else "its accuracy is not known"
    )
    return (
        f"Mean power over the window of each final run, over that run's NOPM. Scope: {means}, of"
        f" {covered(parts)}; meter {power.leading}, {accuracy}. Whiskers are 95% CIs. What is not"
        " covered (load hosts, switches, cooling) is not in it."
    )


def _at_the_knee(view: ViewModel, power: CampaignPower, found: dict[str, PowerOfLoad]) -> Table:
    rows = tuple(
        Row(cells=(view.name(climb.id), *_knee_cells(view, climb, power, found[climb.id])))
        for climb in view.climbs
        if climb.id in found
    )
    caption = (
        f"At the {view.point}. Without load: with the database up, before the first climb of the"
        " storage. Above idle: what the runs took more than that, over NOPM. Per order: energy per"
        " New-Order. The meters are below, under Meters of power."
    )
    return Table(caption=caption, columns=_columns(AT_KNEE), rows=rows)


def _knee_cells(
    view: ViewModel, climb: Climb, power: CampaignPower, one: PowerOfLoad
) -> Sequence[str]:
    idle = analysis.idle_of(climb, power)
    return (
        _below(*value_and_ends(one.mw_per_nopm)),
        _ratio(view, climb, "power.per_nopm"),
        units.power(one.watts.value),
        units.power(idle.system_w) if idle else units.NOTHING,
        _above_idle(one, idle.system_w if idle else None),
        energy(one.joules_per_order.value),
        significant(one.nopm_per_w.value),
    )


def _above_idle(one: PowerOfLoad, idle_w: float | None) -> str:
    """Power above idle per NOPM, or why there is none."""
    if one.above_idle:
        return significant(one.above_idle.value)
    return "a run took no more" if idle_w else "idle not measured"


def _at_the_rate(view: ViewModel, power: CampaignPower) -> Table | None:
    rates = {climb.id: analysis.at_the_rate(climb, power) for climb in view.climbs}
    rows = tuple(
        Row(
            cells=(
                view.name(climb.id),
                _below(*value_and_ends(one.watts, units.power)),
                energy(one.joules_per_transaction.value),
                _ratio(view, climb, "power.per_transaction"),
                energy(one.joules_per_order.value),
            )
        )
        for climb in view.climbs
        if (one := rates[climb.id])
    )
    caption = "At the fixed rate: equal work on every storage, so power alone compares them."
    return Table(caption=caption, columns=_columns(AT_RATE), rows=rows) if rows else None


def _ratio(view: ViewModel, climb: Climb, quantity: str) -> str:
    if view.is_base(climb):
        return "baseline" if view.climbs[1:] else units.NOTHING
    compared = view.compared(quantity, climb.id)
    return _below(*times_and_interval(compared.ratio)) if compared else units.NOTHING


def _below(value: str, sure: str) -> str:
    return f"{value}\n({sure})"


def _columns(titles: Sequence[str]) -> tuple[Column, ...]:
    return tuple(Column(title=title, number=title != "Storage") for title in titles)
