"""A dialect: what kneebench must know of a database that it reaches by a driver, as a folder.

- dialect.toml: queries, calls, errors, readings (`Dialect` below; docs/odbc.md)
- schema.sql: a CREATE TABLE for each of the nine tables, with TPROC-C's columns in our order
- keys.sql: keys and indexes, which are made over the rows; it may be empty
- procedures.sql: the five transactions, a statement each, ended by a line with "/"
- removal.sql: what drops them
- conditions.sql: only where the standard queries (conditions.sql beside this file) do not run
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from kneebench.core_errors import CoreErrorClass
from kneebench.databases.sql_files import statements
from kneebench.databases.tproc_c.conditions import Condition, conditions_in
from kneebench.databases.tproc_c.tables import LARGEST_FIRST
from kneebench.engine_properties import ErrorClass
from kneebench.errors import PlanError
from kneebench.records import Record

HERE = Path(__file__).parent
FILE, SCHEMA, KEYS = "dialect.toml", "schema.sql", "keys.sql"
PROCEDURES, REMOVAL, CONDITIONS = "procedures.sql", "removal.sql", "conditions.sql"
WRITE = "see docs/odbc.md: a database that kneebench does not know"
METERS = ("log_writes", "checkpoints", "tables", "data_files")
Transaction = Literal["new_order", "payment", "order_status", "delivery", "stock_level"]


class Dialect(Record):
    """What dialect.toml says.

    `tried`: on which server it was tried; empty: on none, which is said wherever it matters.
    `session`: statements at the begin of every session. `version`, `tables`: queries of the
    server's version, and of the names of the tables that a session sees, in lower case. `settings`:
    (name, value); `size`: bytes of the database; `transactions`: (committed, rolled back) of the
    workload's database alone; `waits`: (class, event, sessions), with the classes of
    `engine_properties.WaitClass`; `placement`: (what is held, path on the server) of its files.
    `readings`: by meter, queries of (quantity, value). `statistics`, `checkpoint`: statements.
    `faults`: what is wrong with the procedures, on a database that takes them all the same; no rows
    where nothing is. `snapshot`: statements before the conditions are read, so that all see one
    state. `calls`: statements of transactions with other names than the standard ones. `errors`:
    SQLSTATEs, numbers or words of messages by class.
    """

    label: str
    tried: str = ""
    session: tuple[str, ...] = ()
    version: str
    tables: str
    settings: str = ""
    size: str = ""
    transactions: str = ""
    waits: str = ""
    placement: str = ""
    faults: str = ""
    readings: dict[str, tuple[str, ...]] = Field(default={})
    statistics: tuple[str, ...] = ()
    checkpoint: tuple[str, ...] = ()
    snapshot: tuple[str, ...] = ()
    calls: dict[Transaction, str] = Field(default={})
    errors: dict[CoreErrorClass, tuple[str, ...]] = Field(default={})
    folder: Path = Field(exclude=True)

    @property
    def classes(self) -> list[tuple[str, str]]:
        """The errors as the core takes them."""
        return [(one, name) for name, known in self.errors.items() for one in known]

    @property
    def procedures(self) -> list[str]:
        """The statements that make the procedures."""
        return statements(self.folder / PROCEDURES, r"(?m)^/\s*$")

    @property
    def removal(self) -> list[str]:
        """Those that drop them; each fails where its procedure is not there."""
        return statements(self.folder / REMOVAL)

    @property
    def keys(self) -> list[str]:
        """The statements that make keys and indexes."""
        return statements(self.folder / KEYS)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The twelve consistency conditions, its own or the standard ones."""
        own = (self.folder / CONDITIONS).exists()
        return conditions_in(self.folder if own else HERE)

    def making(self, table: str) -> str:
        """The statement that makes a table. Raises PlanError where there is none."""
        wanted = re.compile(rf"(?i)CREATE TABLE (\w+\.)?{table}\b")
        found = [one for one in statements(self.folder / SCHEMA) if wanted.match(one)]
        if not found:
            raise _unfit(self.folder / SCHEMA, f"it has no CREATE TABLE {table}")
        return found[0]


@cache
def dialect_in(folder: Path) -> Dialect:
    """The dialect of a folder. Raises PlanError for one that cannot be used."""
    file = folder / FILE
    try:
        given = tomllib.loads(file.read_text())
        found = Dialect.model_validate({**given, "folder": folder})
    except OSError as error:
        raise _unfit(file, error.strerror or str(error)) from None
    except tomllib.TOMLDecodeError as error:
        raise _unfit(file, str(error)) from None
    except ValidationError as error:
        seen = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise _unfit(file, seen) from None
    if unknown := sorted(found.readings.keys() - {*METERS}):
        raise _unfit(file, f"readings of {unknown[0]}: the meters are {', '.join(METERS)}")
    for name in (SCHEMA, KEYS, PROCEDURES, REMOVAL):
        if not (folder / name).exists():
            raise _unfit(folder / name, "there is no such file")
    for table in LARGEST_FIRST:
        found.making(table)
    return found


def _unfit(file: Path, seen: str) -> PlanError:
    return PlanError(f"cannot read the dialect's {file.name}", seen=seen, do=f"{WRITE} ({file})")


STATES: Mapping[ErrorClass, tuple[str, ...]] = {
    "retry": ("40001", "40P01"),
    "full": ("53",),
    "refused": ("28", "08004", "42501"),
    "stopped": ("57P",),
    "broken": ("58", "XX"),
}
"""Classes of SQLSTATEs, by how they begin: the standard's, and those that PostgreSQL added."""


def class_of_state(code: str) -> ErrorClass:
    """The class of an error by its SQLSTATE.

    >>> class_of_state("40001"), class_of_state("53300"), class_of_state("22012")
    ('retry', 'full', 'other')
    """
    return next((name for name, begins in STATES.items() if code.startswith(begins)), "other")
