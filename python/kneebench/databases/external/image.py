"""The base image as a database on a running server, the work database copied from it, and the
servers by URL that have both, as far as it is the same on all servers that copy databases.

How a climb gets its fresh database (`restore`):

- template (the default): the base image is a database of ours on that server, and the work database
  is a copy of it. HammerDB's database is copied in place of the image.
- command: the plan's shell command restores the URL's database; it may also load it.
- none: the URL's database is used as the last climb left it.

Databases of ours carry a mark; no other database is dropped, whatever its name. Two runs on the
same image would drop each other's work databases, so each holds a lock while it builds or measures.
"""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar

from kneebench.databases.engine import LogCalls, OpenedServer, ServerAddress
from kneebench.databases.external.engine import (
    BACK_S,
    LEFT,
    UNTOUCHED,
    ExternalRestore,
    ExternalServers,
    KeptDatabase,
    once_it_is_back,
    process_at,
    run_shell_command,
)
from kneebench.databases.loading import Recipe
from kneebench.databases.managed.server_process import Process
from kneebench.databases.schema import Schema
from kneebench.errors import PlanError, Refused
from kneebench.lab.journal import Journal
from kneebench.lab.server_cleanup import undone_after
from kneebench.plan.database import ExistingSchemaDatabase, existing_schema_table
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.workload import Workload
from kneebench.records import Check, Configuration, Event, Finding, Watch, Whereabouts

WORK = "kneebench_work_"
"""How the name of a copy begins."""
REMOVAL_LIMIT_S = 60.0
"""How long a removal may wait for a lock, or an answer."""
AddressOf = TypeVar("AddressOf", bound=ServerAddress)
SessionOf = TypeVar("SessionOf")
ServerOf = TypeVar("ServerOf", bound=OpenedServer)


class ServerImage(ABC, Generic[AddressOf, SessionOf]):
    """The image on one server, and its copy.

    `source` is the database to copy if it is not ours (HammerDB's); empty for our own.
    """

    schema_of: Callable[[Workload], type[Schema[Any]]]
    """The tables of a workload."""
    drop_by_hand: ClassVar[str] = "DROP DATABASE IF EXISTS {}"

    def __init__(self, address: AddressOf, source: str, recipe: Recipe, journal: Journal) -> None:
        self.address, self.source, self.recipe, self.journal = address, source, recipe, journal
        self.schema = self.schema_of(recipe.workload)
        self.client = self.schema.client

    @abstractmethod
    def alone(self) -> AbstractContextManager[SessionOf]:
        """A session that holds the image's lock; raises Refused if another run holds it."""

    @abstractmethod
    def findings(self, session: SessionOf, subject: str) -> Iterator[Finding]:
        """Databases with the names of ours that a run would have to drop and may not."""

    @abstractmethod
    def facts(self, session: SessionOf) -> dict[str, str]:
        """Those of an image that came to its end; empty for none."""

    @abstractmethod
    def create(self, session: SessionOf) -> None:
        """Make the image's database, empty, with our mark."""

    @abstractmethod
    def finish(self, session: SessionOf, facts: Mapping[str, str]) -> None:
        """Note the facts of the image, and that it came to its end."""

    @abstractmethod
    def size_bytes(self, session: SessionOf) -> int:
        """The size of the image's database; 0 where there is none."""

    @abstractmethod
    def copy(self, session: SessionOf, watch: Watch) -> None:
        """Make the work database."""

    @abstractmethod
    def drop(self, session: SessionOf, database: str) -> None:
        """Drop a database of ours, if it exists; raises Refused for one without our mark."""

    @property
    def digest(self) -> str:
        """The part of the names that says what the image is of."""
        return self.recipe.key.rpartition("-")[2]

    @property
    def image(self) -> str:
        """The name of the image's database."""
        return self.source or f"kneebench_image_{self.digest}"

    @property
    def work_database(self) -> str:
        """The name of its copy."""
        return f"{WORK}{self.digest}"

    def of(self, database: str) -> AddressOf:
        """The address of a database there."""
        return self.address.model_copy(update={"database": database})

    def _explained(self, what: str) -> AbstractContextManager[None]:
        return self.client.explained(what, self.address)

    @property
    def databases(self) -> tuple[str, ...]:
        """The names of those that are ours."""
        return (self.work_database,) if self.source else (self.image, self.work_database)

    def prepare(self, workload: Workload, seed: int, watch: Watch) -> dict[str, str]:
        """Load the image database, unless it is complete; returns its facts."""
        with self.alone() as session:
            if found := self.facts(session):
                return {**found, "reused": "yes"}
            self.drop(session, self.image)
            self.create(session)
            began = time.monotonic()
            loaded = self.schema.load(self.of(self.image), workload, seed, watch)
            seconds = time.monotonic() - began
            facts = {
                **loaded,
                "key": self.recipe.key,
                "server": self.recipe.version,
                "bytes": str(self.size_bytes(session)),
                "build_s": f"{seconds:.1f}",
            }
            if workload.type == "tproc-c":
                facts["warehouses_per_min"] = f"{60 * workload.warehouses / seconds:.1f}"
            self.finish(session, facts)
        return {**facts, "reused": "no"}

    def remove(self) -> str:
        """Drop the image database; its name. Raises Refused for one that is not ours."""
        with self.alone() as session, self._explained(f"cannot drop {self.image}"):
            self.drop(session, self.image)
        return self.image

    @contextlib.contextmanager
    def work(self, watch: Watch) -> Iterator[AddressOf]:
        """A fresh copy of the image, as its address; dropped at the end.

        If that fails, the failure is reported with the command that removes the copy.
        """
        name = self.work_database
        with self.alone() as session:
            with self._explained(f"cannot drop the database {name} of an earlier run"):
                self.drop(session, name)
            by_hand = self.client.command(self.address, self.drop_by_hand.format(name))
            noted = self.journal.on_a_server(f"the database {name}", self.address.place, by_hand)
            undo, failures = partial(self._remove, session), self.client.failures
            with undone_after(undo, noted, self.journal, watch, *failures):
                with self._explained(f"cannot copy the database {self.image}"):
                    self.copy(session, watch)
                yield self.of(name)

    def _remove(self, session: SessionOf) -> None:
        """Drop the copy; if the server ended our session, as soon as it accepts sessions again."""
        try:
            self.drop(session, self.work_database)
        except self.client.failures as error:
            if not self.client.is_lost(error):
                raise
            self.client.once_it_answers(self.address, self._drop_again)

    def _drop_again(self) -> None:
        with self.alone() as session:
            self.drop(session, self.work_database)


