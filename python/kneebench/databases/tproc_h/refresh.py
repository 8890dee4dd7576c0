"""The two refresh functions: one adds orders with their lines, the other takes them away again.

TPC-H 3.0.1 (2.5) adds 1,500 orders for each unit of scale, in keys that dbgen leaves free: it uses
the first 8 of every 32. Ours are copies of existing orders, with keys 8 higher, so both functions
are plain SQL, and DuckDB can run them too.
"""

from __future__ import annotations

from kneebench.databases.tproc_h.tables import TABLES
from kneebench.records import REFRESH

INSERT, DELETE = REFRESH
PER_SCALE, BLOCK, USED = 1500, 32, 8
"""Orders that are added; keys of a block, and how many of them dbgen uses."""
OF_ORDERS = {"orders": "o_orderkey", "lineitem": "l_orderkey"}


def refresh(number: int, nth: int, scale: float) -> tuple[str, ...]:
    """The statements of a function, of the nth set of orders, from 1.

    >>> refresh(DELETE, 2, 0.01)[0]
    'DELETE FROM lineitem WHERE l_orderkey BETWEEN 64 AND 127 AND l_orderkey % 32 >= 8'
    """
    blocks = max(1, round(PER_SCALE * scale / USED))
    low = BLOCK * blocks * (nth - 1)
    between = f"BETWEEN {low} AND {low + BLOCK * blocks - 1}"
    if number == INSERT:
        return tuple(_insert(table, key, between) for table, key in OF_ORDERS.items())
    return tuple(
        f"DELETE FROM {table} WHERE {key} {between} AND {key} % {BLOCK} >= {USED}"  # noqa: S608
        for table, key in reversed(OF_ORDERS.items())
    )


def _insert(table: str, key: str, between: str) -> str:
    columns = ", ".join(name for name in TABLES[table].columns if name != key)
    return (
        f"INSERT INTO {table} ({key}, {columns}) SELECT {key} + {USED}, {columns}"  # noqa: S608
        f" FROM {table} WHERE {key} {between} AND {key} % {BLOCK} < {USED}"
    )
