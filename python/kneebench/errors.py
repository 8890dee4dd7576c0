"""The error tree, and the exit code that each branch has on the command line.

    KneebenchError                 1   any other handled error
    ├── PlanError                  2   the plan, or something that it names, is wrong
    │   └── UnknownPart            2   a name that no component has
    ├── InvalidMeasurement         3   a measurement that must not be used
    │   └── DatabaseLost           3   the server went away in mid-rung
    ├── CheckFailed                4   a self-check of the results failed
    └── Refused                    5   continuing could destroy something that is not kneebench's

A run that a signal ended has the exit code INTERRUPTED. `kneebench accept` ends with WORSE or
CANNOT_SAY where a campaign is not accepted; neither is an error.

Every message has three parts: what failed, why, and the command or key that fixes it.
"""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.visible import visible

INTERRUPTED = 130
"""Exit code of a run that Ctrl-C or another of the stopping signals ended: 128 + SIGINT."""
WORSE = 6
"""Exit code of `accept` for a campaign that is worse than its baseline."""
CANNOT_SAY = 7
"""Exit code of `accept` where the campaign is not shown to be worse, nor to be as good."""


def require_kind(value: object, kind: type, do: str) -> None:
    """Raises TypeError, as Python does for an argument of a wrong kind, with what to do instead.

    >>> require_kind("plan.toml", dict, "read the file first")
    Traceback (most recent call last):
    TypeError: a dict is required, not 'plan.toml' (str): read the file first
    """
    if not isinstance(value, kind):
        seen = repr(value)
        seen = seen if len(seen) <= 60 else f"{seen[:57]}..."
        name = type(value).__name__
        raise TypeError(f"a {kind.__name__} is required, not {seen} ({name}): {do}")


class KneebenchError(Exception):
    """A handled failure: what failed, why, and what fixes it.

    Python prints it, too, so it has no control characters: names and texts are from anywhere.

    `what`: "cannot ..." where an action failed, or the object that is wrong, such as a key of the
    plan; `seen`: the reason; `do`: the command or key that helps.

    >>> why = {"seen": "port 5432 is in use", "do": "use another"}
    >>> print(KneebenchError("cannot start the server", **why))
    cannot start the server: port 5432 is in use; use another
    >>> print(KneebenchError("database.cores", seen="there is no core 9", do="use 0 or 1"))
    database.cores: there is no core 9; use 0 or 1
    """

    exit_code = 1

    def __init__(self, what: str, *, seen: str, do: str = "") -> None:
        self.what, self.seen, self.do = visible(what), visible(seen), visible(do)
        self.alone = f"{self.what}: {self.seen}" + (f"; {self.do}" if do else "")
        super().__init__(self.alone)

    def also(self, do: str) -> None:
        """One thing more to do: what could not be put back behind this failure. `alone` is the
        failure without it.

        >>> error = KneebenchError("cannot read", seen="no answer", do="start the server")
        >>> error.also("drop the copy")
        >>> print(error)
        cannot read: no answer; start the server; drop the copy
        >>> error.alone
        'cannot read: no answer; start the server'
        """
        alone, both = self.alone, "; ".join(filter(None, (self.do, do)))
        KneebenchError.__init__(self, self.what, seen=self.seen, do=both)
        self.alone = alone


class PlanError(KneebenchError):
    """The plan, or something on this machine that it names, is wrong."""

    exit_code = 2


class UnknownPart(PlanError):
    """The plan names a component that is on no shelf."""

    def __init__(self, shelf: str, name: str, known: Sequence[str]) -> None:
        from difflib import get_close_matches

        near = get_close_matches(name.lower(), known, 1)
        meant = f" (did you mean {near[0]!r}?)" if near else ""
        do = f"available: {', '.join(known)}"
        super().__init__(f"{shelf} {name!r}", seen=f"unknown name{meant}", do=do)


class InvalidMeasurement(KneebenchError):
    """Something was measured, but not what was asked."""

    exit_code = 3


class DatabaseLost(InvalidMeasurement):
    """The database went away while a rung was measured."""


class CheckFailed(KneebenchError):
    """A self-check of the results failed: the figures cannot be trusted."""

    exit_code = 4


class FileSystemLost(KneebenchError):
    """A file system does not mount after a power cut."""


class OrdersLost(KneebenchError):
    """A cut lost orders that the database had acknowledged."""

    exit_code = 8


class Refused(KneebenchError):
    """Going on could destroy something that is not ours."""

    exit_code = 5
