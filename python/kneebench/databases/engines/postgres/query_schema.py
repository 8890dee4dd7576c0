"""The eight tables of TPROC-H in a session's database.

Rows come as TPROC-C's do (sql_schema.py), then primary keys, an index for each reference that no
key begins with, and foreign keys, from which the planner knows how many rows a join gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.databases.engines.postgres.sql_schema import Connection, PostgresSchema, side_by_side
from kneebench.databases.loading import Step
from kneebench.databases.schema import MARK
from kneebench.databases.tproc_h.schema import QueryTables
from kneebench.databases.tproc_h.tables import LARGEST_FIRST, TABLES
from kneebench.plan.workload import Workload

COUNT = "SELECT count(*) FROM public.{}"
COLUMNS = """
SELECT column_name FROM information_schema.columns
WHERE table_schema = 'public' AND table_name = %s"""


class PostgresQuerySchema(QueryTables[Connection], PostgresSchema):
    """What is made of them; the sessions of queries set nothing."""

    users_settings = ()
    own = LARGEST_FIRST

    def making(self, table: str) -> list[str]:
        return [
            f"CREATE TABLE public.{table} ({TABLES[table].declaration})",
            f"COMMENT ON TABLE public.{table} IS '{MARK}'",
        ]

    def steps(self, address: PostgresAddress) -> list[Step]:
        keys = [_keys(table) for table in LARGEST_FIRST]
        references = [_references(table) for table in LARGEST_FIRST]
        return [
            Step("keys_s", "creating keys", partial(side_by_side, address, keys)),
            Step("references_s", "creating foreign keys", partial(self._in_turn, references)),
            self.vacuum(address),
            Step("checkpoint_s", "waiting for a checkpoint", self.checkpoint),
        ]

    def _in_turn(self, groups: Sequence[Sequence[str]]) -> None:
        """Each locks the table that it refers to."""
        for statement in (one for group in groups for one in group):
            self.session.execute(statement.encode())

    def count(self, table: str) -> Any:
        return self._value(COUNT.format(table))

    def columns(self, table: str) -> list[str]:
        return [name for (name,) in self.session.execute(COLUMNS, [table]).fetchall()]


def _keys(table: str) -> list[str]:
    """What makes a table's primary key and its other indexes."""
    shape = TABLES[table]
    return [
        f"ALTER TABLE public.{table} ADD PRIMARY KEY ({', '.join(shape.key)})",
        *(f"CREATE INDEX ON public.{table} ({', '.join(own)})" for own in shape.indexed),
    ]


def _references(table: str) -> list[str]:
    """What makes a table's foreign keys."""
    return [
        f"ALTER TABLE public.{table} ADD FOREIGN KEY ({', '.join(own)}) REFERENCES public.{other}"
        for own, other in TABLES[table].refers.items()
    ]


def schema_of(workload: Workload) -> type[PostgresSchema]:
    """The tables of a workload."""
    return PostgresQuerySchema if workload.type == "tproc-h" else PostgresSchema
