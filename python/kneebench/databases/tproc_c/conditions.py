"""The twelve consistency conditions (TPC-C 3.3.2), as far as they are the same on every engine.

Each is one query for what breaks it, in the engine's conditions.sql. Small databases are asked in
whole, larger ones by a sample of SAMPLE warehouses, evenly spread, always the same ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kneebench.records import Check

ALL_UP_TO = SAMPLE = 10


class Condition(NamedTuple):
    """What must hold, and the query for what breaks it: rows (place, off)."""

    number: int
    holds: str
    query: str

    @property
    def name(self) -> str:
        return f"condition {self.number}"


class Broken(NamedTuple):
    """What breaks a condition: in how many places, and one of them and by how much; empty where it
    holds. `fingerprint` is that of all places, where the engine computes one.
    """

    places: int
    first: str
    fingerprint: str = ""

    @property
    def seen(self) -> str:
        """As a check shows it: two databases that are off in the same way show the same."""
        if not self.places:
            return "holds"
        more = f"; fingerprint {self.fingerprint}" if self.fingerprint else ""
        return f"{self.places} places are off ({self.first}, ...{more})"


@cache
def conditions_in(folder: Path, file: str = "conditions.sql") -> tuple[Condition, ...]:
    """The conditions in a file of an engine's folder; conditions.sql has all twelve."""
    text = (folder / file).read_text()
    found = re.findall(r"^-- (\d+): (.*)\n((?:(?!--).*\n?)+)", text, re.MULTILINE)
    return tuple(
        Condition(int(number), holds, query.strip().rstrip(";")) for number, holds, query in found
    )


def checked_warehouses(warehouses: int) -> list[int]:
    """All of them, or the sample.

    >>> checked_warehouses(3), checked_warehouses(1000)
    ([1, 2, 3], [1, 112, 223, 334, 445, 556, 667, 778, 889, 1000])
    """
    if warehouses <= ALL_UP_TO:
        return list(range(1, warehouses + 1))
    return [1 + round(nth * (warehouses - 1) / (SAMPLE - 1)) for nth in range(SAMPLE)]


def checks(
    asked: Sequence[Condition],
    broken: Callable[[Condition, Sequence[int]], Broken],
    warehouses: int,
    before: Sequence[Check] | None = None,
) -> list[Check]:
    """The checks of conditions, in order. `broken` asks a server of some warehouses; `before`: what
    this gave of the same database before it was used.
    """
    checked = checked_warehouses(warehouses)
    known = {check.name: check.seen for check in before or ()}
    return [
        judged(one, broken(one, checked), checked, warehouses, known.get(one.name)) for one in asked
    ]


def judged(
    condition: Condition,
    broken: Broken,
    checked: Sequence[int],
    warehouses: int,
    before: str | None = None,
) -> Check:
    """The check of one condition.

    With what was seen `before` the database was used, it passes too where the same places are off
    by the same amounts.
    """
    listed = f"warehouses {', '.join(map(str, checked))} of {warehouses}"
    every = f"all {warehouses} warehouses" if warehouses > 1 else "the only warehouse"
    where = listed if len(checked) < warehouses else every
    unchanged = before is not None and broken.seen == before
    if not broken.places:
        ending = "holds"
    elif unchanged:
        ending = f"was already broken in the same {broken.places} places by the same amounts"
    else:
        ending = f"is broken in {broken.places} places, e.g. {broken.first}"
    sentence = f"Consistency condition {condition.number} ({condition.holds}) {ending}"
    or_unchanged = "" if before is None else ", or no change since the start"
    return Check(
        name=condition.name,
        passed=not broken.places or unchanged,
        seen=broken.seen,
        limit=condition.holds + or_unchanged,
        sentence=f"{sentence}; checked on {where}",
        value=broken.places,
    )
