"""Whether the performance schema shows what each session reads at the moment, which the server's
list of sessions does not.
"""

from __future__ import annotations

from typing import NamedTuple

import pymysql

from kneebench.databases.engines.mariadb.session import MariadbSession

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


def reads_unseen(session: MariadbSession) -> Unseen | None:
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
