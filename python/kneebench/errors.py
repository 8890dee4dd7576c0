"""The error tree, and the exit code that each branch has on the command line.

    KneebenchError                 1   anything else that we foresaw
    ├── PlanError                  2   the plan, or what it names, is wrong
    │   └── UnknownPart            2   a name that no part of the catalogue has
    ├── InvalidMeasurement         3   measured, but what was measured is not what was asked
    │   └── DatabaseLost           3   the server went away in mid-rung
    ├── CheckFailed                4   a self-check of the results failed
    └── Refused                    5   going on could destroy something that is not ours

Every message has three parts: what was being done, what was seen, what to do.
"""

from __future__ import annotations


class KneebenchError(Exception):
    """A foreseen failure: what was being done, what was seen, what to do.

    >>> print(KneebenchError("starting the server", seen="port 5432 is in use", do="stop the other server"))
    while starting the server: port 5432 is in use; stop the other server
    """

    exit_code = 1

    def __init__(self, doing: str, *, seen: str, do: str = "") -> None:
        self.doing, self.seen, self.do = doing, seen, do
        super().__init__(f"while {doing}: {seen}" + (f"; {do}" if do else ""))


class PlanError(KneebenchError):
    """The plan, or something on this machine that it names, is wrong."""

    exit_code = 2


class UnknownPart(PlanError):
    """The plan names a part that the catalogue does not have."""

    def __init__(self, shelf: str, name: str, known: list[str]) -> None:
        super().__init__(f"looking for the {shelf} {name!r}", seen="there is none of that name", do=f"the names are: {', '.join(known)}")


class InvalidMeasurement(KneebenchError):
    """Something was measured, but not what was asked."""

    exit_code = 3


class DatabaseLost(InvalidMeasurement):
    """The database went away while a rung was measured."""


class CheckFailed(KneebenchError):
    """A self-check of the results failed: the figures cannot be trusted."""

    exit_code = 4


class Refused(KneebenchError):
    """Going on could destroy something that is not ours."""

    exit_code = 5
