"""The twelve consistency conditions (conditions.sql), judged at rest or under load, in one
snapshot.

A schema that another tool built and ran on may break some from the start (HammerDB's balances know
nothing of the amounts of its delivered lines). Given the checks as they were `before`, a condition
then passes too where nothing has changed: where exactly the same places are off by exactly the same
amounts, which a fingerprint tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from kneebench.databases.tproc_c.conditions import Broken, Condition, checks, conditions_in
from kneebench.records import Check

Connection = psycopg.Connection[tuple[Any, ...]]
SETTINGS = (
    "work_mem = '256MB'",
    "enable_seqscan = on",
    "enable_hashjoin = on",
    "max_parallel_workers_per_gather = 2",
    "jit = off",
    "statement_timeout = 0",
)


def conditions(
    connection: Connection, warehouses: int, before: Sequence[Check] | None = None
) -> list[Check]:
    """The twelve checks, in order, in a transaction of their own."""
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        for setting in SETTINGS:
            connection.execute(f"SET LOCAL {setting}".encode())
        asked = conditions_in(Path(__file__).parent)
        return checks(asked, partial(_broken, connection), warehouses, before)


def _broken(connection: Connection, condition: Condition, checked: Sequence[int]) -> Broken:
    """The fingerprint adds up what is off, each place weighed by a number of its own: equal sums
    mean, in practice, equal places and amounts.
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