def not_ours(database: str, seen: str) -> Refused:
    """The error of a database that carries no mark of ours."""
    do = "rename it or drop it yourself"
    return Refused(f"cannot drop the database {database}", seen=seen, do=do)


def refused_users(
    plan: DatabasePlan, subject: str, limits: Mapping[str, int], words: str, ours: int
) -> Iterator[Finding]:
    """A warning if the last users of a climb or of the fixed rate would be refused, an error if its
    first or those of a fixed load would. `limits`: how many users each limit allows; `ours`: the
    sessions beside them.
    """
    free, ladder = min(limits.values()), plan.ladder
    connections = plan.workload.connections or ladder.most_users
    wanted = min(ladder.most_users, connections)
    if wanted <= free:
        return
    needed = min(ladder.last if ladder.fixed else max(ladder.first, 1), connections)
    raised = " and ".join(name for name, users in limits.items() if users < wanted)
    fewer = f", or set {ladder.with_fewer_users(free)}" if free else ""
    yield Finding(
        level="error" if needed > free else "warning",
        subject=subject,
        seen=f"{words}: {free} users can connect, the plan needs up to {wanted}",
        do=f"raise {raised} (the plan needs {wanted + ours} free){fewer}",
    )


class ImageServers(ExternalServers[ExistingSchemaDatabase, AddressOf, SessionOf, ServerOf]):
    """Servers by URL that keep the image as a database: one per storage, or one for all."""

    image: ClassVar[type[ServerImage[Any, Any]]]
    server: Callable[..., ServerOf]
    """What measuring asks."""
    _again: Callable[[], ServerOf]
    """Asks the database that was restored last."""

    def __init__(self, plan: DatabasePlan, journal: Journal) -> None:
        super().__init__(plan, journal, existing_schema_table(plan.database))
        self.schema = self.image.schema_of(plan.workload)

    # --- what each engine knows itself ------------------------------------------------------------

    @abstractmethod
    def removal(self, database: str) -> str:
        """The statements that remove what `load` made in a database of the URL's, by hand."""

    @abstractmethod
    def recipe(self, session: SessionOf) -> Recipe:
        """What shapes the image there."""

    @abstractmethod
    def name_of(self, session: SessionOf) -> str:
        """The product and its version."""

    @abstractmethod
    def place_of(self, session: SessionOf) -> str:
        """Where the server keeps its databases, for people."""

    @abstractmethod
    def whereabouts(self, session: SessionOf) -> Whereabouts:
        """Whether the server runs here."""

    @abstractmethod
    def log_calls(self, session: SessionOf, found: Whereabouts) -> LogCalls | str:
        """How it writes its log; or why that cannot be told."""

    @abstractmethod
    def obstacles(self, session: SessionOf, address: AddressOf, subject: str) -> Iterator[Finding]:
        """The user's rights, what else the server does, the free connections."""

    @abstractmethod
    def remarks(self, session: SessionOf) -> Sequence[str]:
        """What a reader must know of a server, by a session in the restored database."""

    def server_of(self, address: AddressOf) -> AddressOf:
        """The address of the server itself, whose database need not be there."""
        return address

    def process(self, address: AddressOf) -> Process:
        """Located again each time: it may have been restarted."""
        return process_at(self.locate(address))

    # --- what is the same -------------------------------------------------------------------------

    def explained(self, what: str, address: AddressOf) -> AbstractContextManager[None]:
        return self.schema.client.explained(what, address)

    def image_at(
        self, address: AddressOf, session: SessionOf | None = None
    ) -> ServerImage[Any, Any]:
        """The image on the server there, asked by a session that is open already."""
        server = self.server_of(address)
        with contextlib.nullcontext(session) if session else self.connected(server) as asked:
            recipe = self.recipe(asked)
        return self.image(server, address.database if self.foreign else "", recipe, self.journal)

    def found(
        self, session: SessionOf, storage: str, address: AddressOf, subject: str
    ) -> Iterator[Finding]:
        """Where it runs, what the engine sees in the way, and the tables that are there."""
        where = self.whereabouts(session)
        seen = f"{self.name_of(session)}, restored by {self.how}; {where.seen}"
        yield Finding(level="ok", subject=subject, seen=seen)
        yield from (Finding(level="note", subject=subject, seen=note) for note in where.notes)
        yield from self.obstacles(session, address, subject)
        if self.how == "template":
            yield from self.image_at(address, session).findings(session, subject)
        schema = self.schema(session)
        if self.foreign:
            yield from schema.existing_findings(subject, self.plan)
        elif self.how == "none" or (self.how == "command" and not schema.is_whole()):
            schema.require_loadable(self.plan.workload, self.plan.seed)

    def kept(self, session: SessionOf, storage: str, address: AddressOf) -> KeptDatabase | None:
        """The image database; the tables in the URL's; nothing beside a schema of another's."""
        if self.foreign:
            return None
        place, command = self.place_of(session), self.schema.client.command
        if self.how == "template":
            image = self.image_at(address, session)
            name, drop = image.image, f"DROP DATABASE {image.image}"
            there = image.size_bytes(session) if image.facts(session) else 0
            return KeptDatabase(name, there, place, command(self.server_of(address), drop))
        schema, name = self.schema(session), f"the tables of {address.database}"
        there = schema.size_bytes() if schema.is_whole() else 0
        drop = self.removal(address.database)
        return KeptDatabase(name, there, place, command(self.server_of(address), drop))

    def log_untraced(self, session: SessionOf, address: AddressOf) -> str:
        calls = self.log_calls(session, self.whereabouts(session))
        return calls if isinstance(calls, str) else ""

    def locate(self, address: AddressOf) -> Whereabouts:
        with self.connected(address) as session:
            return self.whereabouts(session)

    def load(self, storage: str, address: AddressOf, watch: Watch) -> dict[str, str]:
        """The image database (template), or the URL's own if it is empty."""
        workload, seed = self.plan.workload, self.plan.seed
        if self.how == "template" and not self.foreign:
            return self.image_at(address).prepare(workload, seed, watch)
        with self.connected(address) as session:
            schema = self.schema(session)
            if self.foreign:
                return schema.existing_facts(workload)
            loaded = schema.facts()
        if self.how == "command" and loaded.get("state") == "whole":  # it restores it, used or not
            return {**loaded, "reused": "yes"}
        return {"reused": "no", **self.schema.load(address, workload, seed, watch)}

    def remove(self, storage: str, address: AddressOf) -> str:
        return f"dropped {self.image_at(address).remove()}"

    def open(self, restore: ExternalRestore[AddressOf], stack: ExitStack) -> ServerOf:
        """A copy of the image, dropped with the stack; or the URL's database."""
        address, watch = restore.address, restore.watch
        if self.how == "template":
            address = stack.enter_context(self.image_at(address).work(watch))
        elif self.foreign and self.schema.installs:
            stack.enter_context(self._beside_theirs(address, watch))
        left = self.how == "none" and self.plan.workload.writes
        notes = [UNTOUCHED, *([LEFT] if left else [])]
        notes += [*self.where(restore.configuration).notes, *self._made_ready(address)]
        restore_s, warehouses = restore.seconds, self.plan.workload.warehouses
        with self.explained("cannot open the restored database", address):
            before = self._before(address, watch)
            self._again = partial(self._asked, address, warehouses, restore_s, notes, before=before)
            server = self._again()
        stack.callback(server.close)
        server.checkpoint()
        return server

    @contextlib.contextmanager
    def crashing(self, configuration: Configuration, watch: Watch) -> Iterator[CutServer[ServerOf]]:
        """The server with a fresh database, whose machine the plan's command cuts off."""
        with self.restored(configuration, watch) as server:
            storage = configuration.storage
            address = self.address(storage)
            cut, ask = partial(self._cut, storage, address), partial(self._require_server, address)
            with contextlib.closing(CutServer(server, cut, ask, self._again)) as crashing:
                yield crashing

    def _cut(self, storage: str, address: AddressOf) -> None:
        given = self.table.cut_command, self.variables(address), self.password_variable, storage
        run_shell_command("database.cut_command", *given)

    def _require_server(self, address: AddressOf) -> None:
        with self.connected(self.server_of(address)):
            pass

    def _asked(self, address: AddressOf, *facts: Any, before: Sequence[Check] | None) -> ServerOf:
        process = self.process(address)
        return self.server(address, *facts, process, before, schema=self.schema)

    def _made_ready(self, address: AddressOf) -> Sequence[str]:
        """Install what users run, unless the database is a copy of an image that has it; remarks.
        What the plan's command restored is the plan's database.
        """
        what = f"cannot install the {self.schema.routines}"
        with self.explained(what, address), self.connected(address) as session:
            schema = self.schema(session)
            if self.how == "command" and not self.foreign:
                self.require_plans(schema.facts(), address.database)
            if self.how != "template" or self.foreign:
                schema.install_routines()
            return self.remarks(session)

    @contextlib.contextmanager
    def _beside_theirs(self, address: AddressOf, watch: Watch) -> Iterator[None]:
        """Beside tables that are not ours, what users run goes at the end of the block."""
        client, statements = self.schema.client, self.schema.routines_removal()
        what = f"kneebench's {self.schema.routines} in the database {address.database}"
        by_hand = client.command(address, "; ".join(statements))
        noted = self.journal.on_a_server(what, address.place, by_hand)
        undo = partial(client.once_it_answers, address, partial(self._remove_routines, address))
        with undone_after(undo, noted, self.journal, watch, *client.failures):
            yield

    def _remove_routines(self, address: AddressOf) -> None:
        with self.schema.client.connect(address, limit_s=REMOVAL_LIMIT_S) as session:
            self.schema(session).remove_routines(REMOVAL_LIMIT_S)

    def _before(self, address: AddressOf, watch: Watch) -> Sequence[Check] | None:
        """The conditions of a schema that we did not load, to judge the change since."""
        if not self.foreign:
            return None
        watch(Event(kind="start", doing="checking the existing schema"))
        with self.connected(address) as session:
            return self.schema(session).conditions(self.plan.workload.warehouses)


class CutServer(Generic[ServerOf]):
    """A server by URL whose machine is cut off by a command, and comes back by itself."""

    def __init__(
        self,
        server: ServerOf,
        cut: Callable[[], None],
        ask: Callable[[], None],
        again: Callable[[], ServerOf],
    ) -> None:
        self.server, self._cut, self._ask, self._again = server, cut, ask, again
        self._cut_s = time.monotonic()

    def begin(self) -> None:
        """Nothing is recorded."""

    def cut(self, at_s: float | None = None) -> None:
        """Run the command; there is no earlier moment."""
        self._cut()
        self._cut_s = time.monotonic()

    def is_there(self) -> bool:
        """Whether it takes a session now."""
        try:
            self._ask()
        except PlanError:
            return False
        return True

    def moments(self, number: int, from_s: float) -> list[float]:
        """None: a real cut is at one moment."""
        return []

    def recover(self) -> float:
        """Wait until the server accepts sessions; seconds from the end of the command."""
        once_it_is_back(self._ask, (PlanError,), limit_s=BACK_S)
        took_s = time.monotonic() - self._cut_s
        self.server.close()
        self.server = self._again()
        return took_s

    def close(self) -> None:
        """End the sessions."""
        self.server.close()
