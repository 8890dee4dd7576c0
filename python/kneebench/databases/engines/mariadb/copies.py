"""The base image as a database on a running server, and the work database copied from it table by
table.

Each database of ours has a table kneebench_image with our mark; no other database is dropped,
whatever its name. In a copy the nine tables are as their originals are, without the mark, and
kneebench_image says of what they are a copy. Two runs on the same image would drop each other's
work databases, so each holds a named lock (GET_LOCK) while it builds or measures.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence

import pymysql

from kneebench.databases.engine import finding_of
from kneebench.databases.engines.mariadb.address import client_command
from kneebench.databases.engines.mariadb.blocked import end_session
from kneebench.databases.engines.mariadb.loading import finish, load
from kneebench.databases.engines.mariadb.server_address import MariadbAddress
from kneebench.databases.engines.mariadb.session import (
    MariadbSession,
    answers,
    connect,
    explained,
    is_lost,
)
from kneebench.databases.engines.mariadb.sql_schema import (
    FACTS,
    facts,
    is_whole,
    note,
    quoted,
    size_bytes,
    tables_there,
)
from kneebench.databases.external.engine import KILLED_S, LIMIT_S, POLL_S, in_use, not_locked
from kneebench.databases.external.image import Client, ServerImage
from kneebench.databases.tproc_c.loading import LARGEST_FIRST, STREAMS, side_by_side
from kneebench.errors import PlanError, Refused
from kneebench.plan.workload import Workload
from kneebench.records import Event, Finding, Watch

FAST = ("SET SESSION unique_checks = 0", "SET SESSION foreign_key_checks = 0")
"""MariaDB then fills an empty table page by page, without an undo record for each row."""
WITHOUT_LOCKS = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
"""INSERT ... SELECT then reads the original's rows without locking them."""
OTHERS = "SELECT count(*) FROM information_schema.processlist WHERE db = %s"
IDLE_LIMIT_S = 5.0
"""How long sessions that were just closed may take to end."""
COPY_OF = "copy_of"
"""The fact that names the original."""


REMOVAL_LIMIT_S = 60.0
"""How long a removal may wait for a lock, or an answer."""


def once_it_answers(address: MariadbAddress, do: Callable[[], None]) -> None:
    """Call `do`; on a server that accepts no sessions yet, as soon as it does."""
    until = time.monotonic() + LIMIT_S
    while not answers(address) and time.monotonic() < until:
        time.sleep(POLL_S)
    do()


CLIENT = Client(explained, client_command, once_it_answers, is_lost, (pymysql.Error, OSError))


