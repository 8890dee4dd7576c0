"""The base image as a database on a running server, and the work database made from it: CREATE
DATABASE ... TEMPLATE.

A comment marks each database of ours; no other database is dropped, whatever its name. Two runs on
the same image would drop each other's work databases, so each holds an advisory lock while it
builds or measures.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import psycopg
from psycopg import sql

from kneebench.databases.engines.postgres.address import connect, explained
from kneebench.databases.engines.postgres.query_schema import schema_of
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.databases.external.engine import KILLED_S, in_use, not_locked
from kneebench.databases.external.image import ServerImage, not_ours
from kneebench.lab.programs import wait_until
from kneebench.records import Finding, Watch

Connection = psycopg.Connection[tuple[Any, ...]]
OURS = "made by kneebench: "
THERE = """
SELECT datname, rolname, coalesce(shobj_description(d.oid, 'pg_database'), ''),
    pg_has_role(datdba, 'usage')
FROM pg_database d JOIN pg_roles r ON r.oid = datdba WHERE datname = ANY(%s)"""
UNMARKED = "it carries no kneebench mark"
UNLOCK = "SELECT pg_advisory_unlock(%s)"
HOLDERS = (
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND"
    " (classid::int8 << 32) + objid::int8 = %s"
)


class Template(ServerImage[PostgresAddress, Connection]):
    """The image on one server."""

    schema_of = staticmethod(schema_of)
    drop_by_hand = "DROP DATABASE IF EXISTS {} WITH (FORCE)"

    def findings(self, connection: Connection, subject: str) -> Iterator[Finding]:
        """Databases with these names that are not ours, or that another role owns."""
        there = connection.execute(THERE, [[*self.databases]]).fetchall()
        for name, owner, comment, may in there:
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

    def size_bytes(self, session: Connection) -> int:
        query = "SELECT pg_database_size(oid) FROM pg_database WHERE datname = %s"
        return int((session.execute(query, [self.image]).fetchone() or (0,))[0])

    def facts(self, session: Connection) -> dict[str, str]:
        """They are in its comment."""
        comment = _comment(session, self.image) or ""
        facts = comment.removeprefix(f"{OURS}image ")
        return dict(json.loads(facts)) if facts != comment else {}

    def create(self, session: Connection) -> None:
        _create(session, self.address, self.image, "a base image being built")

    def finish(self, session: Connection, facts: Mapping[str, str]) -> None:
        _mark(session, self.image, f"image {json.dumps(facts)}")

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
        raise not_ours(database, UNMARKED)
    name = sql.Identifier(database)
    try:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
    except psycopg.errors.InsufficientPrivilege:
        # Autovacuum works there, whom only a superuser may end by FORCE; a plain DROP ends it.
        connection.execute(sql.SQL("DROP DATABASE {}").format(name))
