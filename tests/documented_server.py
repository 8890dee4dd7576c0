"""A SQL Server that answers as Microsoft's documentation shows, for statements that only SQL Server
understands.

No SQL Server was at hand: what is tested with it was **not tried on SQL Server**. The answers are
those of the pages on RESTORE HEADERONLY, RESTORE FILELISTONLY, sys.master_files,
sys.dm_io_virtual_file_stats, sys.dm_os_performance_counters, sys.dm_os_wait_stats,
sys.dm_os_schedulers, sys.dm_os_sys_info and SERVERPROPERTY.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import SecretStr

from kneebench.databases.engines.sqlserver import database, engine, server, server_settings
from kneebench.databases.engines.sqlserver.server_address import SqlServerAddress
from kneebench.databases.engines.sqlserver.session import ResultRows, SqlError

ADDRESS = SqlServerAddress(
    host="db.example", user="bench", password=SecretStr("never shown"), database="tpcc"
)
Answer = list[tuple[Any, ...]] | SqlError | Callable[[str], list[tuple[Any, ...]]]
VERSION = [("16.0.4135.4", "Developer Edition (64-bit)", 3, None, "Microsoft SQL Server 2022")]
FILES = [
    ("kneebench_data_1", r"D:\data\tpcc_data_1.mdf", "ROWS"),
    ("kneebench_data_2", r"E:\data\tpcc_data_2.ndf", "ROWS"),
    ("kneebench_log", r"L:\log\tpcc_log.ldf", "LOG"),
]
TEMPDB = [
    ("tempdev", r"T:\tempdb\tempdb.mdf", "ROWS"),
    ("templog", r"T:\tempdb\templog.ldf", "LOG"),
]
NO_SUCH_FILE = SqlError(
    "Cannot open backup device 'B:\\tpcc.bak'. Operating system error 2(The system cannot find the"
    " file specified.). RESTORE HEADERONLY is terminating abnormally.",
    3201,
)
HEADER = ["BackupName", "BackupDescription", "BackupType", "DatabaseName"]
DENIED = SqlError(
    "VIEW SERVER STATE permission was denied on object 'server', database 'master'.", 300
)
ANSWERS: dict[str, Answer] = {
    r"SERVERPROPERTY\('ProductVersion'\)": VERSION,
    r"SERVERPROPERTY\('InstanceDefault": [("C:\\data\\", "C:\\log\\")],
    r"FROM \[tempdb\]\.sys\.database_files": TEMPDB,
    r"SUM\(CAST\(size": [(123_000_000,)],
    r"type_desc FROM \[\w+\]\.sys\.database_files": FILES,
    r"FROM sys.master_files": FILES,
    r"RESTORE FILELISTONLY": [
        (name, path, "L" if kind == "LOG" else "D", "PRIMARY") for name, path, kind in FILES
    ],
    r"FROM sys.databases": [],
    r"HAS_PERMS_BY_NAME": [(1, 1, 1, 0, 0, 1)],
    r"dm_hadr_database_replica_states": [(0,)],
    r"is_dynamic = 1": [],
    r"sys.configurations": [
        ("max degree of parallelism", 8),
        ("max server memory (MB)", 2147483647),
        ("show advanced options", 0),
        ("user connections", 0),
    ],
    r"dm_io_virtual_file_stats": [
        (0, "kneebench_data_1", 250, 2_048_000, 500, 40, 327_680, 80),
        (0, "kneebench_data_2", 150, 1_228_800, 300, 20, 163_840, 40),
        (1, "kneebench_log", 4, 32_768, 2, 10_000, 61_440_000, 4_500),
    ],
    r"dm_os_performance_counters": [
        ("Transactions/sec", 20_000),
        ("Log Flush Waits/sec", 9_000),
        ("Log Growths", 3),
        ("Batch Requests/sec", 21_000),
        ("Page lookups/sec", 500_000),
        ("Page reads/sec", 400),
        ("Readahead pages/sec", 300),
        ("Page life expectancy", 3_600),
        ("Checkpoint pages/sec", 60),
        ("Background writer pages/sec", 5),
    ],
    r"dm_os_wait_stats": [("WRITELOG", 4_200), ("PAGEIOLATCH_SH", 800), ("LCK_M_U", 100)],
    r"dm_db_index_usage_stats": [("stock", 2), ("district", 900)],
    r"dm_os_schedulers": [(0, 12_000, 1), (1, 9_000, 0)],
    r"process_user_time_ms": [(21_500,)],
    r"dm_os_ring_buffers": [(37, 0)],
}


class DocumentedSession:
    """A session on it: the statements that were sent, and an answer by what a statement contains;
    none for any other statement.
    """

    def __init__(self) -> None:
        self.address, self.spid, self.sent = ADDRESS, 51, list[str]()
        self.answers = dict(ANSWERS)
        self.header: ResultRows | SqlError = NO_SUCH_FILE

    def answer(self, pattern: str, answer: Answer) -> DocumentedSession:
        """The same with another answer, which comes before all others."""
        rest = {key: old for key, old in self.answers.items() if key != pattern}
        self.answers = {pattern: answer, **rest}
        return self

    def __enter__(self) -> DocumentedSession:
        return self

    def __exit__(self, *error: object) -> None: ...

    def close(self) -> None: ...

    def execute(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        self.sent.append(statement)
        for pattern, answer in self.answers.items():
            if re.search(pattern, statement):
                if isinstance(answer, SqlError):
                    raise answer
                return answer(statement) if callable(answer) else list(answer)
        return []

    def table(self, statement: str, *values: object) -> ResultRows:
        self.sent.append(statement)
        if isinstance(self.header, SqlError):
            raise self.header
        return self.header

    def value(self, statement: str, *values: object) -> Any:
        rows = self.execute(statement, *values)
        return rows[0][0] if rows else None

    def kept(self, description: str) -> DocumentedSession:
        """The same with a backup of that description in the plan's file."""
        self.header = ResultRows(HEADER, [("kneebench", description, 1, "tpcc")])
        return self


