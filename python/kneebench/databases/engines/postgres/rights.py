"""What a role may do on a running server, what it lacks for a campaign, and what else is in the
way: a server that cannot be written, standbys, too few connections.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import psycopg
from psycopg import sql

from kneebench.databases.engines.postgres.sql_schema import logs_errors, may_quiet
from kneebench.databases.external.image import refused_users
from kneebench.plan.database_plan import DatabasePlan
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


def rights(
    connection: Connection, subject: str, how: str, *, adds: bool = True, quiet: bool = False
) -> Iterator[Finding]:
    """Findings on what the role lacks for databases restored in this way. `adds`: whether what is
    ours is put into the URL's database. `quiet`: users cause no errors by design.
    """
    known, user = connection.execute(RIGHTS).fetchone(), connection.info.user
    may_create, may_monitor, timed, may_add = known or (False, False, False, False)
    if how == "template" and not may_create:
        seen = "the role has no right to create databases"
        do = 'grant CREATEDB, or set restore = "command" or "none"'
        yield Finding(level="error", subject=subject, seen=seen, do=do)
    if how != "template" and adds and not may_add:
        seen = "the role has no right to create schemas in the database"
        do = f"GRANT CREATE ON DATABASE {connection.info.dbname} TO {user}"
        yield Finding(level="error", subject=subject, seen=seen, do=do)
    if not quiet and logs_errors(connection) and not may_quiet(connection):
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


# --- a server that cannot be written, or has standbys ---------------------------------------------

READ_ONLY = """
SELECT pg_is_in_recovery(), setting = 'on', source FROM pg_settings
WHERE name = 'default_transaction_read_only'"""
WRITABLE = {
    "user": "ALTER ROLE {role} RESET default_transaction_read_only",
    "database": (
        "in another database, ALTER DATABASE {database} RESET default_transaction_read_only"
    ),
    "database user": (
        "ALTER ROLE {role} IN DATABASE {database} RESET default_transaction_read_only"
    ),
}
"""What makes it writable again, by where the setting comes from."""
EVERYWHERE = "ALTER SYSTEM SET default_transaction_read_only = off; SELECT pg_reload_conf()"
STANDBYS = """
SELECT coalesce(application_name, 'a standby'), sync_state FROM pg_stat_replication ORDER BY 1"""
AWAITED = """
SELECT current_setting('synchronous_standby_names') <> ''
    AND current_setting('synchronous_commit') NOT IN ('off', 'local')"""
"""Whether commits wait for a standby."""
WAITED_FOR = ("sync", "quorum")


def obstacles(connection: Connection, subject: str) -> Iterator[Finding]:
    """A standby, a role or database that only reads, standbys of this server."""
    in_recovery, reads_only, source = connection.execute(READ_ONLY).fetchone() or (False,) * 3
    if in_recovery:
        seen = "the server is a standby in recovery: nothing can be written there"
        yield Finding(level="error", subject=subject, seen=seen, do="use the primary in the URL")
    elif reads_only:
        names = {
            name: sql.Identifier(value).as_string(connection)
            for name, value in (
                ("role", connection.info.user),
                ("database", connection.info.dbname),
            )
        }
        of = source if source in WRITABLE else "server"
        whose = {"user": "role", "database user": "role in this database"}.get(of, of)
        seen = f"transactions are read-only (default_transaction_read_only is on for the {whose})"
        do = WRITABLE.get(source, EVERYWHERE).format(**names)
        yield Finding(level="error", subject=subject, seen=seen, do=do)
    yield from (
        Finding(
            level="note",
            subject=subject,
            seen=seen,
            do="use a server without standbys to measure its storage alone",
        )
        for seen in standbys(connection)
    )
    if _commits_hang(connection):
        seen = (
            "commits wait for a synchronous standby (synchronous_standby_names): none is attached"
        )
        do = "attach it, or ALTER SYSTEM RESET synchronous_standby_names; SELECT pg_reload_conf()"
        yield Finding(level="error", subject=subject, seen=seen, do=do)


def standbys(connection: Connection) -> list[str]:
    """A sentence for each attached standby, for readers of the results too."""
    return [
        f"{name} is attached as a synchronous standby: it repeats all that is loaded and run, and"
        " each commit waits for it"
        if state in WAITED_FOR
        else f"{name} is attached as a standby: it repeats all that is loaded and run"
        for name, state in connection.execute(STANDBYS).fetchall()
    ]


def _commits_hang(connection: Connection) -> bool:
    """A role without pg_monitor sees which standbys there are, and not their state."""
    if connection.execute(AWAITED).fetchone() != (True,):
        return False
    states = [state for _, state in connection.execute(STANDBYS).fetchall()]
    return not any(state is None or state in WAITED_FOR for state in states)


# --- connections ----------------------------------------------------------------------------------

OURS = 5
"""Sessions beside the users': two for queries, one that samples waits, one that holds the base
image, one for counts while idle."""
BESIDE = 3
"""Sessions in the URL's database where users are in a copy: the one that holds the base image, and
those that ask for the version and the place."""
ALLOWED = """
SELECT current_setting('max_connections')::int,
    CASE WHEN rolsuper THEN 0
        ELSE current_setting('superuser_reserved_connections')::int
            + coalesce(current_setting('reserved_connections', true)::int, 0) END,
    (SELECT sum(numbackends)::int - 1 FROM pg_stat_database),
    CASE WHEN rolsuper THEN -1 ELSE rolconnlimit END,
    (SELECT count(*)::int FROM pg_stat_activity
     WHERE usename = current_user AND pid <> pg_backend_pid() AND datname IS NOT NULL),
    CASE WHEN rolsuper THEN -1 ELSE datconnlimit END,
    (SELECT numbackends - 1 FROM pg_stat_database WHERE datname = current_database())
