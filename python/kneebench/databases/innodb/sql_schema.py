"""The SQL files beside this one, statement by statement, and the marks by which we know what we
made.

A table that we make has the comment MARK. The table kneebench_image of a database holds the facts
of the load and whether it came to its end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from kneebench.databases.innodb.server_address import InnodbAddress
from kneebench.databases.innodb.session import CLIENT, InnodbSession
from kneebench.databases.loading import Step
from kneebench.databases.schema import MARK, Schema
from kneebench.databases.sql_files import statements
from kneebench.databases.tproc_c.adopted import Existing
from kneebench.databases.tproc_c.conditions import Broken, Condition, checks, conditions_in
from kneebench.databases.tproc_c.tables import LARGEST_FIRST
from kneebench.errors import PlanError
from kneebench.plan.workload import Workload
from kneebench.records import Check

HERE = Path(__file__).parent
FACTS = "kneebench_image"
PROCEDURES_END = "//"
MAKE_FACTS = (
    f"CREATE TABLE IF NOT EXISTS {FACTS} (name varchar(64) PRIMARY KEY, value text NOT NULL)"
    f" ENGINE = InnoDB COMMENT = '{MARK}'"
)
KEEP_FACT = f"REPLACE INTO {FACTS} VALUES (%s, %s)"  # noqa: S608
READ_FACTS = f"SELECT name, value FROM {FACTS}"  # noqa: S608
UNUSED = "SELECT min(d_next_o_id = 3001 AND d_ytd = 30000) FROM district"
BROKEN = """
SELECT count(*), min(CONCAT(place, ': ', off)), LEFT(SHA2(CAST(COALESCE(
    sum(off * (CAST(CRC32(place) AS DECIMAL(10)) + 1)), 0) AS DECIMAL(60, 2)), 256), 16)
FROM ({}) AS broken"""
"""The fingerprint adds up what is off, each place weighed by a number of its own: equal sums mean,
in practice, equal places and amounts."""
OTHER_ENGINES = """
SELECT DISTINCT engine FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name IN %s AND engine <> 'InnoDB'"""


def quoted(name: str) -> str:
    """A name as SQL takes it.

    >>> quoted("my`db")
    '`my``db`'
    """
    return f"`{name.replace('`', '``')}`"


def making(table: str) -> list[str]:
    """What makes a table of ours."""
    wanted = re.compile(rf"CREATE TABLE {table}\b")
    return [
        f"{one} COMMENT = '{MARK}'" for one in statements(HERE / "schema.sql") if wanted.match(one)
    ]


def is_whole(session: InnodbSession, database: str) -> bool:
    """Whether a load in this database came to its end; False where there is none."""
    query = "SELECT count(*) FROM information_schema.tables WHERE (table_schema, table_name) = "
    if not session.value(f"{query}(%s, %s)", database, FACTS):
        return False
    state = "SELECT value FROM {}.{} WHERE name = 'state'"
    return bool(session.value(state.format(quoted(database), FACTS)) == "whole")


def size_bytes(session: InnodbSession, database: str) -> int:
    """Bytes of a database's tables and indexes, by the server's estimate."""
    query = (
        "SELECT sum(data_length + index_length) FROM information_schema.tables"
        " WHERE table_schema = %s"
    )
    return int(session.value(query, database) or 0)


def columns_of(session: InnodbSession, table: str) -> Sequence[str]:
    """The names of a table's columns, in their order."""
    rows = session.rows(
        "SELECT column_name FROM information_schema.columns"
        " WHERE table_schema = DATABASE() AND table_name = %s ORDER BY ordinal_position",
        table,
    )
    return [str(name) for (name,) in rows]


class InnodbSchema(Schema[InnodbSession]):
    """The tables in a session's database.

    The rows come from the core by LOAD DATA LOCAL INFILE, in the order of each table's primary key,
    by which InnoDB stores it. A schema of HammerDB's has columns with the names of ours and wider
    types, in another order; OL_AMOUNT is a whole number. The procedures name all columns that they
    write, so they run on it unchanged.
    """

    client = CLIENT
    routines = "procedures"
    filling = "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {} CHARACTER SET ascii"
    own: ClassVar[Sequence[str]] = (*LARGEST_FIRST, FACTS)

    @property
    def database(self) -> str:
        return self.session.database

    def tables(self) -> dict[str, bool]:
        """All of the database."""
        rows = self.session.rows(
            "SELECT table_name, table_comment FROM information_schema.tables"
            " WHERE table_schema = DATABASE()"
        )
        return {str(name): comment == MARK for name, comment in rows}

    def facts(self) -> dict[str, str]:
        if not self.tables().get(FACTS):
            return {}
        return {str(name): str(value) for name, value in self.session.rows(READ_FACTS)}

    def note(self, known: Mapping[str, str]) -> None:
        self.session.run(MAKE_FACTS)
        for name, value in known.items():
            self.session.run(KEEP_FACT, name, value)

    def is_unused(self) -> bool:
        return bool(self.session.value(UNUSED))

    def count_warehouses(self) -> int:
        return int(self.session.value("SELECT count(*) FROM warehouse"))

    def size_bytes(self) -> int:
        return size_bytes(self.session, self.database)

    def making(self, table: str) -> list[str]:
        return making(table)

    def drop_tables(self, names: Sequence[str]) -> None:
        self.session.run("SET SESSION foreign_key_checks = 0")  # one may refer to another
        for name in names:
            self.session.run(f"DROP TABLE {name}")

    def steps(self, address: InnodbAddress) -> list[Step]:
        analyze = f"ANALYZE NO_WRITE_TO_BINLOG TABLE {', '.join(LARGEST_FIRST)}"
        return [
            Step("statistics_s", "gathering statistics", partial(self.session.run, analyze)),
            Step("functions_s", "installing the procedures", self.install_routines),
        ]

    def install_routines(self) -> None:
        """The five procedures."""
        for statement in statements(HERE / "procedures.sql", PROCEDURES_END):
            self.session.run(statement)

    @staticmethod
    def routines_removal() -> list[str]:
        every = statements(HERE / "procedures.sql", PROCEDURES_END)
        return [statement for statement in every if statement.startswith("DROP PROCEDURE")]

    def remove_routines(self, limit_s: float) -> None:
        self.session.run(f"SET SESSION lock_wait_timeout = {round(limit_s)}")
        for statement in self.routines_removal():
            self.session.run(statement)

    def conditions(self, warehouses: int, before: Sequence[Check] | None = None) -> list[Check]:
        """In a transaction that ends with the session."""
        self.session.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        self.session.run("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
        return checks(conditions_in(HERE), self._broken, warehouses, before)

    def _broken(self, condition: Condition, checked: Sequence[int]) -> Broken:
        listed = f"({', '.join(map(str, checked))})"
        asked = condition.query.replace("%(warehouses)s", listed)
        places, first, fingerprint = self.session.row(BROKEN.format(asked))
        return Broken(int(places), str(first or ""), str(fingerprint))

    def existing_facts(self, workload: Workload) -> dict[str, str]:
        """Raises PlanError for tables without transactions too."""
        if others := self.session.rows(OTHER_ENGINES, LARGEST_FIRST):
            raise PlanError(
                f"cannot use HammerDB's schema in {self.database}",
                seen=f"it has tables of the storage engine {others[0][0]}",
                do="build the schema with HammerDB's storage engine innodb",
            )
        return super().existing_facts(workload)

    def existing(self) -> Existing:
        return Existing(self.database, self.size_bytes())
