"""What the server counts about itself, asked once a second: SHOW GLOBAL STATUS, and the performance
schema where it times the log.

Waits are sampled apart (waits.py).

From 10.8 the server does not time the writes of its log: the performance schema has no instrument
for them. Then the times are left out, not read as 0, and the kernel's are used where its calls are
traced (meter log_histogram). With innodb_flush_log_at_trx_commit = 1 each write of the log is
followed by its sync, so the writes are the flushes; older servers and MySQL count the syncs.

All counts are the server's: on one that others use too, what they do is among them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pymysql

from kneebench.databases.engines.mariadb.session import MariadbSession
from kneebench.databases.engines.mariadb.settings_in_force import log_is_mapped

METERS = frozenset(["log_writes", "checkpoints", "tables"])
PICOSECONDS_S = 1e-12
TIMED = """
SELECT count_star, sum_timer_write, sum_timer_misc
FROM performance_schema.file_summary_by_event_name
WHERE event_name = 'wait/io/file/innodb/innodb_log_file'"""
METRIC = """
SELECT count FROM information_schema.innodb_metrics
WHERE name = %s AND time_enabled IS NOT NULL AND time_disabled IS NULL"""
"""Of a counter that counts: MariaDB and MySQL have other columns that say it."""
STORMS, HISTORY = "buffer_flush_sync", "trx_rseg_history_len"
"""MySQL has no status variable of the latter."""
READ = (
    *("Com_commit", "Com_rollback", "Innodb_buffer_pool_pages_dirty", "Innodb_buffer_pool_reads"),
    *("Innodb_buffer_pool_pages_flushed", "Innodb_buffer_pool_read_requests"),
    *("Innodb_checkpoint_age", "Innodb_history_list_length", "Innodb_log_write_requests"),
    *("Innodb_log_writes", "Innodb_os_log_fsyncs", "Innodb_os_log_written"),
    *("Innodb_redo_log_checkpoint_lsn", "Innodb_redo_log_current_lsn"),
    *("Innodb_row_lock_time", "Innodb_row_lock_waits"),
)
STATUS = f"SHOW GLOBAL STATUS WHERE variable_name IN {READ}"
"""A quarter of the CPU of the whole list: 400 and 1,700 microseconds on 10.11."""
NOT_TIMED = (
    "the server shows no times of its log writes; log write latency is measured in the kernel,"
    " where its calls can be traced"
)


class MariadbReadings:
    """The counters and gauges of one server."""

    def __init__(self, session: MariadbSession, settings: Mapping[str, str]) -> None:
        self._session = session
        flushed = settings.get("innodb_flush_log_at_trx_commit", "1") == "1"
        self._writes_are_flushes = flushed and not log_is_mapped(settings)
        self.timed = bool(self._timed())
        self._counted = {name for name in (STORMS, HISTORY) if self._counts(name)}

    def read(self, meter: str) -> dict[str, float]:
        """One meter's readings by "quantity|source"; raises KeyError for a meter that is not one of
        METERS.
        """
        read: Callable[[Mapping[str, float]], dict[str, float]] = {
            "log_writes": self._log_writes,
            "checkpoints": self._checkpoints,
            "tables": self._tables,
        }[meter]
        return {f"{name}|database": value for name, value in read(self._status()).items()}

    def counts(self) -> tuple[int, int]:
        """(COMMIT statements, ROLLBACK statements)."""
        status = self._status()
        return round(status["Com_commit"]), round(status["Com_rollback"])

    def _status(self) -> dict[str, float]:
        return dict(_numbers(dict(self._session.rows(STATUS))))

    def _timed(self) -> dict[str, float]:
        """Seconds in writes and in syncs of the log; empty where they are not timed."""
        try:
            count, writes, others = self._session.row(TIMED) or (0, 0, 0)
        except pymysql.Error:  # no performance schema, or no right to read it
            return {}
        if not (count and writes + others):  # none yet, or an instrument that is not timed
            return {}
        return {
            "log.write_time": float(writes) * PICOSECONDS_S,
            "log.flush_time": float(others) * PICOSECONDS_S,
        }

    def _log_writes(self, status: Mapping[str, float]) -> dict[str, float]:
        writes = status["Innodb_log_writes"]
        flushes = status.get("Innodb_os_log_fsyncs", writes if self._writes_are_flushes else None)
        return {
            "log.bytes": status["Innodb_os_log_written"],
            "log.records": status["Innodb_log_write_requests"],
            "log.writes": writes,
            **({} if flushes is None else {"log.flushes": flushes}),
            **(self._timed() if self.timed else {}),
            "database.commits": status["Com_commit"],
            "database.rollbacks": status["Com_rollback"],
        }

    def _checkpoints(self, status: Mapping[str, float]) -> dict[str, float]:
        found = {
            "checkpoints.buffers": status["Innodb_buffer_pool_pages_flushed"],
            "pages.dirty": status["Innodb_buffer_pool_pages_dirty"],
        }
        if (age := _checkpoint_age(status)) is not None:
            found["log.checkpoint_age"] = age
        if STORMS in self._counted:
            found["checkpoints.requested"] = float(self._session.value(METRIC, STORMS))
        return found

    def _tables(self, status: Mapping[str, float]) -> dict[str, float]:
        reads = status["Innodb_buffer_pool_reads"]
        found = {
            "cache.hits": status["Innodb_buffer_pool_read_requests"] - reads,
            "cache.reads": reads,
            "locks.row_waits": status["Innodb_row_lock_waits"],
            "locks.row_wait_time": status["Innodb_row_lock_time"] / 1e3,
        }
        if "Innodb_history_list_length" in status:
            found["undo.history"] = status["Innodb_history_list_length"]
        elif HISTORY in self._counted:
            found["undo.history"] = float(self._session.value(METRIC, HISTORY))
        return found

    def _counts(self, name: str) -> bool:
        try:
            return self._session.value(METRIC, name) is not None
        except pymysql.Error:  # a version without that counter, or a user without the right
            return False


def _checkpoint_age(status: Mapping[str, float]) -> float | None:
    """Bytes of the log since the checkpoint: MariaDB says it, MySQL from 8.0.30 where both are.

    >>> _checkpoint_age({"Innodb_redo_log_current_lsn": 9.0, "Innodb_redo_log_checkpoint_lsn": 2.0})
    7.0
    """
    written = status.get("Innodb_redo_log_current_lsn")
    checkpoint = status.get("Innodb_redo_log_checkpoint_lsn")
    if written is None or checkpoint is None:
        return status.get("Innodb_checkpoint_age")
    return written - checkpoint


def _numbers(status: Mapping[str, str]) -> list[tuple[str, float]]:
    """The status values that are numbers.

    >>> _numbers({"Uptime": "7", "Rpl_status": "AUTH_MASTER"})
    [('Uptime', 7.0)]
    """
    return [(name, float(value)) for name, value in status.items() if value.isdigit()]
