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
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from kneebench.databases.engines.postgres.address import connect, explained, parameters, runs_there
from kneebench.databases.engines.postgres.loading import load
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.databases.external.engine import KILLED_S, in_use, not_locked, once_it_is_back
from kneebench.databases.external.image import Client, ServerImage
from kneebench.errors import PlanError, Refused
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


def once_it_answers(address: PostgresAddress, do: Callable[[], None]) -> None:
    """Call `do`; on a server that accepts no sessions yet, as soon as it does."""
    once_it_is_back(do, (psycopg.OperationalError, PlanError), lambda: runs_there(address))


def psql_command(address: PostgresAddress, statements: str) -> str:
    """A psql command that runs these statements, without the password."""
    without = make_conninfo("", **parameters(address.model_copy(update={"password": None})))
    return f"psql {shlex.quote(without)} -c {shlex.quote(statements)}"


def _is_lost(error: BaseException) -> bool:
    lost = isinstance(error, psycopg.OperationalError) and (error.sqlstate or ENDED)
    return str(lost).startswith(ENDED)


CLIENT = Client(explained, psql_command, once_it_answers, _is_lost, (psycopg.Error,))


class Template(ServerImage[PostgresAddress, Connection]):
    """The image on one server."""

    client = CLIENT
    drop_by_hand = "DROP DATABASE IF EXISTS {} WITH (FORCE)"

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
        with self.alone() as connection:
            comment = _comment(connection, self.image)
            if comment and comment.startswith(f"{OURS}image "):
                return {**json.loads(comment.removeprefix(f"{OURS}image ")), "reused": "yes"}
            _drop(connection, self.image)
            _create(connection, self.address, self.image, "a base image being built")
            began = time.monotonic()
            loaded = load(self.of(self.image), workload, seed, watch)
            seconds = time.monotonic() - began
            size = (
                connection.execute("SELECT pg_database_size(%s)", [self.image]).fetchone() or (0,)
            )[0]
            facts = {**self.known(workload, size, seconds), **loaded}
            _mark(connection, self.image, f"image {json.dumps(facts)}")
        return {**facts, "reused": "no"}

    def copy(self, session: Connection, watch: Watch) -> None:
        _create(session, self.address, self.work_database, "a restored database", self.image)

    def drop(self, session: Connection, database: str) -> None:
        _drop(session, database)

    @contextlib.contextmanager
    def alone(self) -> Iterator[Connection]:
        """A session beside the workload's that holds the image's lock; raises Refused if another
        run holds it.

        A lock belongs to one database, and another run's URL may name another database. So all
        holders are counted in pg_locks.
        """
        key = int(self.digest, 16)
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
