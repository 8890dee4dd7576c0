"""Where a sweep levels off, in words: as a title, as a sentence, and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from kneebench import units
from kneebench.analysis.bottleneck import BY_KEY, PROBABLY, bottleneck
from kneebench.analysis.levelling import WITHIN, Gain, Levelling, Warming, levelling
from kneebench.analysis.sweep import Resource, Sweep, SweptConfiguration, amount, sweeps, value_of
from kneebench.analysis.sweep_rows import sweep_rows
from kneebench.analysis.wording import capital, listed, percent, times_and_interval
from kneebench.records import Results

WHAT: dict[Resource, str] = {
    "memory_bytes": "memory",
    "cores": "cores",
    "engine_memory_bytes": "memory for the database's own cache",
}
OF_WHAT: dict[Resource, str] = {
    "memory_bytes": " of memory",
    "cores": "",
    "engine_memory_bytes": " for the database's own cache",
}
FEW = "fewer than two configurations with two runs each can be compared"


def finding(of: Levelling) -> str:
    """The answer as a title, without its confidence."""
    resource, name = of.sweep.resource, capital(of.sweep.name)
    what, s = WHAT[resource], "" if resource == "cores" else "s"
    if of.at is None:
        return _between(of) or _cannot_say(of)
    here = _amount(of.at, resource)
    if of.answer == "makes no difference":
        return f"{name}: more than {here}{OF_WHAT[resource]} makes no difference to NOPM"
    if of.answer == "still pays":
        if _spare(of) is not None:
            return f"{name}: more {what} pay{s} up to {here}, whose limit was not reached"
        return f"{name}: more {what} still pay{s} at {here}, the most measured"
    if of.answer == "pays beyond":
        return f"{name}: more {what} still pay{s} beyond {here}"
    return f"{name}: more {what} stop{s} paying at {here}"


def answer(of: Levelling) -> str:
    """The answer with its confidence, as a part of a sentence."""
    known = of.at is not None or bool(_between(of))
    return f"{finding(of)} ({_confidence(of.confidence)})" if known else finding(of)


def sentence(of: Levelling) -> str:
    """The answer with its confidence, what more of the resource buys below it, and what limits the
    database from the smallest configuration to the largest.
    """
    return f"{_answer(of)}{_limited(of.sweep)}"


def _answer(of: Levelling) -> str:
    if of.at is None:
        between = _between(of)
        return f"{between} ({_confidence(of.confidence)})." if between else _not_known(of)
    sure, said = _confidence(of.confidence), finding(of)
    if of.answer == "makes no difference":
        return f"{said}: the least measured is within {percent(WITHIN)} of the best ({sure})."
    bought = _bought(of.gain, of.sweep.resource)
    if of.answer == "still pays":
        spare = _spare(of)
        unused = "" if spare is None else f"; {units.size(spare)} of it unused in the windows"
        return f"{said} ({sure}{unused}).{bought}"
    if of.beyond:
        return f"{said} ({sure}).{bought} {_at_least(of.beyond, of)}"
    return f"{said}: the least within {percent(WITHIN)} of the best ({sure}).{bought}"


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
    return f" The database {PROBABLY[0]} {listed([*_stretches(found, sweep.resource)])}."


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
                "nopm_per_step": one.gain.nopm.model_dump(mode="json") if one.gain else None,
                "step": one.gain.step if one.gain else None,
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
    what, s = WHAT[of.sweep.resource], "" if of.sweep.resource == "cores" else "s"
    name = capital(of.sweep.name)
    return f"{name}: more {what} stop{s} paying somewhere from {low} to {high}"


def _cannot_say(of: Levelling) -> str:
    s = "" if of.sweep.resource == "cores" else "s"
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


def _bought(gain: Gain | None, resource: Resource) -> str:
    if gain is None:
        return ""
    step = "core" if resource == "cores" else units.size(gain.step).removeprefix("1 ")
    value = units.significant(gain.nopm.value)
    return (
        f" Up to there, NOPM rises by {value} for each {step} (slope of a straight line through"
        " those configurations)."
    )


def _amount(one: SweptConfiguration, resource: Resource) -> str:
    return amount(value_of(one.configuration, resource) or 0, resource)


def _confidence(share: float) -> str:
    """The confidence in words.

    >>> _confidence(0.934), _confidence(0.9999)
    ('confidence 93%', 'confidence above 99%')
    """
    return "confidence above 99%" if share > 0.99 else f"confidence {100 * share:.0f}%"
