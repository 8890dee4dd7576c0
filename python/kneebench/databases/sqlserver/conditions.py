"""The twelve consistency conditions (conditions.sql), judged on a database at rest."""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.databases.sqlserver.session import Session
from kneebench.databases.sqlserver.sql_files import HERE
from kneebench.databases.tproc_c.conditions import (
    Broken,
    Condition,
    checked_warehouses,
    conditions_in,
    judged,
)
from kneebench.records import Check

COUNTED = "SELECT COUNT(*), MIN(CONCAT(place, ': ', wrong_by)) FROM ({}) AS broken"


def conditions(inside: Session, warehouses: int) -> list[Check]:
    """The twelve checks, in order, of the database that the session is in."""
    checked = checked_warehouses(warehouses)
    return [
        judged(one, _broken(inside, one, checked), checked, warehouses)
        for one in conditions_in(HERE)
    ]


def _broken(inside: Session, condition: Condition, checked: Sequence[int]) -> Broken:
    asked = condition.query.format(warehouses=", ".join(map(str, checked)))
    places, first = inside.execute(COUNTED.format(asked))[0]
    return Broken(int(places), first or "")
