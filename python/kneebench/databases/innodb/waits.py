"""What the users' sessions wait for, sampled several times per second on a session of its own.

A session that works is in one state of the server's list of sessions. Whether it reads a page, that
list does not tell: the performance schema does. Nor whether it waits for a row, and the list of
InnoDB's transactions cannot be used: it is renewed only where nobody has read it for 100 ms, which
is how often it would be read here. So InnoDB's number of current row lock waits is taken from the
sessions in states that count as work, from the most frequent ones first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pymysql

from kneebench.databases.innodb.properties import wait_class
from kneebench.databases.innodb.session import InnodbSession

ROW_LOCK = "row lock"
LOCKS = """
UNION ALL
SELECT 'row lock', count FROM information_schema.innodb_metrics
WHERE name = 'lock_row_lock_current_waits'"""
WITH_FILES = """
SELECT COALESCE(file.event_name, NULLIF(list.processlist_state, ''), '{stateless}'), count(*)
FROM performance_schema.threads AS list
LEFT JOIN performance_schema.events_waits_current AS file
    ON file.thread_id = list.thread_id AND file.end_event_id IS NULL
        AND file.event_name LIKE 'wait/io/file/%%'
WHERE list.processlist_db = DATABASE() AND list.processlist_command IN ('Query', 'Execute')
    AND list.processlist_id NOT IN ({own})
GROUP BY 1"""
"""A thread is in one file at a time; what it waits for around that (a row of a table) and within
that (a mutex) are other events.

A sixth of the CPU of the other one, measured with ten sessions on 10.11: 70 and 400 microseconds
for the list alone."""
BY_THREAD = """
SELECT COALESCE(NULLIF(processlist_state, ''), '{stateless}'), count(*)
FROM performance_schema.threads
WHERE processlist_db = DATABASE() AND processlist_command IN ('Query', 'Execute')
    AND processlist_id NOT IN ({own})
GROUP BY 1"""
BY_STATE = """
SELECT COALESCE(NULLIF(state, ''), 'running'), count(*) FROM information_schema.processlist
WHERE db = DATABASE() AND command IN ('Query', 'Execute') AND id NOT IN ({own})
GROUP BY 1"""
"""MySQL's list takes a mutex that every statement needs: only where nothing else can be read."""
AFTER_THE_END = "Updating status"
"""The state of MariaDB for which its performance schema has none: a statement has ended, and its
commit is not yet written."""
READS_UNSEEN = "waits.reads_unseen|database"


class InnodbWaits:
    """The waits of one database's sessions, or of those of several of ours, except for those with
    the given numbers.
    """

    def __init__(
        self, session: InnodbSession, own: Sequence[int], databases: Sequence[str] = ()
    ) -> None:
        self.unseen = reads_unseen(session)
        asked = _query_of(self.unseen)
        self._session, self._seen = session, set[str]()
        stateless = AFTER_THE_END if session.is_mariadb else "running"
        asked = asked.format(own=", ".join(map(str, own)), stateless=stateless)
        if names := ", ".join(f"'{name}'" for name in databases):
            asked = asked.replace("= DATABASE()", f"IN ({names})")
        self._query = f"{asked}{LOCKS}"

    def read(self) -> dict[str, float]:
        """Sessions at work at this moment, by what they wait for; a wait seen once is read as 0
        when no session waits for it any more.

        Where reads are not seen, it says so: they are not measured, instead of 0.
        """
        seen = {str(name): int(count) for name, count in self._session.rows(self._query)}
        found = with_locks(seen, seen.pop(ROW_LOCK, 0))
        self._seen |= set(found)
        return {
            f"waits.{wait_class(name)}|{name}": float(found.get(name, 0))
            for name in sorted(self._seen)
        } | ({READS_UNSEEN: 1.0} if self.unseen else {})


def _query_of(unseen: Unseen | None) -> str:
    """The query of the session's states that shows the most, and costs the server the least."""
    if unseen is None:
        return WITH_FILES
    return BY_THREAD if unseen.readable else BY_STATE


def with_locks(sessions: Mapping[str, int], locks: int) -> dict[str, int]:
    """The sessions by state, so many of those at work in place of that waiting for a row.

    >>> with_locks({"Updating": 3, "Commit": 4, "Sending data": 1}, 2)
    {'Updating': 1, 'Commit': 4, 'Sending data': 1, 'row lock': 2}
    >>> with_locks({"Commit": 4}, 2)
    {'Commit': 4}
    """
    found, left = dict(sessions), locks
    at_work = [name for name in found if wait_class(name) == "cpu"]
    for name in sorted(at_work, key=lambda name: -found[name]):
        moved = min(left, found[name])
        found[name] -= moved
        left -= moved
    waiting = locks - left
    return {**found, ROW_LOCK: waiting} if waiting else found


# Whether the performance schema shows what each session reads at the moment, which the server's
# list of sessions does not.

CONSUMERS = ("global_instrumentation", "thread_instrumentation", "events_waits_current")
"""All of them must be on; the last one is off by default."""
DATA_FILES = "wait/io/file/innodb/innodb_data_file"
OFF = """
SELECT 'consumers', name FROM performance_schema.setup_consumers
WHERE name IN %s AND enabled <> 'YES'
UNION ALL
SELECT 'instruments', name FROM performance_schema.setup_instruments
WHERE name = %s AND enabled <> 'YES'"""
TURN_ON = "UPDATE performance_schema.setup_{kind} SET enabled = 'YES' WHERE name = '{name}'"
AS_WORK = "reads of data are not measured as waits and count as work"


class Unseen(NamedTuple):
    """Why reads are not seen, and what to do about it. `readable`: the performance schema's other
    tables answer.
    """

    seen: str
    do: str
    readable: bool = False


def reads_unseen(session: InnodbSession) -> Unseen | None:
    """None where the reads of sessions are seen."""
    if not session.value("SELECT @@GLOBAL.performance_schema"):
        do = "set performance_schema = ON in the server's option file, and restart it"
        return Unseen(f"performance_schema is off: {AS_WORK}", do)
    try:
        off = session.rows(OFF, CONSUMERS, DATA_FILES)
    except pymysql.Error:
        do = f"GRANT SELECT ON performance_schema.* TO {session.account}"
        return Unseen(f"the user may not read performance_schema: {AS_WORK}", do)
    if not off:
        return None
    names = ", ".join(str(name) for _, name in off)
    return Unseen(
        f"the performance schema does not record {names}: {AS_WORK}",
        "; ".join(TURN_ON.format(kind=kind, name=name) for kind, name in off),
        readable=True,
    )
