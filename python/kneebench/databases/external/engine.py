"""The engine of servers that run already, as far as it is the same for all of them.

An external server is reached by URL. It is never started and never stopped.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import ClassVar, Generic, NamedTuple, TypeVar

from kneebench.databases.engine import (
    LOG_HISTOGRAM,
    OpenedServer,
    finding_of,
    safety_findings,
)
from kneebench.databases.loading import require_restored, shape_of
from kneebench.databases.managed.server_process import Process
from kneebench.errors import KneebenchError, PlanError, Refused
from kneebench.lab.journal import Journal
from kneebench.lab.processes import family
from kneebench.plan.database import ServerDatabase
from kneebench.plan.database_plan import DatabasePlan
from kneebench.records import Configuration, Event, Finding, Role, Watch, Whereabouts
from kneebench.secrets import redacted_output, without_passwords
from kneebench.units import size

UNTOUCHED = "external server: its caches were not emptied and its settings were not changed"
FINDING_S = 60.0
"""Longest wait for an answer while a server is checked."""
LEFT = "the database was not restored: each climb started from the state the previous one left"


AddressOf = TypeVar("AddressOf")
SessionOf = TypeVar("SessionOf")
ServerOf = TypeVar("ServerOf", bound=OpenedServer)
TableOf = TypeVar("TableOf", bound=ServerDatabase)


class ExternalRestore(NamedTuple, Generic[AddressOf]):
    """A restore under way: of which configuration, where, and since when (monotonic)."""

    configuration: Configuration
    address: AddressOf
    began: float
    watch: Watch

    @property
    def seconds(self) -> float:
        """How long it has taken by now."""
        return time.monotonic() - self.began


class KeptDatabase(NamedTuple):
    """What a campaign leaves on a server: its name, its size if it is there already, the place on
    the server, and the command that removes it.
    """

    name: str
    size_bytes: int
    place: str
    removal: str


class ExternalServers(ABC, Generic[TableOf, AddressOf, SessionOf, ServerOf]):
    """Servers that run already: one per storage, or one for all."""

    password_variable: ClassVar[str]
    """The variable of the environment from which the engine's clients read the password."""

    def __init__(self, plan: DatabasePlan, journal: Journal, table: TableOf) -> None:
        self.plan, self.journal, self.table, self.how = plan, journal, table, plan.restore
        self.foreign = table.has_schema
        self._where: dict[str, Whereabouts] = {}
        if (requested := table.restore) in ("copy", "clone"):
            raise PlanError(
                "database.restore",
                seen=f"{requested!r} needs the server's files",
                do='use "template", "command" or "none" with a URL',
            )

    # --- what each engine knows itself ------------------------------------------------------------

    @abstractmethod
    def address(self, storage: str) -> AddressOf:
        """The address in the storage's URL; raises PlanError for a URL that cannot be used."""

    @abstractmethod
    def connected(
        self, address: AddressOf, limit_s: float | None = None
    ) -> AbstractContextManager[SessionOf]:
        """A session whose answers may take `limit_s`; raises PlanError where the server refuses
        it.
        """

    @abstractmethod
    def explained(self, what: str, address: AddressOf) -> AbstractContextManager[None]:
        """What the server refuses inside is raised as a KneebenchError in its words."""

    @abstractmethod
    def variables(self, address: AddressOf) -> Mapping[str, str]:
        """The address in the variables that the engine's own clients read."""

    @abstractmethod
    def found(
        self, session: SessionOf, storage: str, address: AddressOf, subject: str
    ) -> Iterator[Finding]:
        """What the server is, and what the user may do there; changes nothing."""

    @abstractmethod
    def kept(self, session: SessionOf, storage: str, address: AddressOf) -> KeptDatabase | None:
        """What stays there after a campaign; None where that is nothing of kneebench's."""

    @abstractmethod
    def reported(self, session: SessionOf, address: AddressOf) -> Mapping[str, str]:
        """The server's values of the settings that buy speed with safety, where it shows them."""

    def log_untraced(self, session: SessionOf, address: AddressOf) -> str:
        """Why the server's log writes cannot be timed in the kernel; empty where they can."""
        return "the server is not on this machine"

    @abstractmethod
    def locate(self, address: AddressOf) -> Whereabouts:
        """Where the server runs."""

    @abstractmethod
    def load(self, storage: str, address: AddressOf, watch: Watch) -> dict[str, str]:
        """Load the database that climbs are restored from, unless it is there; its facts. Of a
        schema that is there (`foreign`) only its facts; raises PlanError where it is not the
        plan's.
        """

    @abstractmethod
    def open(self, restore: ExternalRestore[AddressOf], stack: ExitStack) -> ServerOf:
        """The server with a fresh database, after the plan's command where there is one; closed and
        what was made for it removed with the stack.
        """

    @abstractmethod
    def remove(self, storage: str, address: AddressOf) -> str:
        """Remove what `load` made on a server; what was removed, in words."""

    # --- what is the same -------------------------------------------------------------------------

    def findings(self) -> Sequence[Finding]:
        """Whether the servers answer, and what the user may do there, each thing once; changes
        nothing.
        """
        unreached, names = set[str](), self.plan.storages
        found = (finding for name in names for finding in self._findings(name, unreached))
        return list(dict.fromkeys(found))

    def _findings(self, storage: str, unreached: set[str]) -> Iterator[Finding]:
        """None of a URL that accepted no session for an earlier storage: it would take as long."""
        url = self.plan.urls[storage]
        if url in unreached:
            return
        subject = without_passwords(url)
        try:
            address, what = self.address(storage), "cannot read the user's rights"
            with self.explained(what, address), ExitStack() as stack:
                unreached.add(url)
                session = stack.enter_context(self.connected(address, FINDING_S))
                unreached.remove(url)
                yield from self.found(session, storage, address, subject)
                values = {**self.reported(session, address), **self._planned_settings}
                yield from safety_findings(self.plan.engine, values, subject)
                if why := self.log_untraced(session, address):
                    seen = f"it will not be measured: {why}"
                    yield Finding(
                        level="note",
                        subject=f"{subject}: {LOG_HISTOGRAM}",
                        seen=seen,
                        about="log_histogram",
                    )
                yield from self._written(self.kept(session, storage, address), subject)
        except KneebenchError as error:
            yield finding_of(error, subject)

    @property
    def _planned_settings(self) -> dict[str, str]:
        return {name: str(value) for name, value in self.plan.database.settings.items()}

    def _written(self, kept: KeptDatabase | None, subject: str) -> Iterator[Finding]:
        """How much is written on the server and where, what stays, and how to remove it."""
        footprint, warehouses = self.plan.engine.footprint, self.plan.workload.sized_as
        data_bytes, climb_bytes = (
            footprint.data_bytes(warehouses),
            footprint.climb_bytes(warehouses),
        )
        if kept:
            there = kept.size_bytes
            state = f"about {size(data_bytes)} to be loaded, and kept"
            state = f"{size(there)}, reused, and stays there" if there else state
            yield Finding(
                level="ok",
                subject=f"{subject}: base image",
                seen=f"{kept.name} in {kept.place}: {state}",
                do=f"to remove it: {kept.removal}",
                keeps_bytes=0 if there else data_bytes,
                about="base_image",
            )
        grows = size(climb_bytes - data_bytes)
        if self.how == "none" and not self.plan.workload.writes:
            return
        if self.how == "none":
            seen = f"a climb adds up to {grows} to the database, and nothing removes that"
            yield Finding(level="ok", subject=subject, seen=seen)
        elif self.how == "command":
            seen = f"a climb adds up to {grows} to the database, until restore_command restores it"
            yield Finding(level="ok", subject=subject, seen=seen)
        elif self.how == "load":
            seen = f"a climb adds up to {grows}, and the next one loads the database again"
            added = climb_bytes - data_bytes
            yield Finding(level="ok", subject=subject, seen=seen, writes_bytes=added)
        else:
            seen = f"a copy for each climb: up to {size(climb_bytes)}, dropped after it"
            yield Finding(level="ok", subject=subject, seen=seen, writes_bytes=climb_bytes)

    def where(self, configuration: Configuration) -> Whereabouts:
        url, address = self.plan.urls[configuration.storage], self.address(configuration.storage)
        if url not in self._where:
            with self.explained("cannot locate the server", address):
                self._where[url] = self.locate(address)
        return self._where[url]

    @property
    def _one_storage_per_url(self) -> list[str]:
        """The first that is measured there."""
        first: dict[str, str] = {}
        for configuration in self.plan.configurations:
            first.setdefault(self.plan.urls[configuration.storage], configuration.storage)
        return list(first.values())

    def prepare(self, watch: Watch) -> dict[str, str]:
        """Load the database on each server where it is not there yet.

        Returns the facts of the last one, and how it is restored.
        """
        facts: dict[str, str] = {}
        for storage in self._one_storage_per_url:
            there = f"the database at {without_passwords(self.plan.urls[storage])}"
            address = self.address(storage)
            with self.explained(f"cannot prepare {there}", address):
                facts = {"restored_by": self.how, **self.load(storage, address, watch)}
            watch(Event(kind="end", doing=f"preparing {there}", share=1.0))
        return facts

    @contextlib.contextmanager
    def restored(
        self, configuration: Configuration, watch: Watch, restore: int = 0
    ) -> Iterator[ServerOf]:
        """The server with a fresh database; what was made for it is removed at the end."""
        address, began = self.address(configuration.storage), time.monotonic()
        watch(
            Event(
                kind="start",
                doing=f"restoring the database of {configuration.storage!r} ({self.how})",
            )
        )
        if self.how == "command":
            self._run_command(configuration.storage, address, watch)
        with ExitStack() as stack:
            yield self.open(ExternalRestore(configuration, address, began, watch), stack)

    def _run_command(self, storage: str, address: AddressOf, watch: Watch) -> None:
        command, variables = self.table.restore_command, self.variables(address)
        key, password = "database.restore_command", self.password_variable
        run_shell_command(key, command, variables, password, storage)
        once_it_is_back(lambda: self.require_database(address), (PlanError,))
        if self.foreign:
            with self.explained("cannot check what the command restored", address):
                self.load(storage, address, watch)

    def require_database(self, address: AddressOf) -> None:
        """Raises PlanError where the workload's database accepts no session."""
        with self.connected(address):
            pass

    def require_plans(self, found: Mapping[str, str], database: str) -> None:
        """Raise PlanError where the command left another database than the plan's, by the facts of
        its load.
        """
        require_restored(found, shape_of(self.plan.workload, self.plan.seed), database)

    def remove_image(self, watch: Watch) -> str:
        """Remove from all servers what `prepare` made."""
        names = self._one_storage_per_url
        return "; ".join(self.remove(storage, self.address(storage)) for storage in names)

    def close(self) -> None:
        """Nothing is kept between restores."""


