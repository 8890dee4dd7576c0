"""The eight tables: columns with their types, keys, and what they refer to.

Types are those that every engine has. HammerDB's TPROC-H has the same tables and keys.
"""

from __future__ import annotations

from typing import NamedTuple

from kneebench.records import Check


class TableShape(NamedTuple):
    """Columns as SQL declares them, in the order of the rows; the columns of the primary key; and
    the tables that columns refer to.
    """

    columns: dict[str, str]
    key: tuple[str, ...]
    refers: dict[tuple[str, ...], str]

    @property
    def declaration(self) -> str:
        """Its columns for CREATE TABLE, none of which is ever NULL.

        >>> TABLES["region"].declaration
        'r_regionkey integer NOT NULL, r_name char(25) NOT NULL, r_comment varchar(152) NOT NULL'
        """
        return ", ".join(f"{name} {of} NOT NULL" for name, of in self.columns.items())

    @property
    def indexed(self) -> tuple[tuple[str, ...], ...]:
        """Columns that refer to other tables and that the primary key does not begin with.

        >>> TABLES["lineitem"].indexed
        (('l_partkey', 'l_suppkey'),)
        """
        return tuple(own for own in self.refers if self.key[: len(own)] != own)


MONEY = "decimal(15,2)"
TABLES = {
    "region": TableShape(
        {"r_regionkey": "integer", "r_name": "char(25)", "r_comment": "varchar(152)"},
        ("r_regionkey",),
        {},
    ),
    "nation": TableShape(
        {
            "n_nationkey": "integer",
            "n_name": "char(25)",
            "n_regionkey": "integer",
            "n_comment": "varchar(152)",
        },
        ("n_nationkey",),
        {("n_regionkey",): "region"},
    ),
    "supplier": TableShape(
        {
            "s_suppkey": "integer",
            "s_name": "char(25)",
            "s_address": "varchar(40)",
            "s_nationkey": "integer",
            "s_phone": "char(15)",
            "s_acctbal": MONEY,
            "s_comment": "varchar(101)",
        },
        ("s_suppkey",),
        {("s_nationkey",): "nation"},
    ),
    "customer": TableShape(
        {
            "c_custkey": "integer",
            "c_name": "varchar(25)",
            "c_address": "varchar(40)",
            "c_nationkey": "integer",
            "c_phone": "char(15)",
            "c_acctbal": MONEY,
            "c_mktsegment": "char(10)",
            "c_comment": "varchar(117)",
        },
        ("c_custkey",),
        {("c_nationkey",): "nation"},
    ),
    "part": TableShape(
        {
            "p_partkey": "integer",
            "p_name": "varchar(55)",
            "p_mfgr": "char(25)",
            "p_brand": "char(10)",
            "p_type": "varchar(25)",
            "p_size": "integer",
            "p_container": "char(10)",
            "p_retailprice": MONEY,
            "p_comment": "varchar(23)",
        },
        ("p_partkey",),
        {},
    ),
    "partsupp": TableShape(
        {
            "ps_partkey": "integer",
            "ps_suppkey": "integer",
            "ps_availqty": "integer",
            "ps_supplycost": MONEY,
            "ps_comment": "varchar(199)",
        },
        ("ps_partkey", "ps_suppkey"),
        {("ps_partkey",): "part", ("ps_suppkey",): "supplier"},
    ),
    "orders": TableShape(
        {
            "o_orderkey": "bigint",
            "o_custkey": "integer",
            "o_orderstatus": "char(1)",
            "o_totalprice": MONEY,
            "o_orderdate": "date",
            "o_orderpriority": "char(15)",
            "o_clerk": "char(15)",
            "o_shippriority": "integer",
            "o_comment": "varchar(79)",
        },
        ("o_orderkey",),
        {("o_custkey",): "customer"},
    ),
    "lineitem": TableShape(
        {
            "l_orderkey": "bigint",
            "l_partkey": "integer",
            "l_suppkey": "integer",
            "l_linenumber": "integer",
            "l_quantity": MONEY,
            "l_extendedprice": MONEY,
            "l_discount": MONEY,
            "l_tax": MONEY,
            "l_returnflag": "char(1)",
            "l_linestatus": "char(1)",
            "l_shipdate": "date",
            "l_commitdate": "date",
            "l_receiptdate": "date",
            "l_shipinstruct": "char(25)",
            "l_shipmode": "char(10)",
            "l_comment": "varchar(44)",
        },
        ("l_orderkey", "l_linenumber"),
        {("l_orderkey",): "orders", ("l_partkey", "l_suppkey"): "partsupp"},
    ),
}
"""In an order in which each refers to earlier ones."""
SUPPLIERS = 10_000
"""Rows of the table supplier for each unit of scale."""
LARGEST_FIRST = (
    *("lineitem", "orders", "partsupp", "part"),
    *("customer", "supplier", "nation", "region"),
)
"""In the order of their bytes: what is started first ends first."""


def rows_check(there: int, loaded: int) -> Check:
    """Whether all rows are there that were loaded, and no others."""
    return Check(
        name="rows",
        passed=there == loaded,
        seen=f"{there:,}",
        limit=f"{loaded:,}",
        sentence=f"The eight tables have {there:,} rows; {loaded:,} at first (limit: equal).",
        value=there,
        limit_value=loaded,
    )
