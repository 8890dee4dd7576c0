"""What a user may do on a running server, and what stands in the way of measuring it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kneebench.databases.external.image import WORK, refused_users
from kneebench.databases.innodb.session import InnodbSession
from kneebench.databases.innodb.waits import reads_unseen
from kneebench.plan.database_plan import DatabasePlan
from kneebench.records import Finding

OURS = 8
"""Sessions beside the users': two for readings, one for conditions, one that holds the base image's
lock, and those that load."""
KEYS_REQUIRED = ("sql_require_primary_key", "innodb_force_primary_key")
"""What MySQL and MariaDB call it."""
INVISIBLE_KEY = "sql_generate_invisible_primary_key"
UNLOGGED = """
SHOW GLOBAL STATUS WHERE variable_name = 'Innodb_redo_log_enabled' AND value = 'OFF'"""
READ_ONLY = ("read_only", "super_read_only", "innodb_read_only")
DATABASES = r"kneebench\_%"
REPLICAS = "SELECT count(*) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'"


def rights(
    session: InnodbSession,
    subject: str,
    databases: Sequence[str],
    needed: Sequence[str],
    *,
    literally: bool,
) -> Iterator[Finding]:
    """Whether the user has these rights on these databases. `literally`: grants have no patterns
    (partial_revokes of MySQL).
    """
    lines = [str(line) for (line,) in session.rows("SHOW GRANTS")]
    grants = Grants(lines, literally)
    made = any(one.startswith(WORK) for one in databases)
    common = [DATABASES] if made and not literally else databases
    lacking = {one for name in databases for one in {*needed} - grants.on(name)}
    if missing := [one for one in needed if one in lacking]:
        yield Finding(
            level="error",
            subject=subject,
            seen=f"the user lacks rights on {_listed(common)}: {', '.join(missing)}",
            do="; ".join(
                f"GRANT ALL PRIVILEGES ON `{one}`.* TO {session.account}" for one in common
            ),
        )
    if "PROCESS" not in grants.on(""):
        yield Finding(
            level="error",
            subject=subject,
            seen="the user may not see other sessions, nor who waits for a lock",
            do=f"GRANT PROCESS ON *.* TO {session.account}",
        )


def _listed(databases: Sequence[str]) -> str:
    return " and ".join(f"`{one}`" for one in databases)


def obstacles(
    session: InnodbSession,
    settings: Mapping[str, str],
    subject: str,
    *,
    loads: bool,
    keyless: bool,
) -> Iterator[Finding]:
    """A server that cannot be loaded, or where others would have to bear it. `loads`: whether rows
    are loaded, or are there already. `keyless`: whether a table without a primary key is made.
    """

    yield from (
        Finding(level="error", subject=subject, seen=seen, do=do)
        for seen, do in _errors(session, settings, loads=loads, keyless=keyless)
    )
    if keyless and settings.get(INVISIBLE_KEY) == "ON":
        seen = f"{INVISIBLE_KEY} is on: the table history gets a primary key, which TPC-C has not"
        do = f"SET GLOBAL {INVISIBLE_KEY} = OFF"
        yield Finding(level="warning", subject=subject, seen=seen, do=do)
    if unseen := reads_unseen(session):
        yield Finding(level="warning", subject=subject, seen=unseen.seen, do=unseen.do)


def _errors(
    session: InnodbSession, settings: Mapping[str, str], *, loads: bool, keyless: bool
) -> Iterator[tuple[str, str]]:
    """What is seen and what to do."""
    if loads and settings.get("local_infile") != "ON":
        seen = "local_infile is off: rows are loaded by LOAD DATA LOCAL INFILE"
        yield seen, "SET GLOBAL local_infile = ON"
    keyed = [name for name in KEYS_REQUIRED if settings.get(name) == "ON"]
    if keyless and keyed:
        seen = f"{keyed[0]} is on, and the table history has no primary key (TPC-C 1.3)"
        yield seen, f"SET GLOBAL {keyed[0]} = OFF"
    if settings.get("log_bin") == "ON" and settings.get("binlog_format") == "STATEMENT":
        seen = "binlog_format is STATEMENT: the server refuses to write in READ COMMITTED"
        yield seen, "SET GLOBAL binlog_format = 'ROW'"
    if session.rows(UNLOGGED):
        seen = "the redo log is disabled: a crash loses the data, and commits write no log"
        yield seen, "ALTER INSTANCE ENABLE INNODB REDO_LOG"
    yield from _in_use(session, settings)


def _in_use(session: InnodbSession, settings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """A server that others use or write for."""
    read_only = [name for name in READ_ONLY if settings.get(name, "OFF") not in ("OFF", "0", "NO")]
    if read_only:
        seen = f"the server is read-only ({read_only[0]} is on): nothing can be loaded"
        yield seen, f"use the primary in the URL, or SET GLOBAL {read_only[0]} = OFF"
    if session.value(REPLICAS):
        seen = "a replica is attached: it would repeat all that is loaded and run here"
        yield seen, "use a server without replicas, or stop them while kneebench runs"
    if settings.get("wsrep_on") == "ON" or settings.get("group_replication_group_name"):
        seen = (
            "the server belongs to a cluster, whose nodes would repeat all that is loaded and run"
        )
        yield seen, "use a server without Galera and group replication"
    if "aurora_version" in settings:
        seen = "the server is Amazon Aurora, whose log and pages are written elsewhere"
        yield seen, "use a MySQL or MariaDB server with storage of its own"


def too_few_connections(
    session: InnodbSession, settings: Mapping[str, str], subject: str, plan: DatabasePlan
) -> Iterator[Finding]:
    """Where the limits allow fewer than the plan's (external/image.py)."""
    most, of_user = int(settings["max_connections"]), int(settings["max_user_connections"])
    own = int(session.value("SELECT @@SESSION.max_user_connections") or 0)
    used = int(session.row("SHOW GLOBAL STATUS LIKE 'Threads_connected'")[1]) - 1
    limits, words = {"max_connections": most - used}, f"max_connections is {most}, {used} in use"
    if own or of_user:
        limits["max_user_connections"] = min(limit for limit in (of_user, own) if limit)
        words += f", the user may open {own or of_user}"
    users = {name: max(allowed - OURS, 0) for name, allowed in limits.items()}
    return refused_users(plan, subject, users, words, OURS)