class OneServer(DocumentedSession):
    """All sessions of one server: the database is there from a RESTORE or CREATE until a DROP."""

    def __init__(self) -> None:
        super().__init__()
        self.answer("FROM sys.databases WHERE name = N'tpcc(_try)?'", self._state)
        self.answer("FROM sys.tables", [(10, 1)])
        self.answer("name, value FROM dbo.kneebench_image", self._noted)
        self.answer("FROM dbo.district", [(3001, 3001, 30000, 30000)])

    def _state(self, statement: str) -> list[tuple[Any, ...]]:
        starts = ("RESTORE DATABASE", "CREATE DATABASE", "DROP DATABASE")
        changes = [one for one in self.sent if one.startswith(starts)]
        there = bool(changes) and not changes[-1].startswith("DROP")
        return self.present(statement) if there else []

    def _noted(self, statement: str) -> list[tuple[Any, ...]]:
        """What was noted of a load since the last time that all was deleted."""
        noted: list[tuple[Any, ...]] = []
        for one in self.sent:
            if one.startswith(("CREATE DATABASE", "DELETE FROM dbo.kneebench_image")):
                noted.clear()
            noted += re.findall(r"INTO dbo.kneebench_image VALUES \(N'(.*)', N'(.*)'\)", one)
        return noted

    def present(self, statement: str) -> list[tuple[Any, ...]]:
        """What sys.databases says of the database."""
        if "compatibility_level" in statement:
            collation = "SQL_Latin1_General_CP1_CI_AS"
            options = (160, "SIMPLE", "CHECKSUM", True, "OFF", "DISABLED", 60, collation, True)
            return [(*options, True, False, False)]
        if "is_read_only = 1" in statement:
            return []
        return [(False,)] if "accelerated" in statement else [("ONLINE", False)]

    def changes(self) -> list[str]:
        """What was sent that changes something, by its first two words."""
        starts = ("RESTORE D", "DROP D", "ALTER", "EXEC sp", "CHECKPOINT", "CREATE D", "BACKUP")
        found = [one.lstrip() for one in self.sent]
        return [" ".join(one.split()[:2]) for one in found if one.startswith(starts)]


def one_server(monkeypatch: pytest.MonkeyPatch) -> OneServer:
    """The server of all sessions that are opened from now on."""
    session = OneServer()

    def connect(address: SqlServerAddress, *given: object, **limits: object) -> OneServer:
        session.address = address
        return session

    for module in (database, engine, server, server_settings):
        monkeypatch.setattr(module, "connect", connect)
    return session
