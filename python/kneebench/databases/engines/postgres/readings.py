"""What the server counts about itself, asked once a second in a few fast queries.
Its waits are sampled apart (waits.py).

The views moved: up to 17 the log's writes and syncs are in pg_stat_wal, from 18 in pg_stat_io
(object wal); the checkpoints are in pg_stat_bgwriter up to 16, in pg_stat_checkpointer from 17. The
server is asked what it has; its version is not trusted (16 has a pg_stat_io too, without the log).
A backend hands its counts over at most once a second (pgstat: PGSTAT_MIN_INTERVAL), so log
quantities are to be summed over 5 s or more.

Without track_wal_io_timing the views hold zeros in place of times: the times are then left out, not
read as 0.

`log_writes` also reads the database's commits and rollbacks, `tables` also its cache hits and
reads, and what it spilled into temporary files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import psycopg

from kneebench.databases.engines.postgres.properties import wait_class

Connection = psycopg.Connection[tuple[Any, ...]]

METERS = frozenset(["log_writes", "checkpoints", "tables"])
SMALL = ("warehouse", "district")
"""Tables that are rightly read from end to end."""

WAL_IN_PG_STAT_IO = """
SELECT w.wal_bytes, w.wal_records, w.wal_fpi, i.writes, i.write_time, i.fsyncs, i.fsync_time
FROM pg_stat_wal w, (
    SELECT sum(writes) writes, sum(write_time) write_time,
        sum(fsyncs) fsyncs, sum(fsync_time) fsync_time
    FROM pg_stat_io WHERE object = 'wal' AND context = 'normal') i"""
WAL_IN_PG_STAT_WAL = """
SELECT wal_bytes, wal_records, wal_fpi, wal_write, wal_write_time, wal_sync, wal_sync_time
FROM pg_stat_wal"""
CHECKPOINTS_IN_CHECKPOINTER = """
SELECT num_timed, num_requested, buffers_written FROM pg_stat_checkpointer"""
CHECKPOINTS_IN_BGWRITER = """
SELECT checkpoints_timed, checkpoints_req, buffers_checkpoint FROM pg_stat_bgwriter"""
SEGMENTS = """
SELECT count(*) FROM pg_ls_waldir() WHERE length(name) = 24"""
DATABASE = """
SELECT xact_commit, xact_rollback, blks_hit, blks_read, temp_bytes FROM pg_stat_database
WHERE datname = %s"""
TABLES = """
SELECT coalesce(whole.relname, part.relname),
    sum(part.n_dead_tup), sum(part.seq_scan), sum(part.autovacuum_count)
FROM pg_stat_user_tables part
    LEFT JOIN pg_inherits ON inhrelid = part.relid
    LEFT JOIN pg_class whole ON whole.oid = inhparent