# The rights of a user, by the lines of SHOW GRANTS.

ON_TABLES = ("SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "INDEX")
NEEDED = (*ON_TABLES, "CREATE ROUTINE", "ALTER ROUTINE", "EXECUTE")


class Grants(NamedTuple):
    """The lines of SHOW GRANTS; `literally`: with the names of databases, not patterns.

    >>> lines = [r"GRANT PROCESS ON *.* TO `me`@`%`", r"GRANT SELECT ON `kneebench\\_%`.* TO `me`"]
    >>> sorted(Grants(lines).on("kneebench_work_1")), Grants(lines).on("")
    (['PROCESS', 'SELECT'], {'PROCESS'})
    >>> Grants(lines, literally=True).on("kneebench_work_1")
    {'PROCESS'}
    >>> Grants(["GRANT SELECT ON *.* TO `me`", "REVOKE SELECT ON `shop`.* FROM `me`"]).on("shop")
    set()
    """

    lines: Sequence[str]
    literally: bool = False

    def on(self, database: str) -> set[str]:
        """The rights on a database; with an empty name, on the whole server."""
        return self._in("GRANT", database) - self._in("REVOKE", database)

    def _in(self, verb: str, database: str) -> set[str]:
        found: set[str] = set()
        for line in self.lines:
            match = re.match(rf"{verb} (.+?) ON (\*|`.+?`|\S+?)\.\* (?:TO|FROM) ", line)
            if match and self._covers(match[2], database):
                given = {one.strip() for one in match[1].split(",")}
                found |= {*NEEDED, "PROCESS"} if given & {"ALL PRIVILEGES", "ALL"} else given
        return found

    def _covers(self, place: str, database: str) -> bool:
        if place == "*" or not database:
            return place == "*"
        named = place.strip("`")
        return named.replace("\\", "") == database if self.literally else _covers(named, database)


def _covers(pattern: str, database: str) -> bool:
    """Whether a pattern of a grant, as LIKE takes it, covers a database.

    >>> _covers(r"kneebench\\_%", "kneebench_work_1"), _covers(r"shop", "kneebench_work_1")
    (True, False)
    """
    parts = re.findall(r"\\?.", pattern)
    wanted = {"%": ".*", "_": "."}
    return bool(
        re.fullmatch("".join(wanted.get(one, re.escape(one[-1])) for one in parts), database)
    )
