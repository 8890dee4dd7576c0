"""What a SQL Server counts about itself, read once per second in a few fast queries of dm_ views.

Each query is tried once when the server is opened. One that is refused, or whose view is not there,
is left out from then on. A note names the reason, and the grant where one is missing.

- Log: sys.dm_io_virtual_file_stats has the writes of the log files and their stall, the time until
  they were finished. Each write is durable, so it is counted as a flush, too. Which files are the
  log's is in the database's own sys.database_files, which every user of it sees: sys.master_files
  shows nothing, without an error, to a login that may neither create nor alter databases.
- Performance counters named ".../sec" are counts since the start. "Transactions/sec" counts all
  transactions of the database, those that were rolled back and each statement outside of one too,
  so it is nobody's count of commits. "Batch Requests/sec" counts every batch and call of the
  instance; HammerDB takes it for TPM.
- CPU: the process's own times, each scheduler's, and the latest record of the ring buffer (one a
  minute) for the whole machine of the server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kneebench.databases.engines.sqlserver.error_hints import BY_NUMBER, error_hint
from kneebench.databases.engines.sqlserver.properties import wait_class
from kneebench.databases.engines.sqlserver.session import (
    SqlError,
    SqlServerSession,
    literal,
    quoted,
)

Found = dict[str, float]
FILES = """
SELECT f.type, f.name, v.num_of_reads, v.num_of_bytes_read, v.io_stall_read_ms, v.num_of_writes,
    v.num_of_bytes_written, v.io_stall_write_ms
FROM sys.dm_io_virtual_file_stats(DB_ID({database}), NULL) v
JOIN {name}.sys.database_files f ON f.file_id = v.file_id
WHERE v.database_id = DB_ID({database})"""
LOG_FILE = 1
"""The type of a file of the log in sys.database_files."""
NO_LOG = (
    "the server shows no log file of {} to this login; GRANT VIEW ANY DATABASE shows the database"
)
COUNTERS = """
SELECT RTRIM(counter_name), cntr_value FROM sys.dm_os_performance_counters
WHERE (RTRIM(instance_name) = {database} AND RTRIM(counter_name) IN ({of_database}))
    OR (object_name LIKE '%:Buffer Manager%' AND RTRIM(counter_name) IN ({of_instance}))
    OR RTRIM(counter_name) = 'Batch Requests/sec'"""
OF_DATABASE = {
    "Transactions/sec": "database.transactions",
    "Log Flush Waits/sec": "log.flush_waits",
    "Log Growths": "log.growths",
}
"""Counters of the object Databases, with what they are here. "Log Flush Wait Time" is none of them:
it is not a count since the start, and the waits WRITELOG have that time."""
OF_INSTANCE = (
    "Page lookups/sec",
    "Page reads/sec",
    "Readahead pages/sec",
    "Page life expectancy",
    "Checkpoint pages/sec",
    "Background writer pages/sec",
)
"""Counters of the object Buffer Manager."""
WAITS = """
SELECT wait_type, wait_time_ms FROM sys.dm_os_wait_stats
WHERE wait_time_ms > 0 AND (wait_type LIKE 'LCK%' OR wait_type LIKE 'PAGE%LATCH%'
    OR wait_type LIKE 'LATCH%' OR wait_type IN ('WRITELOG', 'LOGBUFFER', 'WRITE_COMPLETION',
    'IO_COMPLETION', 'ASYNC_IO_COMPLETION', 'SOS_SCHEDULER_YIELD', 'RESOURCE_SEMAPHORE',
    'THREADPOOL', 'CXPACKET', 'ASYNC_NETWORK_IO'))"""
SCANS = """
SELECT t.name, SUM(u.user_scans) FROM sys.dm_db_index_usage_stats u
JOIN {name}.sys.tables t ON t.object_id = u.object_id
WHERE u.database_id = DB_ID({database}) AND u.index_id < 2 GROUP BY t.name"""
CPU = "SELECT process_user_time_ms + process_kernel_time_ms FROM sys.dm_os_sys_info"
SCHEDULERS = """
SELECT scheduler_id, total_cpu_usage_ms, runnable_tasks_count FROM sys.dm_os_schedulers
WHERE status = 'VISIBLE ONLINE'"""
HOST = """
SELECT TOP (1) CONVERT(xml, record).value(
    '(./Record/SchedulerMonitorEvent/SystemHealth/SystemIdle)[1]', 'int'),
    (SELECT COUNT(*) FROM sys.dm_os_host_info WHERE host_platform = 'Linux'
        AND CAST(SERVERPROPERTY('ProductMajorVersion') AS int) < 17)