WHERE part.schemaname = 'public' GROUP BY 1"""
"""Partitions count for their table: HammerDB can make order_line of many."""


class PostgresReadings:
    """The counters and gauges of one server, for the workload's database."""

    def __init__(self, connection: Connection, database: str) -> None:
        self._connection, self._database = connection, database
        self._wal = (
            WAL_IN_PG_STAT_WAL if self._has("pg_stat_wal", "wal_sync") else WAL_IN_PG_STAT_IO
        )
        self._checkpoints = (
            CHECKPOINTS_IN_CHECKPOINTER
            if self._has("pg_stat_checkpointer", "num_timed")
            else CHECKPOINTS_IN_BGWRITER
        )
        self._each_write_syncs = self._one("SELECT current_setting('wal_sync_method')")[0] in (
            "open_sync",
            "open_datasync",
        )
        self._timed = self._one("SELECT current_setting('track_wal_io_timing')")[0] == "on"
        self._lists_log = self._one(
            "SELECT has_function_privilege('pg_catalog.pg_ls_waldir()', 'execute')"
        )[0]
        self._segments, self._segments_made = math.inf, 0.0

    def _one(self, query: str, *values: object) -> tuple[Any, ...]:
        return self._connection.execute(query, values or None).fetchone() or ()

    def _has(self, view: str, column: str) -> bool:
        query = (
            "SELECT count(*) FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attname = %s"
        )
        return bool(self._one(query, f"pg_catalog.{view}", column)[0])

    def read(self, meter: str) -> dict[str, float]:
        """One meter's readings by "quantity|source"; raises KeyError for a meter that is not one of
        METERS.
        """
        return {
            "log_writes": self._log_writes,
            "checkpoints": self._checkpointed,
            "tables": self._tables,
        }[meter]()

    def _log_writes(self) -> dict[str, float]:
        size_bytes, records, images, writes, write_ms, syncs, sync_ms = (
            float(value or 0) for value in self._one(self._wal)
        )
        if self._each_write_syncs:  # the server counts no syncs: every write is one
            syncs = writes
        log = {
            "bytes": size_bytes,
            "records": records,
            "full_page_images": images,
            "writes": writes,
            "flushes": syncs,
        }
        if self._lists_log:
            log["new_segments"] = self._made()
        if self._timed:
            log |= {"write_time": write_ms / 1e3, "flush_time": sync_ms / 1e3}
        return {f"log.{name}|database": value for name, value in log.items()} | self._transactions()

    def _transactions(self) -> dict[str, float]:
        commits, rollbacks, *_ = self._counts()
        return {"database.commits|database": commits, "database.rollbacks|database": rollbacks}

    def of_database(self, meter: str) -> dict[str, float]:
        """Those that are of the database alone."""
        read = {"log_writes": self._transactions, "tables": self._tables}.get(meter)
        return read() if read else {}

    def _made(self) -> float:
        """Log segments made since the first reading: more of them than at the reading before. A
        checkpoint renames those that it recycles, and removes some.
        """
        there = float(self._one(SEGMENTS)[0])
        self._segments_made += max(0.0, there - self._segments)
        self._segments = there
        return self._segments_made

    def _checkpointed(self) -> dict[str, float]:
        names = ("checkpoints.timed", "checkpoints.requested", "checkpoints.buffers")
        return {
            f"{name}|database": float(value)
            for name, value in zip(names, self._one(self._checkpoints), strict=True)
        }

    def _tables(self) -> dict[str, float]:
        _, _, hits, reads, spilled_bytes = self._counts()
        seen = {
            "cache.hits|database": hits,
            "cache.reads|database": reads,
            "tables.spilled|database": spilled_bytes,
        }
        for table, dead, scans, vacuums in self._connection.execute(TABLES):
            seen[f"tables.dead_tuples|{table}"] = float(dead)
            seen[f"tables.autovacuums|{table}"] = float(vacuums)
            if table not in SMALL:
                seen[f"tables.sequential_scans|{table}"] = float(scans)
        return seen

    def _counts(self) -> Sequence[float]:
        """Commits, rollbacks, blocks found in the cache, blocks read, bytes of temporary files."""
        return [float(value) for value in self._one(DATABASE, self._database)]


# What the users' sessions wait for, sampled several times per second on a session of its own.
#
# A sample is one round trip: 0.2 to 0.4 ms of CPU time of the server with 16 to 200 users (measured
# on PostgreSQL 18), a third of what the view pg_stat_activity takes. The function below it takes no
# lock on any table.

SAMPLE = """
SELECT pg_stat_clear_snapshot();
SELECT coalesce(wait_event_type || ':' || wait_event, 'running'), count(*)
FROM pg_stat_get_activity(NULL)
WHERE datid = ANY(%s) AND backend_type = 'client backend' AND state = 'active' AND pid <> ALL(%s)
GROUP BY 1"""
DATABASE_IDS = """
SELECT array_agg(oid) FROM pg_database
WHERE datname = ANY(%s) OR cardinality(%s::text[]) = 0 AND datname = current_database()"""


class PostgresWaits:
    """The waits of one database's sessions, or of those of several, except for those with the given
    process ids.
    """

    def __init__(
        self,
        connection: psycopg.Connection[tuple[Any, ...]],
        own: Sequence[int],
        databases: Sequence[str] = (),
    ) -> None:
        self._connection, self._own, names = connection, [*own], [*databases]
        [self._databases] = connection.execute(DATABASE_IDS, [names, names]).fetchone() or ([],)
        self._seen: set[str] = set()

    def read(self) -> dict[str, float]:
        """Sessions at work at this moment, by what they wait for; a wait seen once is read as 0
        when no session waits for it any more.
        """
        sample = self._connection.execute(SAMPLE, [self._databases, self._own])
        sample.nextset()
        found = {name: float(count) for name, count in sample}
        self._seen |= set(found)
        return {
            f"waits.{wait_class(name)}|{name}": found.get(name, 0.0) for name in sorted(self._seen)
        }
