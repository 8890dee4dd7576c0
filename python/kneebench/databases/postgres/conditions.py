"""The twelve consistency conditions (TPC-C 3.3.2; conditions.sql), judged on a database at rest or
under load.

Each is one query for what breaks it, all in one snapshot. Small databases are asked in whole,
larger ones by a sample of SAMPLE warehouses, evenly spread, always the same ones.

A schema that another tool built and ran on may break some from the start (HammerDB's balances know
nothing of the amounts of its delivered lines). Given the checks as they were `before`, a condition
then passes too where nothing has changed: where exactly the same places are off by exactly the same
amounts, which a fingerprint tells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from kneebench.records import Check

Connection = psycopg.Connection[tuple[Any, ...]]
ALL_UP_TO = SAMPLE = 10
NAME = "condition {}"
SETTINGS = (
    "work_mem = '256MB'",
    "enable_seqscan = on",
    "enable_hashjoin = on",
    "max_parallel_workers_per_gather = 2",
    "jit = off",
    "statement_timeout = 0",
)


class Condition(NamedTuple):
    """What must hold, and the query for what breaks it: rows (place, off)."""

    number: int
    holds: str
    query: str


class Broken(NamedTuple):
    """What breaks a condition: in how many places, one of them and by how much, and the fingerprint
    of all.
    """

    places: int
    first: str
    fingerprint: str

    @property
    def seen(self) -> str:
        """As a check shows it: two databases that are off in the same way show the same."""
        return (
            f"{self.places} places are off ({self.first}, ...; fingerprint {self.fingerprint})"
            if self.places
            else "holds"
        )


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


def conditions(
    connection: Connection, warehouses: int, before: Sequence[Check] | None = None
) -> list[Check]:
    """The twelve checks, in order.

    `before`: what this gave of the same database before it was used.
    """
    checked = checked_warehouses(warehouses)
    known = {check.name: check.seen for check in before or ()}
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        for setting in SETTINGS:
            connection.execute(f"SET LOCAL {setting}".encode())
        return [
            _judged(
                one,
                _broken(connection, one, checked),
                checked,
                warehouses,
                known.get(NAME.format(one.number)),
            )
            for one in all_conditions()
        ]


def _broken(connection: Connection, condition: Condition, checked: Sequence[int]) -> Broken:
    """The fingerprint adds up what is off, each place weighed by a number of its own: equal sums
    mean equal places and amounts.
    """
    query = f"""
        SELECT count(*), min(format('%%s: %%s', place, off)),
            to_hex(hashtextextended(
                coalesce(sum(off * (hashtext(place)::numeric + 3000000000)), 0)
                    ::numeric(60, 2)::text, 0))
        FROM ({condition.query}) AS broken"""  # noqa: S608
    places, first, fingerprint = connection.execute(
        query.encode(), {"warehouses": list(checked)}
    ).fetchone() or (0, "", "")
    return Broken(places, first or "", fingerprint)


def _judged(
    condition: Condition,
    broken: Broken,
    checked: Sequence[int],
    warehouses: int,
    before: str | None,
) -> Check:
    scope = (
        f"all {warehouses} warehouses"
        if len(checked) == warehouses
        else f"warehouses {', '.join(map(str, checked))} of {warehouses}"
    )
    unchanged = before is not None and broken.seen == before
    if not broken.places:
        ending = "holds"
    elif unchanged:
        ending = f"was already broken in the same {broken.places} places by the same amounts"
    else:
        ending = f"is broken in {broken.places} places, e.g. {broken.first}"
    return Check(
        name=NAME.format(condition.number),
        passed=not broken.places or unchanged,
        seen=broken.seen,
        limit=(
            condition.holds
            if before is None
            else f"{condition.holds}, or no change since the start"
        ),
        sentence=(
            f"Consistency condition {condition.number} ({condition.holds}) {ending}; checked on"
            f" {scope}"
        ),
    )
