"""Tables of the meters of power: what each is and how it was read, and what those that mW/NOPM is
not of showed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from statistics import median

from kneebench import units
from kneebench.analysis.knee import final_rungs
from kneebench.analysis.power import idle_of, meter_w, not_measured
from kneebench.analysis.wording import capital, listed, percent, plural, value_and_ends
from kneebench.brief.section import Column, Row, Table
from kneebench.brief.view_model import ViewModel
from kneebench.records import CampaignPower, Estimate, MeasuredPower, PowerMeterFacts, Rung
from kneebench.units import significant

METERS = (
    ("Meter", False),
    ("Type", False),
    ("Scope", False),
    ("Covers", False),
    ("Accuracy", True),
    ("New value every", True),
    ("Longest without one", True),
    ("Late by", True),
    ("Longest gap", True),
    ("CPU", True),
    ("Not measured", False),
)
OTHERS = (
    ("Storage", False),
    ("Meter", False),
    ("Scope", False),
    ("Power", True),
    ("Without load", True),
    ("mW/NOPM", True),
)
WHOLE = "the database host"


def covered(parts: Sequence[PowerMeterFacts]) -> str:
    """What some meters cover together."""
    names = list(dict.fromkeys(name for one in parts for name in one.covers or (WHOLE,)))
    return listed(names)


def measured_by(view: ViewModel) -> str:
    """The scope and coverage of the power that mW/NOPM is of, in a few words."""
    power = view.campaign.power
    parts = power.parts(power.leading) if power else ()
    return f"{listed(list(dict.fromkeys(one.caption for one in parts)))}, {covered(parts)}"


def meters_table(view: ViewModel, power: CampaignPower) -> Table:
    """Each meter of the plan."""
    rungs = [rung for climb in view.climbs for rung in climb.rungs if rung.power]
    rows = tuple(_meter_row(one, power, rungs) for one in power.meters)
    said = _caveats(rungs)
    caption = (
        "Meters of power, over all rungs. Late by: found by a load that was switched on and off,"
        " and taken into account. CPU: what reading it took, of one core."
    )
    columns = tuple(Column(title=title, number=number) for title, number in METERS)
    return Table(caption=" ".join((caption, *said)), columns=columns, rows=rows)


def _meter_row(meter: PowerMeterFacts, power: CampaignPower, rungs: Sequence[Rung]) -> Row:
    read = [one for rung in rungs if rung.power for one in rung.power.meters]
    own = [one for one in read if one.meter == meter.name]
    periods = [one.period_s for one in own if one.period_s]
    gaps, still = ([one.gap_s or 0.0 for one in own], [one.still_s or 0.0 for one in own])
    cost = power.cost.get(meter.name)
    return Row(
        cells=(
            meter.name,
            f"{meter.type}{f' ({meter.source})' if meter.source else ''}",
            meter.caption,
            covered([meter]),
            f"±{100 * meter.accuracy:g}%" if meter.accuracy else "not known",
            units.time(median(periods)) if periods else units.NOTHING,
            _longest(still),
            _late(meter.name, power),
            _longest(gaps),
            percent(cost) if cost is not None else units.NOTHING,
            _lacking(meter, own),
        )
    )


def _longest(seconds: Sequence[float]) -> str:
    return units.time(longest) if (longest := max(seconds, default=0.0)) else units.NOTHING


def _late(meter: str, power: CampaignPower) -> str:
    lags = [one for some in power.lags.values() for one in some if one.meter == meter]
    found = [one.lag_s for one in lags if one.lag_s is not None]
    if found:
        return f"{median(found):.2f} s"
    return f"not found: {lags[0].why}" if lags else units.NOTHING


def _lacking(meter: PowerMeterFacts, own: Sequence[MeasuredPower]) -> str:
    if meter.rated_w is not None:
        return "rated, not measured"
    alike = not_measured(own).values()
    said = (
        f"{plural(len(whys), 'rung')}{', such as' if len({*whys}) > 1 else ''}: {whys[0]}"
        for whys in alike
    )
    return "; ".join(said) or f"none of {plural(len(own), 'rung')}"


def _caveats(rungs: Sequence[Rung]) -> list[str]:
    """The caveats of readings, each with its meter, once."""
    found = {
        (one.meter, kind or words): capital(f"{one.meter}: {words}.")
        for rung in rungs
        if rung.power
        for one in rung.power.meters
        for kind, words in zip_longest(one.kinds, one.caveats)
        if words
    }
    return list(found.values())


def others_table(view: ViewModel, power: CampaignPower) -> Table | None:
    """What meters other than the leading one showed at the knees; None where there is none."""
    names = [one.name for one in power.meters if one.rated_w is None]
    names = [name for name in (*power.sums, *names) if name != power.leading]
    rows = tuple(
        Row(
            cells=(
                view.name(climb.id),
                name,
                power.parts(name)[0].caption,
                "{}\n({})".format(*value_and_ends(watts, units.power)),
                units.power(idle.of(name) if (idle := idle_of(climb, power)) else None),
                significant(1000 * watts.value / nopm.value),
            )
        )
        for climb in view.climbs
        for name in names
        if (watts := meter_w(final_rungs(climb), name)) and (nopm := _nopm(view, climb.id))
    )
    caption = (
        f"Other meters at the {view.point}. Only a meter of all that the server takes gives its"
        " mW/NOPM; these are beside it."
    )
    columns = tuple(Column(title=title, number=number) for title, number in OTHERS)
    return Table(caption=caption, columns=columns, rows=rows) if rows else None


def _nopm(view: ViewModel, id_: str) -> Estimate | None:
    return view.knees[id_].nopm if id_ in view.knees else None
