"""Where the files of the workload's database go on the server, by the plan and by the server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kneebench.analysis.wording import plural
from kneebench.databases.engines.sqlserver import footprint
from kneebench.databases.engines.sqlserver.server_paths import (
    SqlServerStorage,
    joined,
    parent,
    within,
)
from kneebench.databases.engines.sqlserver.session import (
    SqlError,
    SqlServerSession,
    literal,
    quoted,
)
from kneebench.databases.engines.sqlserver.table import SqlServerDatabase
from kneebench.plan.storage import Storage

PREFIX = "kneebench_"
"""How the logical names of our files begin."""
MIB = 2**20
GROWTHS = "SELECT name, type_desc, growth, is_percent_growth FROM {name}.sys.database_files"
"""In pages of 8 KiB, or in percent."""
TEMPDB_SIZE = "SELECT MAX(size) / 128 FROM tempdb.sys.database_files WHERE type_desc = 'ROWS'"
"""The largest data file's, in MB: all are to have the same size."""
PAGE_BYTES = 8192
FILES = "SELECT name, physical_name, type_desc FROM {name}.sys.database_files"
MASTER_FILES = """
SELECT name, physical_name, type_desc FROM sys.master_files WHERE database_id = DB_ID({database})"""
DEFAULTS = """
SELECT CAST(SERVERPROPERTY('InstanceDefaultDataPath') AS nvarchar(400)),
    CAST(SERVERPROPERTY('InstanceDefaultLogPath') AS nvarchar(400))"""