class Copies(ServerImage[MariadbAddress, MariadbSession]):
    """The image on one server. The address names no database."""

    client = CLIENT

    @property
    def databases(self) -> tuple[str, ...]:
        """The names of those that are ours."""
        return (self.work_database,) if self.source else (self.image, self.work_database)

    def findings(self, session: MariadbSession, subject: str) -> Iterator[Finding]:
        """Databases with these names that a run would have to drop and may not."""
        for name in self.databases:
            if not _exists(session, name) or (name == self.image and is_whole(session, name)):
                continue
            try:
                with connect(self.of(name)) as inside:
                    _require_ours(inside, name)
            except Refused as error:
                yield finding_of(error, subject)

    def prepare(self, workload: Workload, seed: int, watch: Watch) -> dict[str, str]:
        """Load the image database, unless it is complete; returns its facts."""
        with self.alone() as session:
            if found := self._whole(session):
                return {**found, "reused": "yes"}
            self.drop(session, self.image)
            self._create(session, self.image)
            began = time.monotonic()
            loaded = load(self.of(self.image), workload, seed, watch)
            seconds = time.monotonic() - began
            known = self.known(workload, size_bytes(session, self.image), seconds)
            with connect(self.of(self.image)) as inside:
                note(inside, {**known, "state": "whole"})
        return {**loaded, **known, "reused": "no"}

    def _whole(self, session: MariadbSession) -> dict[str, str]:
        """The facts of an image that came to its end; empty for none."""
        if not _exists(session, self.image):
            return {}
        with connect(self.of(self.image)) as inside:
            found = facts(inside)
        whole = found.get("state") == "whole" and "build_s" in found
        return {name: value for name, value in found.items() if name != "state"} if whole else {}

    def copy(self, session: MariadbSession, watch: Watch) -> None:
        if self.source:
            _require_unused(session, self.source)
        self._create(session, self.work_database, {COPY_OF: self.image})
        self._copy_tables(session, watch)

    def drop(self, session: MariadbSession, database: str) -> None:
        """Drop a database of ours, if it exists; raises Refused for one without our mark. One that
        is empty was made just before a run was killed.
        """
        if not _exists(session, database):
            return
        session.run(f"USE {quoted(database)}")
        _require_ours(session, database)
        session.run(f"SET SESSION lock_wait_timeout = {round(REMOVAL_LIMIT_S)}")
        session.run(f"DROP DATABASE {quoted(database)}")

    def _create(
        self, session: MariadbSession, name: str, known: dict[str, str] | None = None
    ) -> None:
        """An empty database with our mark, and what is known of it."""
        with explained(f"cannot create the database {name}", self.address):
            session.run(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
            with connect(self.of(name)) as inside:
                note(inside, {"state": "loading", **(known or {})})

    def _copy_tables(self, session: MariadbSession, watch: Watch) -> None:
        """All tables, a few at a time, in the order of their keys: the same pages each time. After
        an error or an interrupt `session` ends what runs.
        """
        watch(Event(kind="progress", doing=f"copying the database {self.image}", share=0.0))
        with contextlib.ExitStack() as stack:
            address = self.of(self.work_database)
            streams = [stack.enter_context(connect(address)) for _ in range(STREAMS)]
            for stream in streams:
                for statement in (*FAST, WITHOUT_LOCKS):
                    stream.run(statement)
            side_by_side(
                *(streams, [self._copying(table) for table in LARGEST_FIRST], MariadbSession.run),
                cancel=lambda stream: end_session(session, stream.id),
            )
            finish(streams[0], watch)

    def _copying(self, table: str) -> Sequence[str]:
        """Invisible columns get new values: HammerDB's history may number its rows by one."""
        original = f"{quoted(self.image)}.{table}"
        return (
            f"CREATE TABLE {table} LIKE {original}",
            f"INSERT INTO {table} SELECT * FROM {original}",  # noqa: S608
        )

    @contextlib.contextmanager
    def alone(self) -> Iterator[MariadbSession]:
        """A session that holds the image's lock; raises Refused if another run holds it."""
        with connect(self.address.model_copy(update={"database": ""})) as session:
            with explained(not_locked(self.image), self.address):
                got = session.value(f"SELECT GET_LOCK(%s, {KILLED_S})", f"kneebench_{self.digest}")
            if got != 1:
                raise in_use(self.image)
            try:
                yield session
            finally:  # at once: closing the session releases the lock a moment later
                with contextlib.suppress(pymysql.Error, OSError):
                    session.run("DO RELEASE_LOCK(%s)", f"kneebench_{self.digest}")


def _exists(session: MariadbSession, database: str) -> bool:
    query = "SELECT count(*) FROM information_schema.schemata WHERE schema_name = %s"
    return bool(session.value(query, database))


def _require_unused(session: MariadbSession, database: str) -> None:
    """Raises PlanError where other sessions use the original: its tables are copied one after
    another, and would not agree with each other.
    """
    until = time.monotonic() + IDLE_LIMIT_S
    while (others := session.value(OTHERS, database)) and time.monotonic() < until:
        time.sleep(0.05)
    if others:
        raise PlanError(
            f"cannot copy the database {database}",
            seen=f"sessions that use it: {others}",
            do="end them (SHOW PROCESSLIST lists them), then run again",
        )


def _require_ours(session: MariadbSession, database: str) -> None:
    """Raise Refused where the session's database, of that name, is without our mark."""
    there = tables_there(session)
    copied = LARGEST_FIRST if COPY_OF in facts(session) else ()
    foreign = [name for name, ours in there.items() if not (ours or name in copied)]
    if foreign or (there and FACTS not in there):
        raise Refused(
            f"cannot drop the database {database}",
            seen="it carries no kneebench mark, or has tables that kneebench did not create",
            do="rename it or drop it yourself",
        )
