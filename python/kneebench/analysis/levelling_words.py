"""Where a sweep levels off, in words: as a title, as a sentence, and for programs."""

from __future__ import annotations

from typing import Any

from kneebench import units
from kneebench.analysis.levelling import WITHIN, Gain, Levelling, levelling
from kneebench.analysis.sweep import Resource, SweepCell, amount, sweep_rows, sweeps, value_of
from kneebench.analysis.wording import capital, percent
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
        return f"{name}: cannot say where more {what} stop{s} paying"
    here = _amount(of.at, resource)
    if of.answer == "makes no difference":
        return f"{name}: more than {here}{OF_WHAT[resource]} makes no difference"
    if of.answer == "still pays":
        return f"{name}: more {what} still pay{s} at {here}, the most {_seen(of)}"
    return f"{name}: more {what} stop{s} paying at {here}"


def sentence(of: Levelling) -> str:
    """The answer with its confidence, and what more of the resource buys below it."""
    if of.at is None:
        return f"{finding(of)}{_why_not(of)}."
    sure, bought = _confidence(of.confidence), _bought(of.gain, of.sweep.resource)
    if of.answer == "still pays":
        return f"{finding(of)} ({sure}).{bought}"
    near = f"within {percent(WITHIN)} of the best ({sure})."
    if of.answer == "levels off":
        return f"{finding(of)}: the least {near}{bought}"
    return f"{finding(of)}: the least {_seen(of)} is {near}"


def sweep_document(results: Results) -> dict[str, Any]:
    """The sweeps of a campaign for programs: its rows, and where each sweep levels off."""
    found = [levelling(sweep) for sweep in sweeps(results)]
    return {
        "rows": [row._asdict() for row in sweep_rows(results)],
        "levelling": [
            {
                "sweep": one.sweep.resource,
                "storage": one.sweep.storage,
                "database": one.sweep.cells[0].cell.database,
                "answer": one.answer,
                "cell": one.at.cell.name if one.at else None,
                "between": [cell.cell.name for cell in one.between] if one.between else None,
                "confidence": one.confidence,
                "nopm_per_step": one.gain.nopm.model_dump(mode="json") if one.gain else None,
                "step": one.gain.step if one.gain else None,
                "sentence": sentence(one),
            }
            for one in found
        ],
    }


def _seen(of: Levelling) -> str:
    """What is said of the smallest and the largest cell, where some are not compared."""
    return "compared" if any(one.not_compared for one in of.sweep.cells) else "measured"


def _why_not(of: Levelling) -> str:
    if of.between is None:
        return f" ({FEW})"
    first, last = of.between
    if first is of.sweep.cells[0] and last is of.sweep.cells[-1]:
        return " (the runs scatter too much)"
    low, high = (_amount(one, of.sweep.resource) for one in of.between)
    return f"; it is somewhere from {low} to {high} ({_confidence(of.confidence)})"


def _bought(gain: Gain | None, resource: Resource) -> str:
    if gain is None:
        return ""
    value, low, high = (
        units.significant(one) for one in (gain.nopm.value, gain.nopm.low, gain.nopm.high)
    )
    step = "core" if resource == "cores" else units.size(gain.step).removeprefix("1 ")
    return f" Up to there, each {step} buys {value} NOPM (95% CI {low} to {high})."


def _amount(one: SweepCell, resource: Resource) -> str:
    return amount(value_of(one.cell, resource) or 0, resource)


def _confidence(share: float) -> str:
    """The confidence in words.

    >>> _confidence(0.934), _confidence(0.9999)
    ('confidence 93%', 'confidence above 99%')
    """
    return "confidence above 99%" if share > 0.99 else f"confidence {100 * share:.0f}%"
