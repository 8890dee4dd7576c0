"""The base image as a database on a running server, and the work database copied from it table by
table.

Each database of ours has a table kneebench_image with our mark; no other database is dropped,
whatever its name. In a copy the tables are as their originals are, without the mark, and
kneebench_image says of what they are a copy. Two runs on the same image would drop each other's
work databases, so each holds a named lock (GET_LOCK) while it builds or measures.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence

import pymysql

from kneebench.databases.engine import finding_of
from kneebench.databases.external.engine import KILLED_S, in_use, not_locked
from kneebench.databases.external.image import REMOVAL_LIMIT_S, ServerImage, not_ours
from kneebench.databases.innodb.blocked import end_session
from kneebench.databases.innodb.query_schema import schema_of
from kneebench.databases.innodb.server_address import InnodbAddress
from kneebench.databases.innodb.session import InnodbSession, connect, explained
from kneebench.databases.innodb.sql_schema import (
    FACTS,
    InnodbSchema,
    is_whole,
    quoted,
    size_bytes,
)
from kneebench.databases.loading import STREAMS, side_by_side
from kneebench.databases.tproc_c.tables import LARGEST_FIRST
from kneebench.databases.tproc_h.tables import TABLES
from kneebench.errors import PlanError, Refused
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


class Copies(ServerImage[InnodbAddress, InnodbSession]):
    """The image on one server. The address names no database."""

    schema_of = staticmethod(schema_of)

    def findings(self, session: InnodbSession, subject: str) -> Iterator[Finding]:
        """Databases with these names that a run would have to drop and may not."""
        for name in self.databases:
            if not _exists(session, name) or (name == self.image and is_whole(session, name)):
                continue
            try:
                with connect(self.of(name)) as inside:
                    _require_ours(inside)
            except Refused as error:
                yield finding_of(error, subject)

    def facts(self, session: InnodbSession) -> dict[str, str]:
        if not _exists(session, self.image):
            return {}
        with connect(self.of(self.image)) as inside:
            found = InnodbSchema(inside).facts()
        whole = found.pop("state", "") == "whole" and "build_s" in found
        return found if whole else {}

    def create(self, session: InnodbSession) -> None:
        self._create(session, self.image)

    def finish(self, session: InnodbSession, facts: Mapping[str, str]) -> None:
        with connect(self.of(self.image)) as inside:
            InnodbSchema(inside).note({**facts, "state": "whole"})

    def size_bytes(self, session: InnodbSession) -> int:
        return size_bytes(session, self.image)

    def copy(self, session: InnodbSession, watch: Watch) -> None:
        if self.source:
            _require_unused(session, self.source)
        self._create(session, self.work_database, {**self.facts(session), COPY_OF: self.image})
        self._copy_tables(session, watch)

    def drop(self, session: InnodbSession, database: str) -> None:
        """Drop a database of ours, if it exists; raises Refused for one without our mark. One that
        is empty was made just before a run was killed.
        """
        if not _exists(session, database):
            return
        session.run(f"USE {quoted(database)}")
        _require_ours(session)
        session.run(f"SET SESSION lock_wait_timeout = {round(REMOVAL_LIMIT_S)}")
        session.run(f"DROP DATABASE {quoted(database)}")

    def _create(
        self, session: InnodbSession, name: str, known: dict[str, str] | None = None
    ) -> None:
        """An empty database with our mark, and what is known of it."""
        with explained(f"cannot create the database {name}", self.address):
            session.run(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
            with connect(self.of(name)) as inside:
                InnodbSchema(inside).note({"state": "loading", **(known or {})})

    def _copy_tables(self, session: InnodbSession, watch: Watch) -> None:
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
                *(
                    streams,
                    [self._copying(table) for table in self.schema.loaded],
                    InnodbSession.run,
                ),
                cancel=lambda stream: end_session(session, stream.id),
            )
            self.schema(streams[0]).finish_copy(address, watch)

    def _copying(self, table: str) -> Sequence[str]:
        """Invisible columns get new values: HammerDB's history may number its rows by one."""
        original = f"{quoted(self.image)}.{table}"
        return (
            f"CREATE TABLE {table} LIKE {original}",
            f"INSERT INTO {table} SELECT * FROM {original}",  # noqa: S608
        )

    @contextlib.contextmanager
    def alone(self) -> Iterator[InnodbSession]:
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


def _exists(session: InnodbSession, database: str) -> bool:
    query = "SELECT count(*) FROM information_schema.schemata WHERE schema_name = %s"
    return bool(session.value(query, database))


def _require_unused(session: InnodbSession, database: str) -> None:
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


def _require_ours(session: InnodbSession) -> None:
    """Raise Refused where the session's database is without our mark."""
    schema = InnodbSchema(session)
    there = schema.tables()
    copied = (*LARGEST_FIRST, *TABLES) if COPY_OF in schema.facts() else ()
    foreign = [name for name, ours in there.items() if not (ours or name in copied)]
    if foreign or (there and FACTS not in there):
        seen = "it carries no kneebench mark, or has tables that kneebench did not create"
        raise not_ours(schema.database, seen)
