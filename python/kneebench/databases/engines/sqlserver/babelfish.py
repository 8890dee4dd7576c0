"""What Babelfish counts about itself: it has no dm_ views, but the views of the PostgreSQL
underneath, which answer in its own protocol.

All databases of Babelfish are one of PostgreSQL, so its counts are of all of them together. Its
commits are not read: Babelfish's own code makes transactions besides those of the workload.
"""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.databases.engines.sqlserver.properties import wait_class
from kneebench.databases.engines.sqlserver.session import SqlError, SqlServerSession

Found = dict[str, float]
DATABASE = """
SELECT blks_hit, blks_read FROM pg_catalog.pg_stat_database
WHERE datname = 'babelfish_db'"""
LOG = """
SELECT wal_bytes, wal_records, wal_fpi, wal_write, wal_write_time, wal_sync, wal_sync_time
FROM pg_catalog.pg_stat_wal"""
CHECKPOINTS = """
SELECT checkpoints_timed, checkpoints_req, buffers_checkpoint FROM pg_catalog.pg_stat_bgwriter"""
TIMED = "SELECT setting FROM pg_catalog.pg_settings WHERE name = 'track_wal_io_timing'"
SAMPLE = """
SELECT wait_event_type, wait_event, COUNT(*) FROM pg_catalog.pg_stat_activity
WHERE state = 'active' AND backend_type = 'client backend' AND pid NOT IN ({own})
GROUP BY wait_event_type, wait_event"""


class BabelfishReadings:
    """The counters of one server of Babelfish."""

    notes: tuple[str, ...] = ()

    def __init__(self, session: SqlServerSession) -> None:
        self._session = session
        self._timed = session.value(TIMED) == "on"
        self.meters = frozenset(["log_writes", "checkpoints", "tables"])
        try:
            self._checkpoints()
        except SqlError:
            self.meters -= {"checkpoints"}

    def read(self, meter: str) -> Found:
        """One meter's readings by "quantity|source"; raises KeyError for one that is not there."""
        return {
            "log_writes": self._log_writes,
            "checkpoints": self._checkpoints,
            "tables": self._tables,
        }[meter]()

    def _log_writes(self) -> Found:
        size_bytes, records, images, writes, write_ms, syncs, sync_ms = (
            float(value or 0) for value in self._session.execute(LOG)[0]
        )
        log = {
            "bytes": size_bytes,
            "records": records,
            "full_page_images": images,
            "writes": writes,
            "flushes": syncs,
        }
        if self._timed:
            log |= {"write_time": write_ms / 1e3, "flush_time": sync_ms / 1e3}
        return {f"log.{name}|database": value for name, value in log.items()}

    def _checkpoints(self) -> Found:
        names = ("checkpoints.timed", "checkpoints.requested", "checkpoints.buffers")
        values = self._session.execute(CHECKPOINTS)[0]
        return {f"{name}|database": float(n) for name, n in zip(names, values, strict=True)}

    def _tables(self) -> Found:
        hits, reads = self._session.execute(DATABASE)[0]
        return {"cache.hits|database": float(hits), "cache.reads|database": float(reads)}


class BabelfishWaits:
    """What the sessions at work wait for, except for those with the given ids."""

    def __init__(self, session: SqlServerSession, own: Sequence[int]) -> None:
        self._session, self._query = session, SAMPLE.format(own=", ".join(map(str, own)))
        self._seen: set[str] = set()

    def read(self) -> Found:
        """Sessions at work at this moment; a wait seen once is read as 0 later."""
        found = {
            f"{kind}:{name}" if kind else "running": float(count)
            for kind, name, count in self._session.execute(self._query)
        }
        self._seen |= set(found)
        return {
            f"waits.{wait_class(name)}|{name}": found.get(name, 0.0) for name in sorted(self._seen)
        }
