"""The settings that a SQL Server and the workload's database run with, as they are kept with the
results; and those of the instance that a plan sets, put back at the end.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping

from kneebench.databases.engines.sqlserver.address import explained
from kneebench.databases.engines.sqlserver.session import (
    SqlError,
    SqlServerSession,
    connect,
    literal,
    quoted,
    rows_if_permitted,
)
from kneebench.databases.engines.sqlserver.version import Version
from kneebench.errors import KneebenchError, PlanError
from kneebench.lab.changes.server_setting import ChangedServerSettings
from kneebench.lab.journal import Journal
from kneebench.records import Event, Setting, Watch

MATTERS = frozenset(
    [
        "ProductVersion",
        "auto_close",
        "autogrow of data files",
        "autogrow of the log file",
        "compatibility_level",
        "delayed_durability",
        "encryption",
        "instant file initialization",
        "lock pages in memory",
        "max degree of parallelism",
        "max server memory (MB)",
        "page_verify",
        "query_store",
        "read_committed_snapshot",
        "recovery",
        "recovery interval (min)",
        "snapshot_isolation",
        "target_recovery_time",
        "tempdb data files",
        "trace flags",
        "accelerated_database_recovery",
    ]
)
INSTANCE_OPTIONS = """
SELECT name, CAST({column} AS bigint) FROM sys.configurations WHERE name IN ({names})"""
PENDING = """
SELECT name, CAST(value AS bigint), CAST(value_in_use AS bigint) FROM sys.configurations
WHERE is_dynamic = 1 AND CAST(value AS bigint) <> CAST(value_in_use AS bigint)
    AND NOT (name = N'min server memory (MB)' AND value_in_use = 16)"""
"""Of min server memory, 16 MB are in use with 0 configured."""
PRINTED = (
    "backup compression default",
    "cost threshold for parallelism",
    "fill factor (%)",
    "lightweight pooling",
    "max degree of parallelism",
    "max server memory (MB)",
    "max worker threads",
    "min server memory (MB)",
    "network packet size (B)",
    "optimize for ad hoc workloads",
    "priority boost",
    "recovery interval (min)",
    "user connections",
)
DATABASE = """
SELECT compatibility_level, recovery_model_desc, page_verify_option_desc,
    is_read_committed_snapshot_on, snapshot_isolation_state_desc, delayed_durability_desc,
    target_recovery_time_in_seconds, collation_name, is_auto_update_stats_on, is_query_store_on,
    is_encrypted, is_auto_close_on
FROM sys.databases WHERE name = {database}"""
DATABASE_NAMES = (
    "compatibility_level",
    "recovery",
    "page_verify",
    "read_committed_snapshot",
    "snapshot_isolation",
    "delayed_durability",
    "target_recovery_time",
    "collation",
    "auto_update_statistics",
    "query_store",
    "encryption",
    "auto_close",
)
BABELFISH_DATABASE = """
SELECT compatibility_level, recovery_model_desc, page_verify_option_desc,
    is_read_committed_snapshot_on, collation_name FROM sys.databases WHERE name = {database}"""
ACCELERATED = """
SELECT is_accelerated_database_recovery_on FROM sys.databases WHERE name = {database}"""
MEMORY_MODEL = (
    "SELECT sql_memory_model_desc, cpu_count, physical_memory_kb / 1024 FROM sys.dm_os_sys_info"
)
INSTANT_FILES = """
SELECT CASE instant_file_initialization_enabled WHEN 'Y' THEN 'on' WHEN 'N' THEN 'off' END
FROM sys.dm_server_services
WHERE filename LIKE '%sqlservr%'"""
FILES = """
SELECT (SELECT COUNT(*) FROM tempdb.sys.database_files WHERE type_desc = 'ROWS'),
    MAX(CASE type_desc WHEN 'ROWS' THEN step END), MAX(CASE type_desc WHEN 'LOG' THEN step END)
