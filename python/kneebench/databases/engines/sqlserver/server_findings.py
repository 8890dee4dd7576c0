"""What a SQL Server and the login's rights on it mean for a campaign; changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench import units
from kneebench.databases.engines.sqlserver import database as databases
from kneebench.databases.engines.sqlserver import footprint
from kneebench.databases.engines.sqlserver.allowed_settings import of_instance
from kneebench.databases.engines.sqlserver.blocked import GRANT_KILL
from kneebench.databases.engines.sqlserver.image import STAYS, UNPLACED, Image
from kneebench.databases.engines.sqlserver.readings import GRANT, MAY_SEE
from kneebench.databases.engines.sqlserver.server_settings import in_use, pending
from kneebench.databases.engines.sqlserver.session import (
    SqlServerSession,
    literal,
    quoted,
    rows_if_permitted,
)
from kneebench.databases.engines.sqlserver.table import sqlserver_table
from kneebench.errors import KneebenchError
from kneebench.plan.database_plan import DatabasePlan
from kneebench.records import Finding

RIGHTS = f"""
SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'CREATE ANY DATABASE'),
    {MAY_SEE},
    HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER SETTINGS'), IS_SRVROLEMEMBER('dbcreator'),
    IS_SRVROLEMEMBER('sysadmin'), HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER ANY CONNECTION')"""
REPLICAS = "SELECT COUNT(DISTINCT database_id) FROM sys.dm_hadr_database_replica_states"
"""A database has a row for each of its replicas."""
READ_ONLY = "SELECT is_in_standby FROM sys.databases WHERE name = {} AND is_read_only = 1"
"""A database in standby is read-only, too."""
CONNECTIONS = "user connections"
EXPRESS, EXPRESS_BYTES = 4, 10 * 2**30
"""Its EngineEdition, and its limit for the data of a database."""
OURS = 6
"""Sessions beside the users'."""


def server_findings(
    session: SqlServerSession, image: Image, subject: str, plan: DatabasePlan
) -> Iterator[Finding]:
    """The placement, whether the database can be written, the login's rights, what else the server
    does.
    """
    yield from _tempdb(image, subject)
    if image.version.babelfish:
        yield Finding(level="note", subject=subject, seen=UNPLACED)
        return
    if image.how in STAYS:
        yield from _read_only(session, image, subject)
    else:
        yield from _express(image, subject)
    yield from _rights(session, subject, plan)
    yield from _pending(session, subject, plan)
    yield from _replicas(session, subject)
    yield from _connections(session, subject, plan)


def image_findings(session: SqlServerSession, image: Image, subject: str) -> Iterator[Finding]:
    """Whose the database is, and what becomes of it and of its backup."""
    yield from _database(session, image, subject)
    yield from _backup(session, image, subject)


def placement_findings(image: Image, subject: str) -> Iterator[Finding]:
    """The files of a database that stays which are not where the plan puts them."""
    for seen in image.misplaced():
        do = "correct the directories in the plan, or move the files"
        yield Finding(level="error", subject=subject, seen=seen, do=do)


def _database(session: SqlServerSession, image: Image, subject: str) -> Iterator[Finding]:
    name = image.address.database
    whose = databases.whose(session, name)
    if whose == "another's":
        seen = f"the database {name} exists and was not created by kneebench"
        do = databases.ANOTHER
        yield Finding(level="refused", subject=subject, seen=seen, do=do)
    else:
        stays = image.how in STAYS
        used = "used" if stays else "replaced"
        will = f"is kneebench's and is {used}" if whose == "ours" else "is created"
        end = "stays" if stays else "is dropped"
        seen = f"the database {name} {will}, and {end} at the end; restored by {image.how}"
        yield Finding(level="ok", subject=subject, seen=seen)


def _backup(session: SqlServerSession, image: Image, subject: str) -> Iterator[Finding]:
    if image.how == "backup":
        try:
            found = image.backup.facts(session)
        except KneebenchError as error:
            level = "refused" if error.exit_code == 5 else "error"
            yield Finding(level=level, subject=subject, seen=error.seen, do=error.do)
            return
        state = (
            "is used"
            if found.get("key") == image.key
            else "is made"
            if not found
            else "is replaced"
        )
        yield Finding(level="ok", subject=subject, seen=f"the backup {image.path} {state}")
    elif image.how == "load":
        reason = "the plan names no backup" if image.version.restores else "Babelfish has no BACKUP"
        yield Finding(
            level="note",
            subject=subject,
            seen=f"{reason}: the database is loaded again before each climb",
            do="set backup to a file on the server" if image.version.restores else "",
        )


