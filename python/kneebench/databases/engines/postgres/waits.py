"""What the users' sessions wait for, sampled several times per second on a session of its own.

A sample is one round trip: 0.2 to 0.4 ms of CPU time of the server with 16 to 200 users (measured
on PostgreSQL 18), a third of what the view pg_stat_activity takes. The function below it takes no
lock on any table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg

from kneebench.databases.engines.postgres.properties import wait_class

SAMPLE = """
SELECT pg_stat_clear_snapshot();
SELECT coalesce(wait_event_type || ':' || wait_event, 'running'), count(*)
FROM pg_stat_get_activity(NULL)
WHERE datid = %s AND backend_type = 'client backend' AND state = 'active' AND pid <> ALL(%s)
GROUP BY 1"""
DATABASE = "SELECT oid FROM pg_database WHERE datname = current_database()"


class PostgresWaits:
    """The waits of one database's sessions, except for those with the given process ids."""

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]], own: Sequence[int]) -> None:
        self._connection, self._own = connection, [*own]
        self._database = (connection.execute(DATABASE).fetchone() or (0,))[0]
        self._seen: set[str] = set()

    def read(self) -> dict[str, float]:
        """Sessions at work at this moment, by what they wait for; a wait seen once is read as 0
        when no session waits for it any more.
        """
        sample = self._connection.execute(SAMPLE, [self._database, self._own])
        sample.nextset()
        found = {name: float(count) for name, count in sample}
        self._seen |= set(found)
        return {
            f"waits.{wait_class(name)}|{name}": found.get(name, 0.0) for name in sorted(self._seen)
        }