FROM (SELECT type_desc, CASE WHEN growth = 0 THEN 'off' WHEN is_percent_growth = 1
    THEN CONCAT(growth, '%') ELSE CONCAT(growth / 128, ' MiB') END AS step
    FROM {database}.sys.database_files) AS files"""
HOST = "SELECT host_platform, host_distribution, host_release FROM sys.dm_os_host_info"


def in_force(session: SqlServerSession, database: str, version: Version) -> tuple[Setting, ...]:
    """The settings of the instance and of the database; what the server does not show is
    left out.
    """
    named = literal(database)
    found: dict[str, object] = {"ProductVersion": version.product, "edition": version.edition}
    if version.babelfish:
        found["server"] = version.name
        names = ("compatibility_level", "recovery", "page_verify", "read_committed_snapshot")
        found |= _row(session, BABELFISH_DATABASE.format(database=named), (*names, "collation"))
    else:
        found |= in_use(session, PRINTED)
        found |= _row(session, DATABASE.format(database=named), DATABASE_NAMES)
        accelerated = ("accelerated_database_recovery",)
        found |= _row(session, ACCELERATED.format(database=named), accelerated)
        memory = ("memory model", "cores of the server", "memory of the server (MB)")
        found |= _row(session, MEMORY_MODEL, memory)
        found |= _row(session, INSTANT_FILES, ("instant file initialization",))
        files = ("tempdb data files", "autogrow of data files", "autogrow of the log file")
        found |= _row(session, FILES.format(database=quoted(database)), files)
        found["trace flags"] = trace_flags(session)
        if model := found.get("memory model"):
            found["lock pages in memory"] = "off" if model == "CONVENTIONAL" else "on"
    host = ("platform of the server", "distribution of the server", "release of the server")
    found |= _row(session, HOST, host)
    return tuple(
        Setting(name=name, value=_shown(value), source="server", matters=name in MATTERS)
        for name, value in sorted(found.items())
        if value is not None
    )


def _row(session: SqlServerSession, query: str, names: tuple[str, ...]) -> dict[str, object]:
    """The first row by names."""
    rows = rows_if_permitted(session, query)
    return dict(zip(names, rows[0], strict=True)) if rows else {}


def _shown(value: object) -> str:
    """As a reader writes it.

    >>> _shown(True), _shown("SIMPLE"), _shown(8)
    ('on', 'simple', '8')
    """
    if isinstance(value, bool):
        return "on" if value else "off"
    text = str(value)
    return text.lower() if text.isupper() else text


def in_use(session: SqlServerSession, names: Iterable[str]) -> dict[str, object]:
    """Settings of the instance by name, as they are in use."""
    return _configurations(session, names, "value_in_use")


def configured(session: SqlServerSession, names: Iterable[str]) -> dict[str, object]:
    """The same as they are configured, which may differ from what is in use (`pending`)."""
    return _configurations(session, names, "value")


def pending(session: SqlServerSession) -> list[str]:
    """Settings that somebody configured and nobody put in force: RECONFIGURE does so for all."""
    return [
        f"{name} is configured as {value}, in use is {used}"
        for name, value, used in rows_if_permitted(session, PENDING)
    ]


def _configurations(
    session: SqlServerSession, names: Iterable[str], column: str
) -> dict[str, object]:
    wanted = ", ".join(literal(name) for name in names)
    return dict(rows_if_permitted(session, INSTANCE_OPTIONS.format(column=column, names=wanted)))


def trace_flags(session: SqlServerSession) -> str:
    """The trace flags of the whole instance, or that they cannot be read."""
    try:
        rows = session.execute("DBCC TRACESTATUS(-1) WITH NO_INFOMSGS")
    except SqlError as error:
        if error.lost:
            raise
        return "not readable"
    return ", ".join(str(row[0]) for row in rows if row[2]) or "none"


# --- set and put back -----------------------------------------------------------------------------

ADVANCED = "show advanced options"


def set_statement(values: Mapping[str, int]) -> str:
    """The batch that sets settings of the instance at once.

    Most are advanced options; that they are shown is itself a setting, which is put back.

    >>> print(set_statement({"max degree of parallelism": 1}))
    EXEC sp_configure N'max degree of parallelism', 1; RECONFIGURE
    """
    calls = "; ".join(f"EXEC sp_configure {literal(name)}, {n}" for name, n in values.items())
    return f"{calls}; RECONFIGURE"


def _apply(session: SqlServerSession, values: Mapping[str, int], advanced: int) -> None:
    """Set, with the advanced options shown meanwhile and then as they were."""
    for one in ({ADVANCED: 1}, values, {ADVANCED: advanced}):
        session.execute(set_statement(one))


class PlansSettings:
    """Settings of one instance as the plan has them, in place of those before; the journal has
    these meanwhile, and what a killed run of before left is put back with them.
    """

    def __init__(
        self, session: SqlServerSession, wanted: Mapping[str, int], journal: Journal
    ) -> None:
        self._session, self._wanted, self._journal = session, wanted, journal
        server = session.address.place
        self._what = f"settings of {server}"
        self._left = journal.left_on_server(ChangedServerSettings, self._what)

    @contextlib.contextmanager
    def in_force(self, watch: Watch) -> Iterator[tuple[Setting, ...]]:
        """The settings of the plan for the block, and then those of before."""
        if not self._wanted and not self._left:
            yield ()
            return
        before, advanced = self._before()
        by_hand = f"{set_statement({ADVANCED: 1})}; {set_statement(before)}"
        change = self._journal.on_server(
            ChangedServerSettings, self._what, values=before, by_hand=by_hand
        )
        try:
            with explained("cannot set the server's settings", self._session.address):
                _apply(self._session, {**before, **self._wanted}, advanced)
            yield tuple(
                Setting(name=name, value=str(value), source="plan", matters=name in MATTERS)
                for name, value in self._wanted.items()
            )
        finally:
            self._put_back(before, advanced, change, watch)

    def _before(self) -> tuple[dict[str, int], int]:
        """What the settings were before any run of ours, and whether advanced options were shown.

        Raises PlanError for a setting that the server does not have.
        """
        left = dict(self._left.values) if self._left else {}
        found = configured(self._session, [*self._wanted, *left, ADVANCED])
        now = {name: int(str(value)) for name, value in found.items()}
        if missing := [name for name in self._wanted if name not in now]:
            seen = f"the server has no setting {missing[0]!r}"
            do = "remove it from database.settings"
            raise PlanError("cannot set the server's settings", seen=seen, do=do)
        return {**{name: now[name] for name in self._wanted}, **left}, now.get(ADVANCED, 0)

    def _put_back(
        self, before: Mapping[str, int], advanced: int, change: ChangedServerSettings, watch: Watch
    ) -> None:
        """In a session of its own: that of before may be lost. If it fails, the entry stays, and
        the failure is reported.
        """
        try:
            with connect(self._session.address) as session:
                _apply(session, before, advanced)
        except (KneebenchError, SqlError) as error:
            left = (
                f"{self._what} could not be restored ({error}). The next run of this plan restores"
                f" them; to restore them now, run on the server: {change.by_hand}"
            )
            watch(Event(kind="warning", doing=left))
        else:
            self._journal.forget(change)
