"""The workload's tables in a session's database, ours or another tool's, as far as it is the same
on all servers that keep a base image as a database.

A table that we make carries a mark. The facts of a load, and whether it came to its end, are in a
table of their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from kneebench._core import TableLoad
from kneebench.core_errors import LoadError
from kneebench.databases import loading
from kneebench.databases.client import Client
from kneebench.databases.engine import ServerAddress
from kneebench.databases.loading import Step, TableRows
from kneebench.databases.tproc_c import adopted
from kneebench.databases.tproc_c.adopted import Existing
from kneebench.databases.tproc_c.tables import LARGEST_FIRST
from kneebench.errors import KneebenchError, Refused
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.workload import Workload
from kneebench.records import Check, Finding, Watch

SessionOf = TypeVar("SessionOf")
MARK = "made by kneebench"


class Schema(ABC, Generic[SessionOf]):
    """What an engine's session does with them."""

    client: ClassVar[Client]
    routines: ClassVar[str]
    """What the engine calls what users run."""
    filling: ClassVar[str]
    """The statement that takes a table's rows from the core."""
    rolls_back: ClassVar[bool] = True
    """Whether users roll back by design."""
    theirs: ClassVar[str] = "hammerdb"
    """What a plan calls tables that are there already; empty where it cannot name them."""
    changed: ClassVar[str] = adopted.CHANGED
    """What measuring does to the tables of another tool."""
    installs: ClassVar[bool] = True
    """Whether users run routines of ours."""
    keyless: ClassVar[bool] = True
    """Whether a table has no primary key."""
    loaded: ClassVar[Sequence[str]] = LARGEST_FIRST
    """The tables that get rows, in the order of their bytes."""
    own: ClassVar[Sequence[str]] = LARGEST_FIRST
    """The tables that a load makes."""

    def __init__(self, session: SessionOf) -> None:
        self.session = session

    @property
    @abstractmethod
    def database(self) -> str:
        """The session's."""

    @abstractmethod
    def tables(self) -> Mapping[str, bool]:
        """The tables that are there, at least those with our names; True for those that we made."""

    @abstractmethod
    def facts(self) -> dict[str, str]:
        """What the load noted of itself; empty where there was none. `state` is "loading" or
        "whole".
        """

    @abstractmethod
    def note(self, known: Mapping[str, str]) -> None:
        """Keep facts of the load, in place of those of the same names."""

    @abstractmethod
    def is_unused(self) -> bool:
        """Whether nothing was run on the loaded tables."""

    @abstractmethod
    def count_warehouses(self) -> int: ...

    @abstractmethod
    def size_bytes(self) -> int:
        """The database's size, at least by the server's estimate."""

    @abstractmethod
    def making(self, table: str) -> list[str]:
        """What makes a table of ours, with our mark."""

    @abstractmethod
    def drop_tables(self, names: Sequence[str]) -> None: ...

    @abstractmethod
    def steps(self, address: Any) -> list[Step]:
        """What comes after the rows."""

    @abstractmethod
    def install_routines(self) -> None:
        """Put what users run into the database, whoever built the tables; what an earlier version
        installed is replaced.
        """

    @staticmethod
    @abstractmethod
    def routines_removal() -> list[str]:
        """The statements that remove all that `install_routines` makes."""

    @abstractmethod
    def remove_routines(self, limit_s: float) -> None:
        """Run them; each may wait so long for a lock."""

    @abstractmethod
    def conditions(self, warehouses: int, before: Sequence[Check] | None = None) -> list[Check]:
        """The twelve consistency conditions, in order, in one snapshot; `before`: what they were
        when a schema that another tool built was found.
        """

    @abstractmethod
    def existing(self) -> Existing:
        """The database as one that has another tool's schema."""

    # --- what is the same -------------------------------------------------------------------------

    def is_whole(self) -> bool:
        """Whether a load came to its end, used or not."""
        return self.facts().get("state") == "whole"

    def found(self, shape: Mapping[str, str]) -> dict[str, str]:
        """The facts of a whole and unused load of this shape; empty where all must be done (again).
        Raises Refused for a whole load of another shape.
        """
        known = self.facts()
        if known.pop("state", "") != "whole" or not {*self.loaded} <= {*self.tables()}:
            return {}
        loading.require_shape(known, shape, self.database)
        return known if self.is_unused() else {}

    def require_loadable(self, workload: Workload, seed: int) -> None:
        """Raise what `load` would of a database that it may not fill; changes nothing."""
        if not self.found(loading.shape_of(workload, seed)):
            self.require_ours()

    def require_ours(self) -> list[str]:
        """Our tables that are there; raises Refused where one of those names is another's."""
        there = {name: ours for name, ours in self.tables().items() if name in self.own}
        if foreign := sorted(name for name, ours in there.items() if not ours):
            instead = f', or set schema_from = "{self.theirs}"' if self.theirs else ""
            raise Refused(
                f"cannot load the database {self.database}",
                seen=f"it contains tables that kneebench did not create: {', '.join(foreign)}",
                do=f"use an empty database{instead}",
            )
        return [*there]

    @classmethod
    def load(
        cls, address: ServerAddress, workload: Workload, seed: int, watch: Watch
    ) -> dict[str, str]:
        """Fill an empty database; its facts (warehouses, profile, seed, rows, times).

        A whole load of the same shape that nothing was run on is left as it is; one that was run
        on, or never came to its end, is dropped and done again. Raises Refused for tables that we
        did not make and for a whole load of another shape.
        """
        shape = loading.shape_of(workload, seed)
        with cls.client.connect(address) as session:
            schema = cls(session)
            if found := schema.found(shape):
                return {**found, "reused": "yes"}
            schema.drop_tables(schema.require_ours())
            schema.note({"state": "loading", **shape})
            rows = TableRows(address, workload, seed, schema._fillings())
            loaded = loading.load_rows(rows, watch, cls._refusal)
            known = {**shape, **loaded, **schema.finish(address, watch)}
            schema.note({**known, "state": "whole"})
        return known

    def _fillings(self) -> list[TableLoad]:
        return [
            TableLoad(name=table, before=self.making(table), fill=self.filling.format(table))
            for table in self.loaded
        ]

    @classmethod
    def _refusal(cls, what: str, error: LoadError) -> KneebenchError:
        return cls.client.refusal(what, error.message, error.code)

    def finish(self, address: ServerAddress, watch: Watch) -> dict[str, str]:
        """Run the steps on tables that have their rows; the seconds that each took."""
        return loading.take_steps(self.steps(address), watch, self.client.refused)

    def finish_copy(self, address: ServerAddress, watch: Watch) -> None:
        """The same on tables that were copied with their keys."""
        self.finish(address, watch)

    def existing_facts(self, workload: Workload) -> dict[str, str]:
        """What is known of another tool's schema; changes nothing. Raises PlanError where there is
        none, or one of another size.
        """
        there, count = self.tables(), self.count_warehouses
        return adopted.facts(self.database, there, count, workload.warehouses)

    def existing_findings(self, subject: str, plan: DatabasePlan) -> Iterator[Finding]:
        """What becomes of the user's tables; refused if the plan does not state it. Raises
        PlanError as `existing_facts` does.
        """
        self.existing_facts(plan.workload)
        stated, changed = plan.database.restore == plan.restore, self.changed
        existing, how = self.existing(), plan.restore
        yield from adopted.findings(existing, subject, how, stated=stated, changed=changed)