def _tempdb(image: Image, subject: str) -> Iterator[Finding]:
    for seen, do in image.misplaced_tempdb():
        yield Finding(level="error", subject=subject, seen=f"tempdb: {seen}", do=do)


def _express(image: Image, subject: str) -> Iterator[Finding]:
    warehouses = image.workload.warehouses
    wanted_bytes = footprint.climb_bytes(warehouses)
    if image.version.engine_edition == EXPRESS and wanted_bytes > EXPRESS_BYTES:
        seen = f"{warehouses:,} warehouses and a climb need {units.size(wanted_bytes)}"
        yield Finding(
            level="warning",
            subject=subject,
            seen=f"{seen}; a database of SQL Server Express has at most 10 GB",
            do="use fewer warehouses, or another edition",
        )


def _read_only(session: SqlServerSession, image: Image, subject: str) -> Iterator[Finding]:
    """A database that stays is measured with the options that it has; a command may change them."""
    database = image.address.database
    for (in_standby,) in session.execute(READ_ONLY.format(literal(database))):
        name = quoted(database)
        yield Finding(
            level="error" if image.how == "none" else "warning",
            subject=subject,
            seen=f"the database {database} is {'in standby' if in_standby else 'read-only'}",
            do=f"RESTORE DATABASE {name} WITH RECOVERY"
            if in_standby
            else f"ALTER DATABASE {name} SET READ_WRITE",
        )


def _rights(session: SqlServerSession, subject: str, plan: DatabasePlan) -> Iterator[Finding]:
    may_create, may_view, may_set, is_creator, is_admin, may_kill = (
        bool(value) for value in session.execute(RIGHTS)[0]
    )
    user, table = quoted(session.address.user), sqlserver_table(plan.database)
    if not table.has_schema and not (may_create or is_creator or is_admin):
        seen = "the login has no right to create and restore databases"
        do = f"ALTER SERVER ROLE [dbcreator] ADD MEMBER {user}"
        yield Finding(level="error", subject=subject, seen=seen, do=do)
    if not may_view:
        seen = "the login may not see the server's views: nothing of the server will be measured"
        yield Finding(level="warning", subject=subject, seen=seen, do=GRANT.format(user))
    if not may_kill:
        seen = "the login may not end sessions: users that wait for another program's lock remain"
        yield Finding(level="warning", subject=subject, seen=seen, do=GRANT_KILL.format(user))
    if _sets(plan) and not may_set:
        seen = "the login has no right to change settings of the server, which the plan sets"
        do = f"GRANT ALTER SETTINGS TO {user}"
        yield Finding(level="error", subject=subject, seen=seen, do=do)


def _sets(plan: DatabasePlan) -> bool:
    """Whether the plan sets settings of the instance."""
    limited = any(one.engine_memory_bytes for one in plan.configurations)
    return limited or bool(of_instance(sqlserver_table(plan.database).settings))


def _pending(session: SqlServerSession, subject: str, plan: DatabasePlan) -> Iterator[Finding]:
    """Another's settings that the plan's RECONFIGURE would put in force, and nothing put back."""
    for seen in pending(session) if _sets(plan) else ():
        yield Finding(
            level="warning",
            subject=subject,
            seen=f"{seen}: when the run sets the plan's settings, it will be in force",
            do="RECONFIGURE, or EXEC sp_configure with the value in use",
        )


def _replicas(session: SqlServerSession, subject: str) -> Iterator[Finding]:
    replicas = sum(count for (count,) in rows_if_permitted(session, REPLICAS))
    if replicas:
        those = "1 database" if replicas == 1 else f"{replicas} databases"
        seen = f"{those} of this server {'is' if replicas == 1 else 'are'} in availability groups"
        do = "use a server of its own: replication writes and sends beside the measurement"
        yield Finding(level="warning", subject=subject, seen=seen, do=do)


def _connections(session: SqlServerSession, subject: str, plan: DatabasePlan) -> Iterator[Finding]:
    """0 is the most that there can be, 32,767."""
    most = int(str(in_use(session, [CONNECTIONS]).get(CONNECTIONS, 0)))
    ladder = plan.ladder
    wanted = min(ladder.most_users, plan.workload.connections or ladder.most_users)
    if 0 < most < wanted + OURS:
        free = most - OURS
        fewer = f", or set {ladder.with_fewer_users(free)}" if free > 0 else ""
        yield Finding(
            level="error" if free < (ladder.last if ladder.fixed else 1) else "warning",
            subject=subject,
            seen=f"user connections is {most}, the plan needs up to {wanted + OURS}",
            do="set user connections to 0 and restart the server" + fewer,
        )