class DatabaseFile(NamedTuple):
    """A file of a database: its logical name, its path on the server, and whether it is of the
    log.
    """

    name: str
    path: str
    log: bool = False

    @property
    def moved(self) -> str:
        """Its clause of RESTORE."""
        return f"MOVE {literal(self.name)} TO {literal(self.path)}"

    def created(self, size_bytes: int) -> str:
        """Its clause of CREATE DATABASE. Since SQL Server 2022 a log that grows by at most 64 MB is
        not filled with zeros.
        """
        size_mb, growth_mb = max(64, -(-size_bytes // MIB)), 64 if self.log else 256
        return (
            f"(NAME = {literal(self.name)}, FILENAME = {literal(self.path)},"
            f" SIZE = {size_mb}MB, FILEGROWTH = {growth_mb}MB)"
        )


class Placement(NamedTuple):
    """The directories of one storage; empty ones are the server's choice."""

    data: Sequence[str] = ()
    log: str = ""
    tempdb: Sequence[str] = ()
    tempdb_files: int = 0

    def files(self, database: str, number: int) -> tuple[DatabaseFile, ...]:
        """The files of a database: data files in turn over the directories, then the log.

        >>> for file in Placement(("D:\\\\a", "/b/"), "L:\\\\").files("x", 2): print(file.path)
        D:\\a\\x_data_1.mdf
        /b/x_data_2.ndf
        L:\\x_log.ldf
        """
        data = [
            DatabaseFile(
                f"{PREFIX}data_{nth + 1}",
                joined(
                    self.data[nth % len(self.data)],
                    f"{database}_data_{nth + 1}.{'ndf' if nth else 'mdf'}",
                ),
            )
            for nth in range(number)
        ]
        return (
            *data,
            DatabaseFile(f"{PREFIX}log", joined(self.log, f"{database}_log.ldf"), log=True),
        )


def placement_of(table: SqlServerDatabase, storage: Storage) -> Placement:
    """A storage's directories: its own table's, else those of `[database]`."""
    own = storage.own_table("sqlserver")
    given = own if isinstance(own, SqlServerStorage) else SqlServerStorage()
    return Placement(
        given.data or table.data_dirs,
        given.log or table.log_dir,
        given.tempdb or table.tempdb_dirs,
        table.tempdb_files,
    )


def with_defaults(placement: Placement, session: SqlServerSession) -> Placement:
    """The placement with the server's default directories where the plan names none."""
    rows = session.execute(DEFAULTS)
    data, log = rows[0] if rows else ("", "")
    return placement._replace(
        data=placement.data or ((data,) if data else ()), log=placement.log or log or ""
    )


def files_of(session: SqlServerSession, database: str) -> list[DatabaseFile]:
    """The files of a database, where they are now; none where the server lists none (Babelfish).

    By the database's own view, which all its users see. The server's is for a database that cannot
    be used, such as one that is restored: it has tempdb's paths from the next start on, and shows
    nothing to a login that may neither create nor alter databases.
    """
    try:
        rows = session.execute(FILES.format(name=quoted(database)))
    except SqlError as error:
        if error.lost:
            raise
        rows = session.execute(MASTER_FILES.format(database=literal(database)))
    return [DatabaseFile(name, path, kind == "LOG") for name, path, kind in rows]


def misplaced(found: Sequence[DatabaseFile], placement: Placement) -> Iterator[str]:
    r"""The files that are not where the plan puts them; directories of the plan without a file.

    >>> list(misplaced([DatabaseFile("log", "C:\\x.ldf", log=True)], Placement(log="L:\\")))
    ['log is at C:\\x.ldf, not in L:\\']
    >>> list(misplaced([DatabaseFile("data", "D:\\x.mdf")], Placement(("D:\\", "E:\\"))))
    ['no data file is in E:\\']
    """
    data, log = ([file for file in found if file.log == of_log] for of_log in (False, True))
    yield from _astray(data, placement.data, "data")
    yield from _astray(log, [placement.log] if placement.log else [], "log")


def _astray(found: Sequence[DatabaseFile], wanted: Sequence[str], kind: str) -> Iterator[str]:
    elsewhere = [file for file in found if wanted and not within(file.path, wanted)]
    for file in elsewhere:
        yield f"{file.name} is at {file.path}, not in {' or '.join(wanted)}"
    for directory in wanted if not elsewhere else ():
        if not any(within(file.path, [directory]) for file in found):
            yield f"no {kind} file is in {directory}"


def misplaced_tempdb(found: Sequence[DatabaseFile], placement: Placement) -> Iterator[str]:
    """The files of tempdb outside the plan's directories, and directories without any of them; any
    other number of data files than the plan's.
    """
    number, wanted = sum(not file.log for file in found), placement.tempdb
    if placement.tempdb_files and number != placement.tempdb_files:
        yield f"it has {plural(number, 'data file')}, not {placement.tempdb_files}"
    if not wanted:
        return
    for file in found:
        if not within(file.path, wanted):
            yield f"{file.name} is at {file.path}"
    for directory in wanted:
        if not any(within(file.path, [directory]) for file in found if not file.log):
            yield f"no data file of tempdb is in {directory}"


def tempdb_statements(
    found: Sequence[DatabaseFile], placement: Placement, size_mb: int
) -> list[str]:
    r"""The statements that give tempdb its number of data files, which need no restart: files are
    added, over the plan's directories in turn, or the last ones removed.

    >>> one = [DatabaseFile("tempdev", "T:\\tempdb.mdf"), DatabaseFile("x", "T:\\x.ldf", True)]
    >>> print(*tempdb_statements(one, Placement(tempdb_files=2), 8))
    ALTER DATABASE tempdb ADD FILE (NAME = N'temp2', FILENAME = N'T:\temp2.ndf', SIZE = 8MB)
    >>> print(*tempdb_statements(one * 2, Placement(tempdb_files=1), 8))
    ALTER DATABASE tempdb REMOVE FILE [tempdev]
    """
    data, wanted = [file for file in found if not file.log], placement.tempdb_files
    if not (data and wanted):
        return []
    places = placement.tempdb or (parent(data[0].path),)
    added = (
        f"ALTER DATABASE tempdb ADD FILE (NAME = {literal(f'temp{number}')}, FILENAME ="
        f" {literal(joined(places[(number - 1) % len(places)], f'temp{number}.ndf'))},"
        f" SIZE = {size_mb}MB)"
        for number in range(len(data) + 1, wanted + 1)
    )
    removed = (f"ALTER DATABASE tempdb REMOVE FILE {quoted(file.name)}" for file in data[wanted:])
    return [*added, *removed]


def other_growths(
    session: SqlServerSession, database: str, growths: tuple[int | None, int | None]
) -> Iterator[tuple[str, str]]:
    """The files that do not grow as the plan says, and the statement that lets each do so; all
    growths are kneebench's own, or as they are, where the plan says nothing.
    """
    if growths == (None, None):
        return
    for name, kind, growth, in_percent in session.execute(GROWTHS.format(name=quoted(database))):
        wanted = growths[kind == "LOG"]
        if wanted is None or (not in_percent and growth * PAGE_BYTES == wanted):
            continue
        now = f"{growth}%" if in_percent else f"{growth * PAGE_BYTES // MIB} MB"
        yield (
            f"{name} grows by {now if growth else 'nothing'}, not by {wanted // MIB} MB",
            growth_statement(database, name, wanted),
        )


def growth_statement(database: str, file: str, growth_bytes: int) -> str:
    """The statement that sets autogrow of a file; of 0 it is off.

    >>> growth_statement("tpcc", "kneebench_log", 0)
    "ALTER DATABASE [tpcc] MODIFY FILE (NAME = N'kneebench_log', FILEGROWTH = 0MB)"
    """
    file_growth = f"(NAME = {literal(file)}, FILEGROWTH = {growth_bytes // MIB}MB)"
    return f"ALTER DATABASE {quoted(database)} MODIFY FILE {file_growth}"


def sized(files: Sequence[DatabaseFile], warehouses: int) -> tuple[str, str]:
    """The clauses of CREATE DATABASE for data files and log, sized for the loaded data and what a
    climb adds. Keys that are made side by side need room beside their tables, so loading may grow
    the files, by FILEGROWTH.
    """
    data = [file for file in files if not file.log]
    each_bytes = footprint.climb_bytes(warehouses) // len(data)
    log_bytes = footprint.log_bytes(4, footprint.data_bytes(warehouses) // 2, quick=False)
    return (
        ", ".join(file.created(each_bytes) for file in data),
        ", ".join(file.created(log_bytes) for file in files if file.log),
    )
