"""The answer of an acceptance in a line."""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.analysis.acceptance import overall
from kneebench.analysis.equivalence import Judgement
from kneebench.analysis.judged import LIMITS, Judged
from kneebench.analysis.wording import plural

ITSELF = "this campaign is the baseline itself"
_OTHERWISE: dict[Judgement, str] = {
    "better": "better than the baseline",
    "same": "same as the baseline",
    "same or better": "same as the baseline or better",
    "cannot say": "nothing can be said",
}


def answer_sentence(answer: Judgement, figures: Sequence[Judged], *, itself: bool) -> str:
    """The answer for these figures; `itself`: only their limits were judged."""
    found = [one for one in figures if one.judgement != "not judged"]
    if itself:
        return _of_itself(answer, found)
    if answer == "worse":
        return _worse(found)
    if answer == "cannot say":
        return _undecided(found)
    if answer == "same or better":
        return f"Same as the baseline or better: none of {len(found)} figures is worse"
    if answer == "better":
        return f"Better than the baseline: all {len(found)} figures"
    return f"Same as the baseline within the margins: all {len(found)} figures"


def _of_itself(answer: Judgement, limits: Sequence[Judged]) -> str:
    """The answer by limits alone."""
    if not limits:
        return f"Cannot say: no figure is judged; {ITSELF}, and its plan has no limits"
    if answer == "worse":
        return f"{_not_met(limits)} ({ITSELF})"
    if answer == "cannot say":
        return f"{_undecided(limits)} ({ITSELF})"
    return f"Limits met: all {len(limits)} figures ({ITSELF})"


def _worse(found: Sequence[Judged]) -> str:
    """A figure may be the baseline's and beyond its limit, so both are counted apart."""
    limits = [one for one in found if one.quantity in LIMITS]
    against = [one for one in found if one.quantity not in LIMITS]
    worse = _count(against, "worse")
    beyond = _not_met(limits) if _count(limits, "worse") else ""
    if worse:
        sentence = f"Worse than the baseline: {worse} of {len(against)} figures"
        return f"{sentence}; {beyond[0].lower()}{beyond[1:]}" if beyond else sentence
    return f"{beyond} (otherwise {_OTHERWISE[overall(against)]})" if against else beyond


def _not_met(limits: Sequence[Judged]) -> str:
    return f"Limits not met: {_count(limits, 'worse')} of {len(limits)} figures"


def _undecided(found: Sequence[Judged]) -> str:
    some = _count(found, "cannot say")
    return f"Cannot say: {some} of {len(found)} figures undecided; {_needs(found)}"


def _needs(figures: Sequence[Judged]) -> str:
    """What all undecided figures together need."""
    rounds = [one.more_rounds for one in figures if one.judgement == "cannot say"]
    if hopeless := rounds.count(None):
        return f"more rounds alone would not decide {hopeless} of them"
    return f"it needs about {plural(max(number or 0 for number in rounds), 'more round')}"


def _count(figures: Sequence[Judged], answer: Judgement) -> int:
    return sum(one.judgement == answer for one in figures)
