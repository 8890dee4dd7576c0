"""What a user may do on a running server, and what stands in the way of measuring it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from kneebench.databases.mariadb.instruments import reads_unseen
from kneebench.databases.mariadb.session import Session
from kneebench.plan import Plan
from kneebench.records import Finding

OURS = 8
"""Sessions beside the users': two for readings, one for conditions, one that holds the base image's
lock, and those that load."""
NEEDED = (
    *("SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "INDEX"),
    *("CREATE ROUTINE", "ALTER ROUTINE", "EXECUTE"),
)
KEYS_REQUIRED = ("sql_require_primary_key", "innodb_force_primary_key")
"""What MySQL and MariaDB call it."""
DATABASES = r"kneebench\_%"
REPLICAS = "SELECT count(*) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'"


def rights(session: Session, subject: str, database: str) -> Iterator[Finding]:
    """Whether the user may make and use databases of ours, or use the one that is named."""
    grants = [str(line) for (line,) in session.rows("SHOW GRANTS")]
    missing = [one for one in NEEDED if one not in granted(grants, database or "kneebench_work_1")]
    if missing:
        there = database or DATABASES
        yield Finding(
            level="error",
            subject=subject,
            seen=f"the user lacks rights on `{there}`: {', '.join(missing)}",
            do=f"GRANT ALL PRIVILEGES ON `{there}`.* TO {session.account}",
        )
    if "PROCESS" not in granted(grants, ""):
        yield Finding(
            level="error",
            subject=subject,
            seen="the user may not see other sessions, nor who waits for a lock",
            do=f"GRANT PROCESS ON *.* TO {session.account}",
        )


def granted(grants: Sequence[str], database: str) -> set[str]:
    """The rights on a database, or on the whole server, by the lines of SHOW GRANTS.

    >>> lines = [r"GRANT PROCESS ON *.* TO `me`@`%`", r"GRANT SELECT ON `kneebench\\_%`.* TO `me`"]
    >>> sorted(granted(lines, "kneebench_work_1")), granted(lines, "")
    (['PROCESS', 'SELECT'], {'PROCESS'})
    """
    found: set[str] = set()
    for line in grants:
        match = re.match(r"GRANT (.+?) ON (\*|`.+?`|\S+?)\.\* TO ", line)
        if match and (match[2] == "*" or (database and _covers(match[2].strip("`"), database))):
            given = {one.strip() for one in match[1].split(",")}
            found |= {*NEEDED, "PROCESS"} if given & {"ALL PRIVILEGES", "ALL"} else given
    return found


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


def obstacles(
    session: Session, settings: Mapping[str, str], subject: str, *, loads: bool, makes: bool
) -> Iterator[Finding]:
    """A server that cannot be loaded, or where others would have to bear it. `loads`: whether rows
    are loaded, or are there already. `makes`: whether tables are made.
    """

    def error(seen: str, do: str) -> Finding:
        return Finding(level="error", subject=subject, seen=seen, do=do)

    if loads and settings.get("local_infile") != "ON":
        seen = "local_infile is off: rows are loaded by LOAD DATA LOCAL INFILE"
        yield error(seen, "SET GLOBAL local_infile = ON")
    keyed = [name for name in KEYS_REQUIRED if settings.get(name) == "ON"]
    if makes and keyed:
        seen = f"{keyed[0]} is on, and the table history has no primary key (TPC-C 1.3)"
        yield error(seen, f"SET GLOBAL {keyed[0]} = OFF")
    if settings.get("log_bin") == "ON" and settings.get("binlog_format") == "STATEMENT":
        seen = "binlog_format is STATEMENT: the server refuses to write in READ COMMITTED"
        yield error(seen, "SET GLOBAL binlog_format = 'ROW'")
    read_only = [
        name
        for name in ("read_only", "super_read_only", "innodb_read_only")
        if settings.get(name, "OFF") not in ("OFF", "0", "NO")
    ]
    if read_only:
        seen = f"the server is read-only ({read_only[0]} is on): nothing can be loaded"
        yield error(seen, f"use the primary in the URL, or SET GLOBAL {read_only[0]} = OFF")
    if session.value(REPLICAS):
        seen = "a replica is attached: it would repeat all that is loaded and run here"
        yield error(seen, "use a server without replicas, or stop them while kneebench runs")
    if settings.get("wsrep_on") == "ON" or settings.get("group_replication_group_name"):
        seen = (
            "the server belongs to a cluster, whose nodes would repeat all that is loaded and run"
        )
        yield error(seen, "use a server without Galera and group replication")
    if unseen := reads_unseen(session):
        yield Finding(level="warning", subject=subject, seen=unseen.seen, do=unseen.do)


def too_few_connections(
    session: Session, settings: Mapping[str, str], subject: str, plan: Plan
) -> Iterator[Finding]:
    """A warning if the last users of a climb would be refused, an error if those of a fixed load
    would.
    """
    most, of_user = int(settings["max_connections"]), int(settings["max_user_connections"])
    own = int(session.value("SELECT @@SESSION.max_user_connections") or 0)
    used = int(session.row("SHOW GLOBAL STATUS LIKE 'Threads_connected'")[1]) - 1
    limits = [most - used, *(limit for limit in (of_user, own) if limit)]
    free, last = max(min(limits) - OURS, 0), plan.ladder.last
    wanted = min(last, plan.workload.connections or last)
    if wanted <= free:
        return
    lowered = "ladder.users" if plan.ladder.fixed else "the upper end of ladder.users"
    limit = f", the user may open {own or of_user}" if own or of_user else ""
    raised = "max_connections" + (" and max_user_connections" if limit else "")
    yield Finding(
        level="error" if plan.ladder.fixed else "warning",
        subject=subject,
        seen=(
            f"max_connections is {most}, {used} in use{limit}: {free} users can connect, the plan"
            f" needs up to {wanted}"
        ),
        do=(
            f"raise {raised} (the climb needs {wanted + OURS} free), or set {lowered} or"
            f" workload.connections to {free}"
        ),
    )
