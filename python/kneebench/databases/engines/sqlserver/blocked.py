"""Who keeps the users' sessions waiting for a lock: sessions that are none of ours, by program,
host and login, never by the text of a statement, which may hold secrets.
"""

from __future__ import annotations

from collections.abc import Sequence

from kneebench import units
from kneebench.analysis.wording import number_of_users
from kneebench.databases.engines.sqlserver.session import (
    SqlError,
    SqlServerSession,
    literal,
    quoted,
)

WAITING = """
SELECT r.session_id, r.blocking_session_id, r.wait_time / 1000.0 FROM sys.dm_exec_requests r
JOIN sys.dm_exec_sessions s ON s.session_id = r.session_id
WHERE r.database_id = DB_ID({database}) AND r.blocking_session_id > 0
    AND s.program_name = 'kneebench' AND r.session_id NOT IN ({own})"""
OTHERS = """
SELECT session_id, program_name, host_name, login_name, status FROM sys.dm_exec_sessions
WHERE session_id IN ({ids}) AND (program_name IS NULL OR program_name <> 'kneebench')"""
USERS = """
SELECT session_id FROM sys.dm_exec_sessions
WHERE program_name = 'kneebench' AND database_id = DB_ID({database})
    AND session_id NOT IN ({own})"""
NO_PERMISSION = 6102
"""The error of KILL for a login without ALTER ANY CONNECTION."""
GRANT_KILL = "GRANT ALTER ANY CONNECTION TO {}"


def end_stuck(session: SqlServerSession, database: str, own: Sequence[int], for_s: float) -> str:
    """Which foreign sessions have kept users waiting for so long; empty where none has. Then all
    users that wait are ended, or the grant that is missing for it is named.
    """
    query = WAITING.format(database=literal(database), own=", ".join(map(str, own)))
    waiting = {spid: (behind, float(waited_s)) for spid, behind, waited_s in session.execute(query)}
    long = [behind for behind, waited_s in waiting.values() if waited_s > for_s]
    heads = {_head(behind, waiting) for behind in long}
    others = session.execute(OTHERS.format(ids=", ".join(map(str, heads)))) if heads else []
    if not others:
        return ""
    refused = [spid for spid in waiting if not _end(session, spid)]
    seen = "; ".join(_described(*row) for row in others)
    longest = units.time(max(waited_s for _, waited_s in waiting.values()))
    grant = GRANT_KILL.format(quoted(session.address.user))
    left = f", and the login may not end their sessions; {grant}" if refused else ""
    waited = f"{number_of_users(len(waiting))} waited up to {longest}"
    return f"{waited} for a lock held by {seen}{left}"


def end_users(session: SqlServerSession, database: str, own: Sequence[int]) -> int:
    """Kill the sessions of all users; how many there still are."""
    query = USERS.format(database=literal(database), own=", ".join(map(str, own)))
    left = [int(spid) for (spid,) in session.execute(query)]
    for spid in left:
        _end(session, spid)
    return len(left)


def _head(spid: int, waiting: dict[int, tuple[int, float]]) -> int:
    """The session at the head of a queue."""
    seen: set[int] = set()
    while spid in waiting and spid not in seen:
        seen.add(spid)
        spid = waiting[spid][0]
    return spid


def _end(session: SqlServerSession, spid: int) -> bool:
    """Whether a session is ended, or was already; False where the login may not end any."""
    try:
        session.execute(f"KILL {spid:d}")
    except SqlError as error:
        if error.lost:
            raise
        return error.number != NO_PERMISSION
    return True


def _described(
    spid: int, program: str | None, host: str | None, login: str | None, status: str | None
) -> str:
    """One session in words.

    >>> _described(57, "SSMS", "desk", "me", "sleeping")
    "session 57 (program 'SSMS' on desk, login me, sleeping)"
    """
    return f"session {spid} (program {program!r} on {host}, login {login}, {status})"
