"""The shelf of stop conditions: one file each, named as in the plan and in the results.

A stop is a module with two functions. `judge` looks at the search rungs so far and says, in a
sentence with what was seen and the limit, whether the climb ends here. `beyond` says how many of
these rungs lie beyond the knee when it fires: one for a limit that the last rung broke.

Four files are no conditions that a plan may set, and `kneebench components` does not list them.
`load_generator` and `invalid` end a climb at a rung that did not measure the database, `fixed_load`
ends the climb of one rung, `warming` has a climb made again. They are here because every stop
reason and flag of a climb is made by the file of its name.

Each condition is judged by its own limits: its table in the plan, or the whole ladder where it is
what limits a climb (budget).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, cast

from kneebench.errors import UnknownPart
from kneebench.plan.ladder import Ladder
from kneebench.plan.stops import is_off
from kneebench.plan.values import Part
from kneebench.records import Rung, StopResult
from kneebench.shelf import STOPS

OF_THE_LADDER = ("budget",)
"""Stops that the whole ladder limits."""


class Stop(Protocol):
    """What a file on this shelf holds; `limits` are those of its own kind."""

    def judge(self, rungs: Sequence[Rung], limits: Any) -> StopResult:
        """A word on the valid search rungs so far, at least one, in the order measured."""

    def beyond(self, rungs: Sequence[Rung], limits: Any) -> int:
        """How many of the last rungs lie beyond the knee, given that `judge` fired on these."""


class Exceedable(NamedTuple):
    """A limit that a rung may exceed: its stop, its value with its unit, how a value is said, and
    the limit in words, `called` what it is ("limit", "budget").
    """

    stop: str
    value: float
    unit: str
    said: Callable[[float], str]
    words: str
    called: str = "limit"

    def unmeasured(self, sentence: str) -> StopResult:
        """The rung shows nothing of it."""
        return StopResult(
            stop=self.stop, fired=False, seen="not measured", limit=self.words, sentence=sentence
        )

    def judged(
        self, seen: float, first: float | None, sentence: str, at: str = "", *, alone: bool
    ) -> StopResult:
        """Fires when the last rung exceeds it and the first did not. What the first rung exceeds
        already says nothing about users: a flag, and the climb goes on. `at`: where that was;
        `alone`: the first is also the last.
        """
        flagged = first is not None and first > self.value
        if flagged and alone:
            sentence = f"{sentence} exceeds the {self.called}; this is flagged"
        elif flagged and first is not None:
            sentence = (
                f"The first rung already exceeded the {self.called} ({self.said(first)}{at}); this"
                f" is flagged and does not end the climb. {sentence}"
            )
        return StopResult(
            stop=self.stop,
            fired=seen > self.value and not flagged,
            seen=self.said(seen),
            limit=self.words,
            sentence=sentence,
            severity="caveat" if flagged else "note",
            value=seen,
            limit_value=self.value,
            unit=self.unit,
        )


def find(name: str) -> Stop:
    """The stop of that name; raises UnknownPart with the names there are."""
    return cast(Stop, STOPS.module(name))


def in_force(ladder: Ladder) -> list[str]:
    """The names of the stops that have limits."""
    return [name for name in STOPS.names() if not is_off(limits(name, ladder))]


def limits(name: str, ladder: Ladder) -> Part:
    """What the plan says of a stop: its table, or the ladder. Raises UnknownPart for a name that
    has neither.
    """
    if name in OF_THE_LADDER:
        return ladder
    if name not in (tables := type(ladder.stops).model_fields):
        raise UnknownPart("stop with limits", name, sorted((*tables, *OF_THE_LADDER)))
    found: Part = getattr(ladder.stops, name)
    return found
