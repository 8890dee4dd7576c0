"""The twelve consistency conditions (TPC-C 3.3.2; conditions.sql), judged on a database at rest.

Each is one query for what breaks it. Small databases are asked in whole, larger ones by a sample of
warehouses, always the same ones, as on the other engines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from kneebench.databases.postgres.conditions import NAME, checked_warehouses
from kneebench.databases.sqlserver.session import Session
from kneebench.databases.sqlserver.sql_files import HERE
from kneebench.records import Check

COUNTED = "SELECT COUNT(*), MIN(CONCAT(place, ': ', wrong_by)) FROM ({}) AS broken"


@cache
def all_conditions() -> tuple[tuple[int, str, str], ...]:
    """Number, what must hold, and the query of each.

    >>> [number for number, _, _ in all_conditions()] == list(range(1, 13))
    True
    """
    text = (HERE / "conditions.sql").read_text()
    found = re.findall(r"^-- (\d+): (.*)\n((?:(?!--).*\n?)+)", text, re.MULTILINE)
    return tuple((int(number), holds, query.strip().rstrip(";")) for number, holds, query in found)


def conditions(inside: Session, warehouses: int) -> list[Check]:
    """The twelve checks, in order, of the database that the session is in."""
    checked = checked_warehouses(warehouses)
    return [
        _judged(number, holds, _broken(inside, query, checked), checked, warehouses)
        for number, holds, query in all_conditions()
    ]


def _broken(inside: Session, query: str, checked: Sequence[int]) -> tuple[int, str]:
    """In how many places it is broken, and one of them."""
    asked = query.format(warehouses=", ".join(map(str, checked)))
    places, first = inside.execute(COUNTED.format(asked))[0]
    return int(places), first or ""


def _judged(
    number: int, holds: str, broken: tuple[int, str], checked: Sequence[int], warehouses: int
) -> Check:
    places, first = broken
    scope = (
        f"all {warehouses} warehouses"
        if len(checked) == warehouses
        else f"warehouses {', '.join(map(str, checked))} of {warehouses}"
    )
    ending = f"is broken in {places} places, e.g. {first}" if places else "holds"
    return Check(
        name=NAME.format(number),
        passed=not places,
        seen=f"{places} places are off ({first}, ...)" if places else "holds",
        limit=holds,
        sentence=f"Consistency condition {number} ({holds}) {ending}; checked on {scope}",
    )
