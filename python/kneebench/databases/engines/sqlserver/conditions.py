"""The twelve consistency conditions (conditions.sql), judged on a database at rest.

HammerDB's schema breaks some from the start: its balances do not contain the amounts of delivered
lines. Such a condition then passes where exactly the same places are off by exactly the same
amounts, which a fingerprint shows. Orders that its bulk load (bcp) left undelivered with a carrier
break conditions 5 and 7 until they are delivered; conditions_bcp.sql leaves them out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from kneebench.databases.engines.sqlserver.session import SqlServerSession
from kneebench.databases.engines.sqlserver.sql_files import HERE
from kneebench.databases.tproc_c.conditions import (
    Broken,
    Condition,
    checked_warehouses,
    checks,
    conditions_in,
)
from kneebench.records import Check

COUNTED = """
SELECT COUNT(*), MIN(CONCAT(place, ': ', wrong_by)),
    CAST(SUM(CAST(wrong_by AS decimal(20, 4))
        * CAST(SUBSTRING(HASHBYTES('MD5', place), 1, 4) AS int)) AS decimal(38, 4))
FROM ({}) AS broken"""
"""The sum weighs each place by a number of its own: equal sums mean, in
practice, equal places and amounts."""
BY_BCP = """
SELECT COUNT(*) FROM dbo.new_order
JOIN dbo.orders ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id
WHERE no_w_id IN ({warehouses}) AND no_o_id <= 3000 AND o_carrier_id IS NOT NULL"""


class Conditions(NamedTuple):
    """The twelve, as they are asked of one database.

    `before`: their results on HammerDB's schema before the climb.
    """

    warehouses: int
    asked: Sequence[Condition] = conditions_in(HERE)
    before: Sequence[Check] | None = None

    def checks(self, inside: SqlServerSession) -> list[Check]:
        """The twelve checks, in order, of the database that the session is in."""
        return checks(self.asked, partial(_broken, inside), self.warehouses, self.before)


def of_existing(inside: SqlServerSession, warehouses: int) -> Conditions:
    """The conditions by which a schema that HammerDB built is judged from now on."""
    conditions = Conditions(warehouses)
    if by_bcp(inside, warehouses):
        left_out = {one.number: one for one in conditions_in(HERE, "conditions_bcp.sql")}
        asked = [left_out.get(one.number, one) for one in conditions.asked]
        conditions = conditions._replace(asked=asked)
    return conditions._replace(before=conditions.checks(inside))


def by_bcp(inside: SqlServerSession, warehouses: int) -> bool:
    """Whether loaded orders have a carrier though they are not delivered."""
    return bool(inside.value(BY_BCP.format(warehouses=_listed(checked_warehouses(warehouses)))))


def _broken(inside: SqlServerSession, condition: Condition, checked: Sequence[int]) -> Broken:
    asked = condition.query.format(warehouses=_listed(checked))
    places, first, weighed = inside.execute(COUNTED.format(asked))[0]
    fingerprint = hashlib.sha256(str(weighed).encode()).hexdigest()[:16]
    return Broken(int(places), first or "", fingerprint)


def _listed(warehouses: Sequence[int]) -> str:
    return ", ".join(map(str, warehouses))