# Where a server is: the other end of our socket is this machine, and its process is found here.

ELSEWHERE = "its process is not on this machine (forwarded port or container)"
NO_PERMISSION = "the drive under {} is unknown: no read permission for this account"


def ends_here(ours: socket.socket) -> bool:
    """A socket of this machine, or an address that is ours as well."""
    return ours.family == socket.AF_UNIX or ours.getpeername()[0] == ours.getsockname()[0]


def found_here(
    process: int, held: Sequence[tuple[Role, Path]], notes: Iterable[str]
) -> Whereabouts:
    """Of a server whose first process runs here, with what its directories hold."""
    return Whereabouts(
        here=True,
        seen="on this machine",
        process=process,
        cores=tuple(sorted(os.sched_getaffinity(process))),
        paths=tuple(path for _, path in held),
        roles=tuple(role for role, _ in held),
        notes=tuple(notes),
    )


def process_at(found: Whereabouts, log: Path | None = None) -> Process:
    """The server's processes if it runs on this machine, with the directory of its log where that
    is another than the data's.
    """
    if not found.here:
        return Process()
    return Process(
        lambda: family(found.process),
        cores=found.cores,
        paths=found.paths,
        roles=found.roles,
        log=log,
    )


# The lock of a base image on a server: one run at a time uses the image.

