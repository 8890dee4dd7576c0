"""The twelve consistency conditions (conditions.sql), judged at rest or under load, in one
snapshot.

HammerDB's schema breaks some from the start: its loader sets W_YTD to ten times the sum of D_YTD,
and its balances know nothing of delivered lines. Given the checks as they were `before`, a
condition then passes too where exactly the same places are off by exactly the same amounts, which a
fingerprint tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kneebench.databases.engines.mariadb.session import MariadbSession
from kneebench.databases.tproc_c.conditions import Broken, Condition, checks, conditions_in
from kneebench.records import Check

BROKEN = """
SELECT count(*), min(CONCAT(place, ': ', off)), LEFT(SHA2(CAST(COALESCE(
    sum(off * (CAST(CRC32(place) AS DECIMAL(10)) + 1)), 0) AS DECIMAL(60, 2)), 256), 16)
FROM ({}) AS broken"""
"""The fingerprint adds up what is off, each place weighed by a number of its own: equal sums mean,
in practice, equal places and amounts."""


def conditions(
    session: MariadbSession, warehouses: int, before: Sequence[Check] | None = None
) -> list[Check]:
    """The twelve checks, in order; they are asked in a transaction that ends with the session."""
    session.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    session.run("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
    asked = conditions_in(Path(__file__).parent)
    return checks(asked, partial(_broken, session), warehouses, before)


def _broken(session: MariadbSession, condition: Condition, checked: Sequence[int]) -> Broken:
    listed = f"({', '.join(map(str, checked))})"
    asked = condition.query.replace("%(warehouses)s", listed)
    places, first, fingerprint = session.row(BROKEN.format(asked))
    return Broken(int(places), str(first or ""), str(fingerprint))
