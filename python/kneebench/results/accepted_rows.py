"""Acceptances of several campaigns by one baseline, side by side: a row for each figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kneebench.analysis.acceptance import ratio_text
from kneebench.analysis.judged import Judged, shown, shown_margin
from kneebench.analysis.wording import listed
from kneebench.results.acceptance import Acceptance, severity
from kneebench.units import NOTHING


class AcceptedRow(NamedTuple):
    """One figure of one storage: the baseline's, and what each campaign has, in their order. None
    where a campaign lacks the storage.
    """

    storage: str
    called: str
    baseline: str
    answers: tuple[Judged | None, ...]
    margins: str


def answers_sentence(found: Sequence[Acceptance]) -> str:
    """The answer of the only campaign; of several, how many of them have which, the worst first."""
    if len(found) == 1:
        return found[0].sentence
    answers = [one.judgement for one in sorted(found, key=severity)]
    counted = (f"{answers.count(one)} {one}" for one in dict.fromkeys(answers))
    return f"{len(found)} campaigns: {listed([*counted])}"


def accepted_rows(found: Sequence[Acceptance]) -> Iterator[AcceptedRow]:
    """The figures of all campaigns, in the order of the first that has each."""
    by_name = [{(one.storage, one.called): one for one in each.figures} for each in found]
    for storage, called in dict.fromkeys(name for figures in by_name for name in figures):
        answers = tuple(figures.get((storage, called)) for figures in by_name)
        there = [one for one in answers if one]
        base = next((one.baseline for one in there if one.baseline), None)
        margins = " or ".join(dict.fromkeys(map(shown_margin, there)))
        yield AcceptedRow(storage, called, shown(there[0], base), answers, margins)


def answer_lines(one: Judged | None) -> tuple[str, ...]:
    """What a campaign has of a figure, line by line: its answer, its value, and the ratio with its
    interval.
    """
    if not one:
        return (NOTHING,)
    lines = (one.judgement, shown(one, one.campaign))
    return (*lines, ratio_text(one.ratio)) if one.ratio else lines
