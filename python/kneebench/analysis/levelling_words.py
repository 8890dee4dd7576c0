"""Where a sweep levels off, in words: as a title, as a sentence, and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from math import ceil
from typing import Any, NamedTuple

from kneebench import units
from kneebench.analysis.bottleneck import BY_KEY, bottleneck
from kneebench.analysis.levelling import WITHIN, Levelling, Warming, levelling
from kneebench.analysis.sweep import (
    COUNTED,
    Need,
    Resource,
    Sweep,
    SweptConfiguration,
    amount,
    needs,
    ratio_between,
    sweeps,
    value_of,
)
from kneebench.analysis.sweep_rows import sweep_rows
from kneebench.analysis.undecided import times_or_range
from kneebench.analysis.wording import (
    capital,
    known,
    listed,
    percent,
    times_and_interval,
)
from kneebench.records import Estimate, Results

WHAT: dict[Resource, str] = {
    "memory_bytes": "memory",
    "cores": "cores",
    "engine_memory_bytes": "memory for the database's own cache",
    "databases": "databases",
}
OF_WHAT: dict[Resource, str] = {
    "memory_bytes": " of memory",
    "cores": "",
    "engine_memory_bytes": " for the database's own cache",
    "databases": "",
}
FEW = "fewer than two configurations with two runs each can be compared"


def finding(of: Levelling) -> str:
    """The answer as a title, without its confidence."""
    resource, name = of.sweep.resource, capital(of.sweep.name)
    what, s = WHAT[resource], "" if resource in COUNTED else "s"
    if of.at is None:
        return _between(of) or _cannot_say(of)
    here = _amount(of.at, resource)
    if of.answer == "makes no difference":
        return f"{name}: more than {here}{OF_WHAT[resource]} makes no difference to NOPM"
    if of.answer == "still pays":
        end = "the most measured" if _spare(of) is None else "whose limit was not reached"
        return f"{name}: more {what} still pay{s} at {here}, {end}"
    if of.answer == "pays beyond":
        return f"{name}: more {what} still pay{s} beyond {here}"
    return f"{name}: more {what} stop{s} paying at {here}"


class Bought(NamedTuple):
    """One ratio that sums a sweep up, in words: where it levels off, the NOPM of that configuration
    as a share of the largest one's; else that of the largest steady one over the smallest one's.
    """

    ratio: Estimate
    value: str
    sure: str
    says: str


def bought(of: Levelling) -> Bought | None:
    """What a sweep comes to as a big number; None where no ratio is known that differs from 1."""
    steady = [one for one in of.sweep.configurations if one.nopm and not one.warming]
    if len(steady) < 2 or of.answer == "makes no difference":
        return None
    smallest, largest, resource = steady[0], steady[-1], of.sweep.resource
    if of.answer == "levels off" and of.at and (ratio := ratio_between(of.at.climb, largest.climb)):
        size, most = (value_of(one.configuration, resource) or 0 for one in (of.at, largest))
        value, low, high = (percent(round(x, 2)) for x in (ratio.value, ratio.low, ratio.high))
        says = f"of the NOPM with {percent(round(size / most, 2))} of the {WHAT[resource]}"
        return Bought(ratio, value, f"{low} to {high}, n={ratio.n}", says)
    ratio = ratio_between(largest.climb, smallest.climb)
    if not ratio or not known(ratio) or 1 in ratio:
        return None
    says = f"the NOPM with {_amount(largest, resource)} in place of {_amount(smallest, resource)}"
    return Bought(ratio, *times_and_interval(ratio), says)


def titles(of: Levelling) -> Iterator[str]:
    """The answer as a title with what more of the resource bought, then shorter; nothing where
    nothing is known.
    """
    name, found, resource = capital(of.sweep.name), bought(of), of.sweep.resource
    if wanted := needs(of.sweep)[:1] if of.sweep.target else ():
        nopm, takes, around = needed(wanted[0], resource)
        yield f"{name}: {nopm} need {takes}{OF_WHAT[resource]} ({around})"
        yield f"{name}: {nopm} need {takes} ({around})"
        return
    if found and of.answer == "levels off":
        yield f"{finding(of)}, {found.value} {found.says}"
    elif found and _spare(of) is None and not _between(of):
        more = ", and more still pays" if of.at else ""
        yield f"{name}: {times_or_range(found.ratio)} {found.says}{more}"
    if of.at or _between(of):
        yield finding(of)


def answer(of: Levelling, *, titled: bool) -> str:
    """The answer with its confidence, for below a title, and the interval of its ratio; of a sweep
    that the title is not of, what the plan's target needs, if there is one.
    """
    if of.sweep.target and not titled and (said := _needed(of.sweep)):
        return f"{capital(of.sweep.name)}: {said}"
    sure = f" ({_confidence(of.confidence)})" if of.at or _between(of) else ""
    if found := bought(of):
        sure += f"; {found.value} {found.says} (95% CI {found.sure})"
    return f"{finding(of)}{sure}"


def sentence(of: Levelling) -> str:
    """The answer with its confidence, what more of the resource buys below it, what a throughput
    needs, and what limits the database from the smallest configuration to the largest.
    """
    each = f" {found}." if (found := _needed(of.sweep)) else ""
    return f"{_answer(of)}{each}{_limited(of.sweep)}"


def _needed(sweep: Sweep) -> str:
    """What each throughput needs."""
    found = (needed(one, sweep.resource) for one in needs(sweep))
    return listed([f"{nopm} need {takes} ({around})" for nopm, takes, around in found] or [""])


def needed(need: Need, resource: Resource) -> tuple[str, str, str]:
    """A throughput, how much of the resource it needs, and what was measured around that."""
    share = f" ({percent(need.share)} of the largest)" if need.share else ""
    nopm = f"{units.significant(need.nopm)} NOPM{share}"
    low, high = (amount(end, resource) if end else None for end in need.between)
    if need.value is None:
        end = f"the {'least' if high else 'most'} measured"
        return nopm, _around(low, high), end if need.outside else "the runs scatter"
    whole = ceil(need.value) if resource in COUNTED else round(need.value)
    return nopm, amount(whole, resource), f"between {low} and {high}"


def _around(low: str | None, high: str | None) -> str:
    """An amount that is known from one side, from both, or not at all."""
    if low and high:
        return f"{low} to {high}"
    if high:
        return f"{high} or less"
    return f"more than {low}" if low else "an unknown amount"


def _answer(of: Levelling) -> str:
    if of.at is None:
        between = _between(of)
        return f"{between} ({_confidence(of.confidence)})." if between else _not_known(of)
    sure, said = _confidence(of.confidence), finding(of)
    if of.answer == "makes no difference":
        return f"{said}: the least measured is within {percent(WITHIN)} of the best ({sure})."
    more = _line(of)
    if of.answer == "still pays":
        spare = _spare(of)
        unused = "" if spare is None else f"; {units.size(spare)} of it unused in the windows"
        return f"{said} ({sure}{unused}).{more}"
    if of.beyond:
        return f"{said} ({sure}).{more} {_at_least(of.beyond, of)}"
    return f"{said}: the least within {percent(WITHIN)} of the best ({sure}).{more}"


def _spare(of: Levelling) -> float | None:
    """What the limit on memory left unused, in a sweep over memory; None where it was reached, or
    that is not known.
    """
    return of.at.spare_bytes if of.at and of.sweep.resource == "memory_bytes" else None


def _limited(sweep: Sweep) -> str:
    """The bottlenecks where one was found."""
    found = [(_limit(one), one) for one in sweep.configurations if one.nopm]
    if not any(name for name, _ in found):
        return ""
    return f" The bottleneck is {listed([*_stretches(found, sweep.resource)])}."


def _limit(one: SweptConfiguration) -> str:
    found = bottleneck(one.climb)
    resource = BY_KEY.get(found.resource)
    return found.called or (resource.called if resource else "")


def _stretches(found: list[tuple[str, SweptConfiguration]], resource: Resource) -> Iterator[str]:
    """Each bottleneck with the configurations that have it, of those next to each other; those of
    which none was found are left out.
    """
    for name, stretch in groupby(found, key=lambda one: one[0]):
        configurations = [one for _, one in stretch]
        first, last = (_amount(one, resource) for one in (configurations[0], configurations[-1]))
        where = f"from {first} to {last}" if configurations[1:] else f"at {first}"
        if name:
            yield f"{name} {where}"


def _at_least(beyond: Warming, of: Levelling) -> str:
    """What is known of the configurations above the largest steady one."""
    resource = of.sweep.resource
    here = _amount(of.at, resource) if of.at else ""
    large = _amount(beyond.configuration, resource)
    had = ""
    if beyond.ratio:
        value, sure = times_and_interval(beyond.ratio)
        had = f"{large} had at least {value} the NOPM of {here} (95% CI {sure}). "
    return f"{had}Where it stops paying is not known, because {_warming(of)}."


def _warming(of: Levelling) -> str:
    """The configurations above the largest steady one."""
    steady = [n for n, one in enumerate(of.sweep.configurations) if not one.warming]
    configurations = of.sweep.configurations[steady[-1] + 1 if steady else 0 :]
    names = [_amount(one, of.sweep.resource) for one in configurations if one.nopm]
    return f"{listed(names)} {'were' if names[1:] else 'was'} still warming"


def sweep_document(results: Results) -> dict[str, Any]:
    """The sweeps of a campaign for programs: its rows, and where each sweep levels off."""
    found = [levelling(sweep) for sweep in sweeps(results)]
    return {
        "rows": [row._asdict() for row in sweep_rows(results)],
        "levelling": [
            {
                "sweep": one.sweep.resource,
                "storage": one.sweep.storage,
                "database": one.sweep.configurations[0].configuration.database,
                "answer": one.answer,
                "configuration": one.at.configuration.name if one.at else None,
                "between": _names(one.between) if one.between else None,
                "at_least": _bound(one.beyond) if one.beyond else None,
                "confidence": one.confidence,
                "nopm_per_step": one.line and one.line.model_dump(mode="json"),
                "step": one.unit,
                "steps": {id_: step.model_dump(mode="json") for id_, step in one.steps.items()},
                "needs": [need._asdict() for need in needs(one.sweep)],
                "sentence": sentence(one),
            }
            for one in found
        ],
    }


def _names(between: tuple[SweptConfiguration, SweptConfiguration | None]) -> list[str | None]:
    return [one.configuration.name if one else None for one in between]


def _bound(beyond: Warming) -> dict[str, Any]:
    """The configuration that did most while it was warming, with its ratio to the named one."""
    ratio = beyond.ratio.model_dump(mode="json") if beyond.ratio else None
    return {"configuration": beyond.configuration.configuration.name, "relative": ratio}


def _between(of: Levelling) -> str:
    """From where to where more may stop paying, where that says anything; else empty."""
    first, last = of.between or (None, None)
    every = of.sweep.configurations
    if first is None or last is None or (first is every[0] and last is every[-1]):
        return ""
    low, high = (_amount(one, of.sweep.resource) for one in (first, last))
    what, s = WHAT[of.sweep.resource], "" if of.sweep.resource in COUNTED else "s"
    name = capital(of.sweep.name)
    return f"{name}: more {what} stop{s} paying somewhere from {low} to {high}"


def _cannot_say(of: Levelling) -> str:
    s = "" if of.sweep.resource in COUNTED else "s"
    return (
        f"{capital(of.sweep.name)}: cannot say where more {WHAT[of.sweep.resource]} stop{s} paying"
    )


def _not_known(of: Levelling) -> str:
    said = _cannot_say(of)
    if of.between is None:
        return f"{said} ({FEW})."
    first, last = of.between
    if last is not None:
        return f"{said} (the runs scatter too much)."
    if first is of.sweep.configurations[0]:
        return f"{said} ({_warming(of)})."
    low, sure = _amount(first, of.sweep.resource), _confidence(of.confidence)
    return f"{said}; it is {low} or more ({sure}), because {_warming(of)}."


def _line(of: Levelling) -> str:
    """One slope up to the answer, where a line describes every step; else the table has them."""
    if not of.line:
        return ""
    slope = f"{units.significant(of.line.value)} per {per_unit(of)}"
    return f" Up to there, NOPM rises by {slope} (a straight line fits every step)."


def per_unit(of: Levelling) -> str:
    """What a step is given for: "GiB", "128 MiB", "core", "database"."""
    return COUNTED.get(of.sweep.resource) or units.size(of.unit).removeprefix("1 ")


def _amount(one: SweptConfiguration, resource: Resource) -> str:
    return amount(value_of(one.configuration, resource) or 0, resource)


def _confidence(share: float) -> str:
    """The confidence in words.

    >>> _confidence(0.934), _confidence(0.9999)
    ('confidence 93%', 'confidence above 99%')
    """
    return "confidence above 99%" if share > 0.99 else f"confidence {100 * share:.0f}%"
