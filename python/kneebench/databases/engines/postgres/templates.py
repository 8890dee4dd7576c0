"""The base image as a database on a running server, and the work database made from it: CREATE
DATABASE ... TEMPLATE.

A comment marks each database of ours; no other database is dropped, whatever its name. Two runs on
the same image would drop each other's work databases, so each holds an advisory lock while it
builds or measures.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from kneebench.databases.engines.postgres.address import connect, explained, parameters, runs_there
from kneebench.databases.engines.postgres.loading import load
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.databases.external.engine import KILLED_S, in_use, not_locked, once_it_is_back
from kneebench.databases.tproc_c.loading import Recipe
from kneebench.errors import PlanError, Refused
from kneebench.lab import server_cleanup
from kneebench.lab.changes.database import MadeOnServer
from kneebench.lab.journal import Journal
from kneebench.lab.programs import wait_until
from kneebench.plan.workload import Workload
from kneebench.records import Finding, Watch

Connection = psycopg.Connection[tuple[Any, ...]]
OURS = "made by kneebench: "
ENDED = "57P"
"""Prefix of the SQLSTATE of a session that the server ended (admin_shutdown, crash_shutdown,
...)."""
THERE = """
SELECT datname, rolname, coalesce(shobj_description(d.oid, 'pg_database'), ''),
    pg_has_role(datdba, 'usage'), pg_database_size(d.oid)
FROM pg_database d JOIN pg_roles r ON r.oid = datdba WHERE datname = ANY(%s)"""
UNMARKED = "it carries no kneebench mark"
UNLOCK = "SELECT pg_advisory_unlock(%s)"
HOLDERS = (
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND"
    " (classid::int8 << 32) + objid::int8 = %s"
)


class Template(NamedTuple):
    """The image on one server.

    `source` is the database to copy if it is not ours (HammerDB's); empty for our own.
    """

    address: PostgresAddress
    source: str
    recipe: Recipe
    journal: Journal

    @property
    def image(self) -> str:
        return self.source or f"kneebench_image_{self._digest}"

    @property
    def work_database(self) -> str:
        """The name of its copy."""
        return f"kneebench_work_{self._digest}"

    @property
    def _digest(self) -> str:
        return self.recipe.key.rpartition("-")[2]

    def findings(self, connection: Connection, subject: str) -> Iterator[Finding]:
        """Databases with these names that are not ours, or that another role owns."""
        names = [self.work_database, *([] if self.source else [self.image])]
        for name, owner, comment, may, _ in connection.execute(THERE, [names]).fetchall():
            if not comment.startswith(OURS):
                seen, do = f"the database {name}: {UNMARKED}", "rename it or drop it yourself"
                yield Finding(level="refused", subject=subject, seen=seen, do=do)
            elif not may:
                user = connection.info.user
                yield Finding(
                    level="error",
                    subject=subject,
                    seen=f"{name} belongs to the role {owner}: only its owner may copy or drop it",
                    do=f"GRANT {owner} TO {user}, or, as {owner}, DROP DATABASE {name}",
                )

    def image_bytes(self, connection: Connection) -> int:
        """The size of the image that is there and whole; 0 of any other."""
        for _, _, comment, _, size in connection.execute(THERE, [[self.image]]).fetchall():
            return int(size) if self.source or comment.startswith(f"{OURS}image ") else 0
        return 0

    def prepare(self, workload: Workload, seed: int, watch: Watch) -> dict[str, str]:
        """Load the image database, unless it is complete; returns its facts."""
        with self._alone() as connection:
            comment = _comment(connection, self.image)
            if comment and comment.startswith(f"{OURS}image "):
                return {**json.loads(comment.removeprefix(f"{OURS}image ")), "reused": "yes"}
            _drop(connection, self.image)
            _create(connection, self.address, self.image, "a base image being built")
            began = time.monotonic()
            address = self.address.model_copy(update={"database": self.image})
            loaded = load(address, workload, seed, watch)
            seconds = time.monotonic() - began
            size = (
                connection.execute("SELECT pg_database_size(%s)", [self.image]).fetchone() or (0,)
            )[0]
            known = {
                "key": self.recipe.key,
                "server": self.recipe.version,
                "warehouses": str(workload.warehouses),
                "bytes": str(size),
            }
            facts = {
                **known,
                "build_s": f"{seconds:.1f}",
                "warehouses_per_min": f"{60 * workload.warehouses / seconds:.1f}",
                **loaded,
            }
            _mark(connection, self.image, f"image {json.dumps(facts)}")
        return {**facts, "reused": "no"}

    def remove(self) -> str:
        """Drop the image database; its name. Raises Refused for one that is not ours."""
        with self._alone() as connection, explained(f"cannot drop {self.image}", self.address):
            _drop(connection, self.image)
        return self.image

    @contextlib.contextmanager
    def work(self, watch: Watch) -> Iterator[PostgresAddress]:
        """A fresh copy of the image, as its address; dropped at the end.

        If that fails, the failure is reported with the command that removes the copy.
        """
        name = self.work_database
        with self._alone() as connection:
            with explained(f"cannot drop the database {name} of an earlier run", self.address):
                _drop(connection, name)
            command = psql_command(self.address, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
            noted = self.journal.on_a_server(
                f"the database {name}", f"{self.address.host}:{self.address.port}", command
            )
            try:
                with explained(f"cannot copy the database {self.image}", self.address):
                    _create(connection, self.address, name, "a restored database", self.image)
                yield self.address.model_copy(update={"database": name})
            finally:
                undo_or_report(lambda: self._remove(connection, name), noted, self.journal, watch)

    def _remove(self, connection: Connection, name: str) -> None:
        """Drop it; if the server ended our session, as soon as it accepts sessions again."""
        try:
            _drop(connection, name)
        except psycopg.OperationalError as error:
            if not (error.sqlstate or ENDED).startswith(ENDED):
                raise
            once_it_answers(self.address, lambda: self._drop_anew(name))

    def _drop_anew(self, name: str) -> None:
        with self._alone() as connection:
            _drop(connection, name)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[Connection]:
        """A session beside the workload's that holds the image's lock; raises Refused if another
        run holds it.

        A lock belongs to one database, and another run's URL may name another database. So all
        holders are counted in pg_locks.
        """
        key = int(self._digest, 16)
        with connect(self.address) as connection:
            with explained(not_locked(self.image), self.address):
                alone = wait_until(lambda: _holds_alone(connection, key), KILLED_S)
            if not alone:
                raise in_use(self.image)
            try:
                yield connection
            finally:  # at once: closing the session releases the lock a moment later
                with contextlib.suppress(psycopg.Error):
                    connection.execute(UNLOCK, [key])


def _holds_alone(connection: Connection, key: int) -> bool:
    """One attempt to get the lock with this key, which no session in any database may hold."""
    mine = connection.execute("SELECT pg_try_advisory_lock(%s)", [key]).fetchone()
    holders = connection.execute(HOLDERS, [key]).fetchone()
    if mine == (True,) and holders != (1,):
        connection.execute(UNLOCK, [key])
    return (mine, holders) == ((True,), (1,))


def _comment(connection: Connection, database: str) -> str | None:
    """The database's comment: None if there is no such database, "" if it has none."""
    row = connection.execute(
        "SELECT coalesce(shobj_description(oid, 'pg_database'), '') FROM pg_database WHERE datname"
        " = %s",
        [database],
    ).fetchone()
    return row[0] if row else None


def _mark(connection: Connection, database: str, what: str) -> None:
    connection.execute(
        sql.SQL("COMMENT ON DATABASE {} IS {}").format(
            sql.Identifier(database), sql.Literal(OURS + what)
        )
    )


def _create(
    connection: Connection,
    address: PostgresAddress,
    database: str,
    what: str,
    template: str = "template0",
) -> None:
    strategy = (
        " STRATEGY file_copy"
        if template != "template0" and connection.info.server_version >= 150000
        else ""
    )
    with explained(f"cannot create the database {database}", address):
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}" + strategy).format(
                sql.Identifier(database), sql.Identifier(template)
            )
        )
    _mark(connection, database, what)


