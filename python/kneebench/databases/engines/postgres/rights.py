"""What a role may do on a running server, and what it lacks for a campaign."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg

from kneebench.databases.engines.postgres.sql_schema import logs_errors, may_quiet
from kneebench.records import Finding

Connection = psycopg.Connection[tuple[Any, ...]]
LOGGED = (
    "each New-Order that rolls back by design (1 in 100) writes an error of about 0.5 kB to the"
    " server's log"
)
RIGHTS = """
SELECT rolsuper OR rolcreatedb,
    rolsuper OR pg_has_role(current_user, 'pg_monitor', 'usage'),
    current_setting('track_wal_io_timing') = 'on',
    has_database_privilege(current_database(), 'CREATE')
FROM pg_roles WHERE rolname = current_user"""


def rights(connection: Connection, subject: str, how: str) -> Iterator[Finding]:
    """Findings on what the role lacks for databases restored in this way."""
    known, user = connection.execute(RIGHTS).fetchone(), connection.info.user
    may_create, may_monitor, timed, may_add = known or (False, False, False, False)
    if how == "template" and not may_create:
        seen = "the role has no right to create databases"
        do = 'grant CREATEDB, or set restore = "command" or "none"'
        yield Finding(level="error", subject=subject, seen=seen, do=do)
    if how != "template" and not may_add:
        seen = "the role has no right to create schemas in the database"
        do = f"GRANT CREATE ON DATABASE {connection.info.dbname} TO {user}"
        yield Finding(level="error", subject=subject, seen=seen, do=do)
    if logs_errors(connection) and not may_quiet(connection):
        grant = f"GRANT SET ON PARAMETER log_min_messages TO {user}"
        newer = connection.info.server_version >= 150000
        do = grant if newer else "to suppress them, use a superuser in the URL"
        yield Finding(level="note", subject=subject, seen=LOGGED, do=do)
    if not may_monitor:
        seen = "the role has no right to see other sessions"
        yield Finding(level="warning", subject=subject, seen=seen, do="grant pg_monitor")
    if not timed:
        seen = "track_wal_io_timing is off: log write latency will not be measured"
        do = "set track_wal_io_timing = on"
        yield Finding(level="warning", subject=subject, seen=seen, do=do)
