"""The twelve consistency conditions (TPC-C 3.3.2; conditions.sql), judged on a database at rest or
under load.

Each is one query for what breaks it, all in one snapshot. Small databases are asked in whole,
larger ones by a sample of SAMPLE warehouses, evenly spread, always the same ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kneebench.databases.mariadb.session import Session
from kneebench.records import Check

ALL_UP_TO = SAMPLE = 10
NAME = "condition {}"


class Condition(NamedTuple):
    """What must hold, and the query for what breaks it: rows (place, off)."""

    number: int
    holds: str
    query: str


@cache
def all_conditions() -> tuple[Condition, ...]:
    """The twelve, as conditions.sql gives them.

    >>> [condition.number for condition in all_conditions()] == list(range(1, 13))
    True
    """
    text = (Path(__file__).parent / "conditions.sql").read_text()
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


def conditions(session: Session, warehouses: int) -> list[Check]:
    """The twelve checks, in order; they are asked in a transaction that is rolled back."""
    checked = checked_warehouses(warehouses)
    session.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    session.run("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
    found = [
        _judged(one, *_broken(session, one, checked), checked, warehouses)
        for one in all_conditions()
    ]
    session.run("SET autocommit = 1")
    return found


def _broken(session: Session, condition: Condition, checked: Sequence[int]) -> tuple[int, str]:
    """In how many places it is broken, and one of them."""
    listed = f"({', '.join(map(str, checked))})"
    asked = condition.query.replace("%(warehouses)s", listed)
    query = f"SELECT count(*), min(CONCAT(place, ': ', off)) FROM ({asked}) AS broken"  # noqa: S608
    places, first = session.row(query)
    return int(places), str(first or "")


def _judged(
    condition: Condition, places: int, first: str, checked: Sequence[int], warehouses: int
) -> Check:
    scope = (
        f"all {warehouses} warehouses"
        if len(checked) == warehouses
        else f"warehouses {', '.join(map(str, checked))} of {warehouses}"
    )
    ending = f"is broken in {places} places, e.g. {first}" if places else "holds"
    return Check(
        name=NAME.format(condition.number),
        passed=not places,
        seen=f"{places} places are off ({first}, ...)" if places else "holds",
        limit=condition.holds,
        sentence=(
            f"Consistency condition {condition.number} ({condition.holds}) {ending}; checked on"
            f" {scope}"
        ),
    )
