"""Who keeps sessions waiting for a lock: by process, application, state and lock, never by the text
of a statement, which may hold secrets.

A user that waits for another user is the workload itself, however long the queue. So only waits
that lead to a session of somebody else count: one that holds the lock, or one that asked for it
first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import psycopg

from kneebench import units
from kneebench.analysis.wording import number_of_users

Connection = psycopg.Connection[tuple[Any, ...]]
OURS = (
    "datname = current_database() AND usename = current_user"
    " AND application_name = 'kneebench' AND pid <> ALL(%(asking)s)"
)
WAITING = f"""
SELECT pid, extract(epoch FROM clock_timestamp() - query_start)::float8 FROM pg_stat_activity
WHERE {OURS} AND wait_event_type = 'Lock'"""  # noqa: S608
USERS = f"SELECT pid FROM pg_stat_activity WHERE {OURS}"  # noqa: S608
QUEUE = """
WITH RECURSIVE queue (pid) AS (
    SELECT unnest(pg_blocking_pids(first)) FROM unnest(%s::int[]) AS those (first)
    UNION
    SELECT unnest(pg_blocking_pids(pid)) FROM queue)
SELECT pid FROM queue"""
LOCKERS = """
SELECT pid FROM pg_locks JOIN pg_class ON pg_class.oid = relation
WHERE mode = 'AccessExclusiveLock' AND relnamespace = 'public'::regnamespace
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
WANTED = """
SELECT DISTINCT relation FROM pg_locks
WHERE pid = ANY(%s) AND NOT granted AND relation IS NOT NULL"""
SEEN = """
SELECT pid, coalesce(nullif(application_name, ''), backend_type), state,
    extract(epoch FROM clock_timestamp() - state_change)::float8, pg_blocking_pids(pid),
    (SELECT string_agg(DISTINCT format('%%s%%s on %%I.%%I',
         CASE WHEN NOT granted THEN 'waits for ' END, mode, nspname, relname), ', ')
     FROM pg_locks JOIN pg_class ON pg_class.oid = relation
         JOIN pg_namespace ON pg_namespace.oid = relnamespace
     WHERE pg_locks.pid = those.pid AND (relation = ANY(%s) OR NOT granted))
FROM unnest(%s::int[]) AS those (pid) LEFT JOIN pg_stat_activity USING (pid) ORDER BY pid"""
"""Without pg_monitor, another role's session shows neither application nor state."""


def end_stuck(session: Connection, asking: Sequence[int], for_s: float) -> str:
    """Who has kept our users waiting for so long; empty where nobody has.

    `asking` are our own sessions that are no users.

    Then all users that wait are ended: else what they ask for would happen once the lock is free,
    long after us.
    """
    own = {"asking": list(asking)}
    waiting: dict[int, float] = dict(session.execute(WAITING.encode(), own).fetchall())
    long = [pid for pid, waited_s in waiting.items() if waited_s > for_s]
    users = _pids(session, USERS, own) if long else []
    others = [pid for pid in _pids(session, QUEUE, [long]) if pid not in users] if long else []
    if not others:
        return ""
    seen = _described(session, others, _pids(session, WANTED, [[*long, *others]]))
    session.execute(
        "SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) AS those (pid)", [list(waiting)]
    )
    return (
        f"{number_of_users(len(waiting))} waited up to {units.time(max(waiting.values()))} for a"
        f" lock held by {seen}"
    )


def end_users(session: Connection, asking: Sequence[int]) -> int:
    """Terminate the sessions of all users; how many there still are."""
    left = _pids(session, USERS, {"asking": list(asking)})
    session.execute(
        "SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) AS those (pid)", [left]
    )
    return len(left)


def lockers(session: Connection) -> str:
    """Who holds or wants one of the workload's tables for itself alone, and whom that one waits
    for; empty where nobody does.
    """
    first = _pids(session, LOCKERS)
    others = (
        [*first, *(pid for pid in _pids(session, QUEUE, [first]) if pid not in first)]
        if first
        else []
    )
    return _described(session, others, _pids(session, WANTED, [others])) if others else ""


def _pids(session: Connection, query: str, given: Any = None) -> list[int]:
    return [pid for (pid,) in session.execute(query.encode(), given).fetchall()]


def _described(session: Connection, pids: Iterable[int], wanted: Sequence[int]) -> str:
    rows = session.execute(SEEN.encode(), [list(wanted), sorted(set(pids))]).fetchall()
    return "; ".join(_one(*row) for row in rows)


def _one(
    pid: int,
    application: str | None,
    state: str | None,
    for_s: float | None,
    behind: Sequence[int],
    locks: str | None,
) -> str:
    """One session in words.

    >>> _one(7, "psql", "idle in transaction", 75.0, [], "ShareLock on public.orders")
    "process 7 (application 'psql', idle in transaction for 1.25 min, ShareLock on public.orders)"
    """
    if pid == 0:
        return "a prepared transaction (pg_prepared_xacts)"
    shown = [f"application {application!r}", f"{state} for {units.time(for_s or 0.0)}"]
    facts = shown if state else ["details hidden from this role; grant pg_monitor"]
    if locks:
        facts.append(locks)
    if behind:
        facts.append(f"blocked by process {', '.join(map(str, sorted(set(behind))))}")
    return f"process {pid} ({', '.join(facts)})"
