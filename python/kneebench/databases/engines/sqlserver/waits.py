"""What the users' sessions wait for, sampled several times per second on a session of its own."""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.databases.engines.sqlserver.properties import wait_class
from kneebench.databases.engines.sqlserver.session import SqlServerSession, literal

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
