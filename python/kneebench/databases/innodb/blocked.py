"""Who keeps sessions waiting for a lock: by session, user, host, command and state, never by the
text of a statement, which may hold secrets.

A user that waits for another user is the workload itself, however long the queue. So only waits
that lead to a session of somebody else count.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import pymysql

from kneebench import units
from kneebench.analysis.wording import number_of_users
from kneebench.databases.innodb.session import InnodbSession, Row

USERS = """
SELECT id FROM information_schema.processlist
WHERE db = DATABASE() AND user = SUBSTRING_INDEX(CURRENT_USER(), '@', 1)"""
ROW_WAITS = """
SELECT waiting.trx_mysql_thread_id, blocking.trx_mysql_thread_id,
    TIMESTAMPDIFF(SECOND, waiting.trx_wait_started, NOW())
FROM information_schema.innodb_lock_waits
JOIN information_schema.innodb_trx AS waiting ON waiting.trx_id = requesting_trx_id
JOIN information_schema.innodb_trx AS blocking ON blocking.trx_id = blocking_trx_id"""
ROW_WAITS_MYSQL = """
SELECT waiting.trx_mysql_thread_id, blocking.trx_mysql_thread_id,
    TIMESTAMPDIFF(SECOND, waiting.trx_wait_started, NOW())
FROM performance_schema.data_lock_waits
JOIN information_schema.innodb_trx AS waiting
    ON waiting.trx_id = requesting_engine_transaction_id
JOIN information_schema.innodb_trx AS blocking
    ON blocking.trx_id = blocking_engine_transaction_id"""
"""It has no other table of lock waits (MySQL's reference manual, "Using InnoDB Transaction and
Locking Information"). It requires SELECT on performance_schema."""
DENIED = 1142
"""SELECT on that table."""
TABLE_WAITS = """
SELECT id, time FROM information_schema.processlist
WHERE db = DATABASE() AND state LIKE 'Waiting for %% lock'"""
HOLDERS = """
SELECT trx_mysql_thread_id FROM information_schema.innodb_trx
WHERE trx_started < NOW() - INTERVAL %s SECOND"""
CACHED_S = 0.15
"""InnoDB shows transactions and their waits as they were at the last look, up to 0.1 s ago: a wait
that is over would end users (MySQL's reference manual, "Persistence and Consistency of InnoDB
Transaction and Locking Information")."""
SEEN = """
SELECT id, user, host, command, state, time FROM information_schema.processlist
WHERE id IN ({}) ORDER BY id"""


def end_stuck(session: InnodbSession, own: Sequence[int], for_s: float) -> str:
    """Who has kept our users waiting for so long; empty where nobody has.

    `own` are our own sessions that are no users. Then all users that wait are ended: else what they
    ask for would happen once the lock is free, long after us.
    """
    if not any(waited_s > for_s for _, _, waited_s in _waits(session, for_s)):
        return ""
    time.sleep(CACHED_S)
    users = {int(one) for (one,) in session.rows(USERS)} - {*own}
    waits = [one for one in _waits(session, for_s) if one[0] in users]
    long = [one for one in waits if one[2] > for_s]
    others = {one[1] for one in long} - users - {*own, 0}
    unknown = any(not one[1] for one in long)
    if not (others or unknown):
        return ""
    seen = _described(session, sorted(others)) or "a session that cannot be seen"
    waiting = {one[0] for one in waits}
    for user in waiting:
        end_session(session, user)
    longest = units.time(max(one[2] for one in waits))
    return f"{number_of_users(len(waiting))} waited up to {longest} for a lock held by {seen}"


def end_users(session: InnodbSession, own: Sequence[int]) -> int:
    """Kill the sessions of all users; how many there still are."""
    left = {int(one) for (one,) in session.rows(USERS)} - {*own}
    for user in left:
        end_session(session, user)
    return len(left)


def _waits(session: InnodbSession, for_s: float) -> list[tuple[int, int, float]]:
    """(who waits, for whom, seconds). A table's lock does not say who holds it: most likely whoever
    has had a transaction open for as long; 0 where nobody has.
    """
    found = [(int(one), int(other), float(s or 0)) for one, other, s in _row_waits(session)]
    tables = [(int(one), float(waited_s)) for one, waited_s in session.rows(TABLE_WAITS)]
    if not any(waited_s > for_s for _, waited_s in tables):
        return found
    holders = [int(one) for (one,) in session.rows(HOLDERS, round(for_s))] or [0]
    return [*found, *((one, holder, s) for one, s in tables for holder in holders)]


def _row_waits(session: InnodbSession) -> list[Row]:
    """None are seen on MySQL without the right to read its performance schema."""
    if session.is_mariadb:
        return session.rows(ROW_WAITS)
    try:
        return session.rows(ROW_WAITS_MYSQL)
    except pymysql.OperationalError as error:
        if error.args[0] != DENIED:
            raise
        return []


def holders(session: InnodbSession, own: Sequence[int]) -> str:
    """Sessions that are none of ours and have had a transaction open for some seconds: most likely
    one of them has the lock that was waited for.
    """
    found = {int(one) for (one,) in session.rows(HOLDERS, 5)} - {*own, 0}
    return _described(session, sorted(found))


def _described(session: InnodbSession, ids: Sequence[int]) -> str:
    if not ids:
        return ""
    rows = session.rows(SEEN.format(", ".join(map(str, ids))))
    return "; ".join(_one(*row) for row in rows)


def _one(number: int, user: str, host: str, command: str, state: str | None, time_s: int) -> str:
    """One session in words.

    >>> _one(7, "ada", "db1:4711", "Sleep", "", 75)
    "session 7 (user 'ada' from db1, Sleep for 1.25 min)"
    """
    doing = f"{command}: {state}" if state else command
    place = host.partition(":")[0]
    how_long = f" for {units.time(float(time_s))}" if time_s else ""
    return f"session {number} (user {user!r} from {place}, {doing}{how_long})"


def end_session(session: InnodbSession, number: int) -> None:
    """End a session, unless it has ended."""
    try:
        session.run(f"KILL CONNECTION {number}")
    except pymysql.OperationalError as error:
        if error.args[0] != 1094:  # unknown thread
            raise