FROM pg_roles, pg_database WHERE rolname = current_user AND datname = current_database()"""
"""-1 is no limit; this session is not counted as in use."""


class Connections(NamedTuple):
    """How many connections there may be, of all, of this role and in this database, and how many
    of each are in use. Superusers have no limits of their own.
    """

    most: int
    reserved: int
    used: int
    of_role: int
    used_by_role: int
    of_database: int
    used_in_database: int

    def users(self, *, in_copies: bool) -> dict[str, int]:
        """How many users each limit allows. `in_copies`: they are in a database without a limit,
        and only sessions of ours in this one.
        """
        found = {"max_connections": self.most - self.reserved - self.used - OURS}
        if self.of_role >= 0:
            limit = "the CONNECTION LIMIT of the role"
            found[limit] = self.of_role - self.used_by_role - OURS
        free = self.of_database - self.used_in_database
        if self.of_database >= 0 and (not in_copies or free < BESIDE):
            found["the CONNECTION LIMIT of the database"] = 0 if in_copies else free - OURS
        return {name: max(users, 0) for name, users in found.items()}

    @property
    def words(self) -> str:
        """All of them."""
        all_ = (
            f"max_connections is {self.most}, {self.reserved} of them reserved, {self.used} in use"
        )
        limited = (
            ("role", self.of_role, self.used_by_role),
            ("database", self.of_database, self.used_in_database),
        )
        each = (
            f", the {name} allows {limit}" + (f" ({used} in use)" if used else "")
            for name, limit, used in limited
            if limit >= 0
        )
        return all_ + "".join(each)


def too_few_connections(
    connection: Connection, subject: str, plan: DatabasePlan
) -> Iterator[Finding]:
    """Where the limits allow fewer than the plan's (external/image.py)."""
    there = Connections(*(connection.execute(ALLOWED).fetchone() or (0,) * 7))
    limits = there.users(in_copies=plan.restore == "template")
    return refused_users(plan, subject, limits, there.words, OURS)