KILLED_S = 3
"""Within this time, a busy server ends the session of a run that was killed, and frees its lock."""


def not_locked(image: str) -> str:
    """What failed, for errors."""
    return f"cannot lock the base image {image}"


def in_use(image: str) -> Refused:
    """The error where another run still holds it."""
    return Refused(
        not_locked(image),
        seen="another kneebench run uses it",
        do="wait for it to finish, or use another server",
    )


LIMIT_S, BACK_S = 60.0, 1800.0
"""Longest wait for a server that comes back, and for one whose machine starts."""
POLL_S = 0.2


def once_it_is_back(
    do: Callable[[], None],
    refusals: tuple[type[Exception], ...],
    comes_back: Callable[[], bool] = lambda: True,
    limit_s: float = LIMIT_S,
) -> None:
    """Call `do`; as long as it raises one of these refusals and the server comes back, again.

    Raises the last refusal.
    """
    until = time.monotonic() + limit_s
    while True:
        try:
            return do()
        except refusals:
            if time.monotonic() > until or not comes_back():
                raise
        time.sleep(POLL_S)


# The plan's shell command that restores the database of an external server.

STORAGE = "KNEEBENCH_STORAGE"
"""The variable that names the plan's storage to the command."""
MOST_CHARACTERS = 400
"""Of a failed command's output: its end."""


def run_shell_command(
    key: str, command: str, variables: Mapping[str, str], password_variable: str, storage: str
) -> None:
    """Run the command to its end. It receives our environment, the server's address in `variables`
    and the storage's name, but not the password.

    Raises KneebenchError with the end of its output, without the secrets in it, where it fails.
    """
    ours = {name: value for name, value in os.environ.items() if name != password_variable}
    done = subprocess.run(
        ["sh", "-c", command],
        env={**ours, **variables, STORAGE: storage},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode != 0:
        words = redacted_output(command, done.stderr or done.stdout).strip()[-MOST_CHARACTERS:]
        raise KneebenchError(
            key,
            seen=f"exit code {done.returncode}: {words}",
            do="run the command by hand and correct it",
        )
