"""What is said of two that are not shown to differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kneebench.analysis.wording import percent, times
from kneebench.records import Comparison, Estimate
from kneebench.units import rounded, times_and_ends

NO_DIFFERENCE = "No difference shown"
UNCERTAIN = "Too uncertain"
VAGUE = 2.0
"""An interval that reaches further than this factor from 1 shows no equality either."""
_FLOOR = "noise floor"


def not_shown(ratio: Estimate) -> str:
    """What is said of a ratio that is no difference: that none is shown, or that the runs are too
    few or scatter too much to show either.

    >>> not_shown(Estimate(value=1.02, low=0.93, high=1.12, n=3))
    'No difference shown'
    >>> not_shown(Estimate(value=4.2, low=0.1, high=186.0, n=3))
    'Too uncertain'
    """
    far = ratio.low < 1 / VAGUE or ratio.high > VAGUE
    return UNCERTAIN if 1 in ratio and far else NO_DIFFERENCE


WIDE = 1.5
"""An interval whose ends differ by more than this factor is given in place of its value."""


def is_wide(of: Estimate) -> bool:
    """Whether its ends differ by more than half."""
    return of.high > WIDE * of.low


def times_or_range(ratio: Estimate, *, about: bool = False) -> str:
    """A ratio for a title: its interval where that is wide. `about`: it is not as precise as the
    plan wants.

    >>> times_or_range(Estimate(value=1.53, low=1.36, high=1.71, n=10), about=True)
    'about 1.5x'
    >>> times_or_range(Estimate(value=1.5, low=1.1, high=2.0, n=3))
    '1.10x to 2.00x'
    """
    if is_wide(ratio):
        return "{1} to {2}".format(*times_and_ends(ratio.value, ratio.low, ratio.high))
    return f"about {rounded(ratio.value, 2)}x" if about else times(ratio.value)


def unclaimed(found: Comparison) -> str:
    """What is said beside a ratio in a table; empty where a difference is claimed."""
    if found.differs:
        return ""
    return "cannot say" if found.doubt else not_shown(found.ratio).lower()


def within_floor(own: float, machine: float) -> str:
    """Why a ratio below the larger of two noise floors is no difference.

    >>> within_floor(0.02, 0.05), within_floor(0.02, 0.0)
    ("within the machine's noise floor of 5%", 'within the noise floor of 2%')
    """
    if machine > own:
        return f"within the machine's {_FLOOR} of {percent(machine)}"
    if own < 1:
        return f"within the {_FLOOR} of {percent(own)}"
    return "repeats of one storage differ by more than 2x"


def reasons(found: Iterable[Comparison | None]) -> tuple[str, ...]:
    """Why no difference is claimed where none is: each reason once, behind what is said beside the
    ratio; noise floors as the range of all.
    """
    floors: dict[str, list[float]] = {}
    for one in found:
        if one and one.reason:
            said = f"{unclaimed(one)}: {one.reason}"
            words = said.removesuffix(f" of {percent(one.noise_floor)}")
            floors.setdefault(words, []).append(one.noise_floor)
    return tuple(
        f"{words} of {_range(some)}" if words.endswith(_FLOOR) else words
        for words, some in floors.items()
    )


def _range(shares: Sequence[float]) -> str:
    """The least and the largest.

    >>> _range([0.263, 0.02]), _range([0.02, 0.02])
    ('2% to 26.3%', '2%')
    """
    ends = dict.fromkeys((percent(min(shares)), percent(max(shares))))
    return " to ".join(ends)


def undecided(ratio: Estimate, what: str) -> str:
    """The same with the quantity that was compared.

    >>> undecided(Estimate(value=1.02, low=0.93, high=1.12, n=3), "NOPM")
    'No difference shown in NOPM'
    >>> undecided(Estimate(value=4.2, low=0.1, high=186.0, n=3), "NOPM")
    'Too uncertain to compare NOPM'
    """
    said = not_shown(ratio)
    return f"{said} in {what}" if said == NO_DIFFERENCE else f"{said} to compare {what}"


def undecided_between(ratio: Estimate, of: str, to: str) -> str:
    """The same of two storages or databases.

    >>> undecided_between(Estimate(value=4.2, low=0.1, high=186.0, n=3), "a", "b")
    'Too uncertain to compare a and b'
    """
    said = not_shown(ratio)
    return f"{said} {'between' if said == NO_DIFFERENCE else 'to compare'} {of} and {to}"
