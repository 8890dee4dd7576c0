"""The eight tables of TPROC-H in a session's database.

Rows come in the order of the primary key, by which InnoDB stores a table (sql_schema.py); then an
index for each reference that no key begins with, and foreign keys, which are not checked: rows that
dbgen makes fit each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from kneebench.databases.engine import ServerAddress
from kneebench.databases.innodb.server_address import InnodbAddress
from kneebench.databases.innodb.session import InnodbSession
from kneebench.databases.innodb.sql_schema import FACTS, InnodbSchema, columns_of
from kneebench.databases.loading import Step, take_steps
from kneebench.databases.schema import MARK
from kneebench.databases.tproc_h.schema import QueryTables
from kneebench.databases.tproc_h.tables import LARGEST_FIRST, TABLES
from kneebench.plan.workload import Workload
from kneebench.records import Watch

COUNT = "SELECT count(*) FROM {}"
KIND = "ENGINE = InnoDB DEFAULT CHARACTER SET ascii COLLATE ascii_bin"


class InnodbQuerySchema(QueryTables[InnodbSession], InnodbSchema):
    """What is made of them."""

    own = (*LARGEST_FIRST, FACTS)

    def making(self, table: str) -> list[str]:
        shape = TABLES[table]
        columns = f"{shape.declaration}, PRIMARY KEY ({', '.join(shape.key)})"
        return [f"CREATE TABLE {table} ({columns}) {KIND} COMMENT = '{MARK}'"]

    def steps(self, address: InnodbAddress) -> list[Step]:
        return [Step("keys_s", "creating keys", self._refer), self._analyze()]

    def finish_copy(self, address: ServerAddress, watch: Watch) -> None:
        """A copy has the indexes; foreign keys change no plan of InnoDB's."""
        take_steps([self._analyze()], watch, self.client.refused)

    def _analyze(self) -> Step:
        analyze = f"ANALYZE NO_WRITE_TO_BINLOG TABLE {', '.join(LARGEST_FIRST)}"
        return Step("statistics_s", "gathering statistics", partial(self.session.run, analyze))

    def _refer(self) -> None:
        self.session.run("SET SESSION foreign_key_checks = 0")
        for table in LARGEST_FIRST:
            if added := [*_added(table)]:
                self.session.run(f"ALTER TABLE {table} {', '.join(added)}")

    def count(self, table: str) -> Any:
        return self.session.value(COUNT.format(table))

    def columns(self, table: str) -> list[str]:
        return [name.lower() for name in columns_of(self.session, table)]


def _added(table: str) -> list[str]:
    """Indexes and foreign keys of a table, as they are added to it."""
    shape = TABLES[table]
    return [
        *(f"ADD INDEX ({', '.join(own)})" for own in shape.indexed),
        *(_foreign_key(own, other) for own, other in shape.refers.items()),
    ]


def _foreign_key(own: Sequence[str], other: str) -> str:
    key = ", ".join(TABLES[other].key)
    return f"ADD FOREIGN KEY ({', '.join(own)}) REFERENCES {other} ({key})"


def schema_of(workload: Workload) -> type[InnodbSchema]:
    """The tables of a workload."""
    return InnodbQuerySchema if workload.type == "tproc-h" else InnodbSchema
