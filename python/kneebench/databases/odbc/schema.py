"""The workload's tables in the database of a session over ODBC.

The table kneebench_image holds the facts of a load, and marks the tables as ours: without it no
table is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar

from kneebench._core import TableLoad
from kneebench.core_errors import LoadError, SessionError
from kneebench.databases.engine import ServerAddress
from kneebench.databases.loading import Step
from kneebench.databases.odbc.dialect import PROCEDURES
from kneebench.databases.odbc.session import CLIENT, OdbcAddress, OdbcSession
from kneebench.databases.schema import Schema
from kneebench.databases.tproc_c.adopted import Existing
from kneebench.databases.tproc_c.conditions import Broken, Condition, checks
from kneebench.databases.tproc_c.tables import LARGEST_FIRST
from kneebench.errors import InvalidMeasurement, KneebenchError, PlanError
from kneebench.records import Check, Watch

FACTS = "kneebench_image"
MAKE_FACTS = (
    f"CREATE TABLE {FACTS} (fact varchar(64) NOT NULL PRIMARY KEY, said varchar(1000) NOT NULL)"
)
UNUSED = "SELECT MIN(d_next_o_id), MAX(d_next_o_id), MIN(d_ytd), MAX(d_ytd) FROM district"
COLUMNS = {
    "warehouse": 9,
    "district": 11,
    "customer": 21,
    "history": 8,
    "item": 5,
    "stock": 17,
    "new_order": 3,
    "orders": 8,
    "order_line": 10,
}
"""How many each table has."""


class OdbcSchema(Schema[OdbcSession]):
    """The tables in a session's database."""

    client = CLIENT
    routines = "procedures"
    filling = "INSERT INTO {} VALUES ({})"
    own: ClassVar[Sequence[str]] = (*LARGEST_FIRST, FACTS)
    theirs = ""

    @property
    def database(self) -> str:
        return self.session.address.place

    def tables(self) -> dict[str, bool]:
        """Those that the dialect's query finds; ours where the facts of a load are beside them."""
        names = {str(row[0]) for row in self.session.rows(self.session.dialect.tables)}
        return dict.fromkeys(names, FACTS in names)

    def facts(self) -> dict[str, str]:
        if FACTS not in self.tables():
            return {}
        found = self.session.rows(f"SELECT fact, said FROM {FACTS}")  # noqa: S608
        return {str(name): str(value) for name, value in found}

    def note(self, known: Mapping[str, str]) -> None:
        if FACTS not in self.tables():
            self.session.rows(MAKE_FACTS)
        for name, value in known.items():
            self.session.rows(f"DELETE FROM {FACTS} WHERE fact = '{name}'")  # noqa: S608
            said = value.replace("'", "''")
            self.session.rows(f"INSERT INTO {FACTS} VALUES ('{name}', '{said}')")  # noqa: S608

    def is_unused(self) -> bool:
        first, last, least, most = self.session.rows(UNUSED)[0]
        return [first, last] == [3001, 3001] and {float(least or 0), float(most or 0)} == {30_000}

    def found(self, shape: Mapping[str, str]) -> dict[str, str]:
        """None of a load by another dialect."""
        known = super().found(shape)
        return known if known.get("dialect") == self.session.digest else {}

    def finish(self, address: ServerAddress, watch: Watch) -> dict[str, str]:
        return {**super().finish(address, watch), "dialect": self.session.digest}

    @classmethod
    def _refusal(cls, what: str, error: LoadError) -> KneebenchError:
        """As the dialect classes the error: a full database is no error of the plan."""
        if error.error_class == "full":
            do = "make room on the server, or use fewer warehouses"
            return InvalidMeasurement(what, seen=error.message, do=do)
        return super()._refusal(what, error)

    def count_warehouses(self) -> int:
        return int(self.session.value("SELECT COUNT(*) FROM warehouse") or 0)

    def size_bytes(self) -> int:
        query = self.session.dialect.size
        return int(self.session.value(query) or 0) if query else 0

    def making(self, table: str) -> list[str]:
        return [self.session.dialect.making(table)]

    def _fillings(self) -> list[TableLoad]:
        return [
            TableLoad(
                name=table,
                before=self.making(table),
                fill=self.filling.format(table, ", ".join("?" * COLUMNS[table])),
            )
            for table in self.loaded
        ]

    def drop_tables(self, names: Sequence[str]) -> None:
        """After the procedures, which may need them. The facts last: what is left without them
        would not be ours.
        """
        self.remove_routines(0)
        for name in sorted(names, key=self.own.index):
            self.session.rows(f"DROP TABLE {name}")

    def steps(self, address: OdbcAddress) -> list[Step]:
        dialect = self.session.dialect
        run = self._run_all
        return [
            Step("keys_s", "making the keys", partial(run, dialect.keys)),
            Step("statistics_s", "gathering statistics", partial(run, dialect.statistics)),
            Step("functions_s", "installing the procedures", self.install_routines),
        ]

    def _run_all(self, statements: Sequence[str]) -> None:
        for statement in statements:
            self.session.rows(statement)

    def install_routines(self) -> None:
        """In place of those of an earlier version. Raises PlanError for one with faults."""
        dialect = self.session.dialect
        self.remove_routines(0)
        self._run_all(dialect.procedures)
        if faults := self.session.rows(dialect.faults) if dialect.faults else []:
            raise PlanError(
                f"cannot install the procedures at {self.database}",
                seen="; ".join(" ".join(map(str, row)) for row in faults),
                do=f"correct {dialect.folder / PROCEDURES}",
            )

    @staticmethod
    def routines_removal() -> list[str]:
        return []

    def remove_routines(self, limit_s: float) -> None:
        """Each where it is there."""
        for statement in self.session.dialect.removal:
            try:
                self.session.rows(statement)
            except SessionError as error:
                if CLIENT.is_lost(error):
                    raise

    def conditions(self, warehouses: int, before: Sequence[Check] | None = None) -> list[Check]:
        self._run_all(self.session.dialect.snapshot)
        return checks(self.session.dialect.conditions, self._broken, warehouses, before)

    def _broken(self, condition: Condition, checked: Sequence[int]) -> Broken:
        listed = f"({', '.join(map(str, checked))})"
        places = self.session.rows(condition.query.replace("{warehouses}", listed))
        return Broken(len(places), _place(*places[0]) if places else "")

    def existing(self) -> Existing:
        return Existing(self.database, self.size_bytes())


def _place(warehouse: object, district: object, number: object, off: object) -> str:
    """What breaks a condition, in words.

    >>> _place(1, 2, 0, 3)
    'warehouse 1 district 2: 3'
    """
    parts = [f"warehouse {warehouse}"]
    parts += [f"district {district}"] if district else []
    parts += [f"number {number}"] if number else []
    return f"{' '.join(parts)}: {off}"