def _drop(connection: Connection, database: str) -> None:
    """Drop a database of ours, if it exists; raises Refused for one without our comment."""
    comment = _comment(connection, database)
    if comment is None:
        return
    if not comment.startswith(OURS):
        raise Refused(
            f"cannot drop the database {database}",
            seen=UNMARKED,
            do="rename it or drop it yourself",
        )
    name = sql.Identifier(database)
    try:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
    except psycopg.errors.InsufficientPrivilege:
        # Autovacuum works there, whom only a superuser may end by FORCE; a plain DROP ends it.
        connection.execute(sql.SQL("DROP DATABASE {}").format(name))


# Cleanup on an external server: retried until the server has recovered; a failure is reported with
# the command that fixes it.


def undo_or_report(
    undo: Callable[[], None], noted: MadeOnServer, journal: Journal, watch: Watch
) -> None:
    """Undo a journal entry and forget it, or report why it could not be undone."""
    server_cleanup.undo_or_report(undo, noted, journal, watch, psycopg.Error)


def once_it_answers(address: PostgresAddress, do: Callable[[], None]) -> None:
    """Call `do`; on a server that accepts no sessions yet, as soon as it does."""
    once_it_is_back(do, (psycopg.OperationalError, PlanError), lambda: runs_there(address))


def psql_command(address: PostgresAddress, statements: str) -> str:
    """A psql command that runs these statements, without the password."""
    without = make_conninfo("", **parameters(address.model_copy(update={"password": None})))
    return f"psql {shlex.quote(without)} -c {shlex.quote(statements)}"
