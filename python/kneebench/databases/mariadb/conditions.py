"""The twelve consistency conditions (conditions.sql), judged at rest or under load, in one
snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kneebench.databases.mariadb.session import Session
from kneebench.databases.tproc_c.conditions import (
    Broken,
    Condition,
    checked_warehouses,
    conditions_in,
    judged,
)
from kneebench.records import Check


def conditions(session: Session, warehouses: int) -> list[Check]:
    """The twelve checks, in order; they are asked in a transaction that is rolled back."""
    checked = checked_warehouses(warehouses)
    session.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    session.run("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
    found = [
        judged(one, _broken(session, one, checked), checked, warehouses)
        for one in conditions_in(Path(__file__).parent)
    ]
    session.run("SET autocommit = 1")
    return found


def _broken(session: Session, condition: Condition, checked: Sequence[int]) -> Broken:
    listed = f"({', '.join(map(str, checked))})"
    asked = condition.query.replace("%(warehouses)s", listed)
    query = f"SELECT count(*), min(CONCAT(place, ': ', off)) FROM ({asked}) AS broken"  # noqa: S608
    places, first = session.row(query)
    return Broken(int(places), str(first or ""))