FROM sys.dm_os_ring_buffers
WHERE ring_buffer_type = N'RING_BUFFER_SCHEDULER_MONITOR' AND record LIKE N'%<SystemHealth>%'
ORDER BY timestamp DESC"""
BUSY_ON_LINUX = "before 2025, SQL Server on Linux reports its machine as always busy"
SMALL = ("warehouse", "district")
"""Tables that are rightly read from end to end."""
GRANT = "GRANT VIEW SERVER STATE TO {}"
MAY_SEE = """CASE WHEN 1 IN (HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE'),
    HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER PERFORMANCE STATE')) THEN 1 ELSE 0 END"""
"""Whether the login may see the server's views: since 2022 the lesser permission, which is NULL
before, suffices."""


class SqlServerReadings:
    """The counters and gauges of one server, for the workload's database."""

    def __init__(self, session: SqlServerSession, database: str) -> None:
        self._session, self._database = session, database
        parts: dict[str, dict[str, Callable[[], Found]]] = {
            "log_writes": {"log and data files": self._files, "transactions": self._counted},
            "checkpoints": {"checkpoints": self._checkpoints},
            "tables": {
                "cache": self._cache,
                "scans": self._scans,
                "waits by class": self._waits,
                "CPU of the server": self._cpu,
                "load of its cores": self._schedulers,
                "CPU of its machine": self._host,
            },
        }
        self.absent: dict[str, SqlError] = {}
        self._parts = {
            meter: [read for what, read in some.items() if self._works(what, read)]
            for meter, some in parts.items()
        }

    def _works(self, what: str, read: Callable[[], Found]) -> bool:
        """Whether the server answers; if not, the reason is kept."""
        try:
            read()
        except SqlError as error:
            if error.lost:
                raise
            self.absent[what] = error
            return False
        return True

    @property
    def meters(self) -> frozenset[str]:
        """The meters that the server answers, at least in part."""
        return frozenset(meter for meter, parts in self._parts.items() if parts)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not measured, one note per reason, with the grant that would allow it."""
        reasons = {error.message: error for error in self.absent.values()}
        return tuple(map(self._note, reasons.values()))

    def _note(self, reason: SqlError) -> str:
        missing = ", ".join(
            what for what, error in self.absent.items() if error.message == reason.message
        )
        note = f"not measured: {missing} ({reason.message})"
        if reason.number not in BY_NUMBER:
            return note
        return f"{note}; {error_hint(reason.number, reason.message, self._session.address)}"

    def read(self, meter: str) -> Found:
        """One meter's readings by "quantity|source"; raises KeyError for one that is not there."""
        return {name: value for part in self._parts[meter] for name, value in part().items()}

    def _files(self) -> Found:
        """A database may have several log files: they are one log."""
        query = FILES.format(name=quoted(self._database), database=literal(self._database))
        rows = self._session.execute(query)
        logs = [figures for kind, _, *figures in rows if kind == LOG_FILE]
        if not logs:
            raise SqlError(NO_LOG.format(self._database))
        found = _of_log([sum(column) for column in zip(*logs, strict=True)])
        for kind, name, *figures in rows:
            found |= {} if kind == LOG_FILE else _of_data(name, figures)
        return found

    def _counters(self) -> Mapping[str, float]:
        query = COUNTERS.format(
            database=literal(self._database),
            of_database=", ".join(map(literal, OF_DATABASE)),
            of_instance=", ".join(map(literal, OF_INSTANCE)),
        )
        found = {name: float(value) for name, value in self._session.execute(query)}
        if "Transactions/sec" not in found:
            raise SqlError("sys.dm_os_performance_counters has no counters of the database")
        return found

    def _counted(self) -> Found:
        counters = self._counters()
        found = {
            f"{quantity}|database": counters[name]
            for name, quantity in OF_DATABASE.items()
            if name in counters
        }
        if "Batch Requests/sec" in counters:
            found["database.batches|database"] = counters["Batch Requests/sec"]
        return found

    def _checkpoints(self) -> Found:
        counters = self._counters()
        pages = counters["Checkpoint pages/sec"] + counters.get("Background writer pages/sec", 0.0)
        return {"checkpoints.buffers|database": pages}

    def _cache(self) -> Found:
        """Pages that a read-ahead brings are looked up only once they are there, which is a hit."""
        counters = self._counters()
        reads = counters["Page reads/sec"]
        missed = max(0.0, reads - counters.get("Readahead pages/sec", 0.0))
        return {
            "cache.hits|database": counters["Page lookups/sec"] - missed,
            "cache.reads|database": reads,
            "cache.page_life|database": counters["Page life expectancy"],
        }

    def _scans(self) -> Found:
        query = SCANS.format(name=quoted(self._database), database=literal(self._database))
        return {
            f"tables.sequential_scans|{table}": float(scans)
            for table, scans in self._session.execute(query)
            if table not in SMALL and not table.startswith("kneebench")
        }

    def _waits(self) -> Found:
        return {
            f"wait_time.{wait_class(name)}|{name}": float(waited_ms) / 1e3
            for name, waited_ms in self._session.execute(WAITS)
        }

    def _cpu(self) -> Found:
        """Also under the name of processes on this machine, which the brief prices transactions
        by.
        """
        cpu_s = float(self._session.value(CPU)) / 1e3
        return {"server.cpu|server": cpu_s, "processes.cpu|server": cpu_s}

    def _schedulers(self) -> Found:
        found: Found = {}
        for number, cpu_ms, runnable in self._session.execute(SCHEDULERS):
            found[f"server.core_busy|{number}"] = float(cpu_ms) / 1e3
            found[f"server.runnable|{number}"] = float(runnable)
        return found

    def _host(self) -> Found:
        """Nothing in the first minute after the server's start."""
        for idle, unknown in self._session.execute(HOST):
            if unknown:
                raise SqlError(BUSY_ON_LINUX)
            return {"server.host_busy|server": 1 - float(idle) / 100}
        return {}


def _of_log(figures: Sequence[Any]) -> Found:
    _, _, _, writes, size_bytes, stall_ms = map(float, figures)
    return {
        "log.writes|database": writes,
        "log.flushes|database": writes,
        "log.bytes|database": size_bytes,
        "log.write_time|database": stall_ms / 1e3,
    }


def _of_data(name: str, figures: Sequence[Any]) -> Found:
    reads, read_bytes, read_ms, writes, write_bytes, write_ms = map(float, figures)
    return {
        f"data.reads|{name}": reads,
        f"data.read_bytes|{name}": read_bytes,
        f"data.read_time|{name}": read_ms / 1e3,
        f"data.writes|{name}": writes,
        f"data.write_bytes|{name}": write_bytes,
        f"data.write_time|{name}": write_ms / 1e3,
    }


# What the users' sessions wait for, sampled several times per second on a session of its own.

SAMPLE = """
SELECT COALESCE(wait_type, status), COUNT(*) FROM sys.dm_exec_requests
WHERE database_id = DB_ID({database}) AND session_id > 50 AND session_id NOT IN ({own})
    AND status IN ('running', 'runnable', 'suspended')
GROUP BY COALESCE(wait_type, status)"""


class SqlServerWaits:
    """The waits of one database's sessions, except for those with the given ids."""

    def __init__(self, session: SqlServerSession, database: str, own: Sequence[int]) -> None:
        self._session = session
        listed = ", ".join(map(str, own))
        self._query = SAMPLE.format(database=literal(database), own=listed)
        self._seen: set[str] = set()

    def read(self) -> dict[str, float]:
        """Requests at this moment, by what they wait for; a wait seen once is read as 0 when none
        waits for it any more.
        """
        found = {name: float(count) for name, count in self._session.execute(self._query)}
        self._seen |= set(found)
        return {
            f"waits.{wait_class(name)}|{name}": found.get(name, 0.0) for name in sorted(self._seen)
        }
