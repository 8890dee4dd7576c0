"""The shelf of stop conditions: one file each, named as in the plan and in the results.

A stop is a module with two functions. `judge` looks at the search rungs so far and says, in a
sentence with what was seen and the limit, whether the climb ends here. `beyond` says how many of
these rungs lie beyond the knee when it fires: one for a limit that the last rung broke.

Four files are no conditions that a plan may set, and `kneebench components` does not list them.
`load_generator` and `invalid` end a climb at a rung that did not measure the database, `fixed_load`
ends the climb of one rung, `warming` has a climb made again. They are here because every stop
reason and flag of a climb is made by the file of its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from kneebench.plan.ladder import Ladder
from kneebench.plan.values import Part
from kneebench.records import Rung, StopResult
from kneebench.shelf import STOPS


class Stop(Protocol):
    """What a file on this shelf holds."""

    def judge(self, rungs: Sequence[Rung], limits: Part) -> StopResult:
        """A word on the valid search rungs so far, at least one, in the order measured."""
        ...

    def beyond(self, rungs: Sequence[Rung], limits: Part) -> int:
        """How many of the last rungs lie beyond the knee, given that `judge` fired on these."""
        ...


def find(name: str) -> Stop:
    """The stop of that name; raises UnknownPart with the names there are."""
    return cast(Stop, STOPS.module(name))


def limits(name: str, ladder: Ladder) -> Part:
    """The plan's table of a stop's limits; the ladder itself for one that has none of its own
    (budget).
    """
    found: Part = getattr(ladder.stops, name, ladder)
    return found
