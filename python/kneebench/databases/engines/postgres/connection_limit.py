"""Connection limit: free connections of a running server for this role vs. those that the plan
opens.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg

from kneebench.plan.database_plan import DatabasePlan
from kneebench.records import Finding

OURS = 5
"""Sessions beside the users': two for queries, one that samples waits, one that holds the base
image, one for counts while idle."""
ALLOWED = """
SELECT current_setting('max_connections')::int,
       CASE WHEN rolsuper THEN 0
            ELSE current_setting('superuser_reserved_connections')::int
                 + coalesce(current_setting('reserved_connections', true)::int, 0) END,
       (SELECT sum(numbackends)::int - 1 FROM pg_stat_database),
       rolconnlimit
FROM pg_roles WHERE rolname = current_user"""
"""The last column is -1 if the role has no limit; this session is not counted as in use."""


def too_few_connections(
    connection: psycopg.Connection[tuple[Any, ...]], subject: str, plan: DatabasePlan
) -> Iterator[Finding]:
    """A warning if the last users of a climb or of the fixed rate would be refused, an error if
    those of a fixed load would.
    """
    most, reserved, used, of_role = connection.execute(ALLOWED).fetchone() or (0, 0, 0, -1)
    free = max(min(most - reserved - used, most if of_role < 0 else of_role) - OURS, 0)
    most_users, ladder = plan.ladder.most_users, plan.ladder
    wanted = min(most_users, plan.workload.connections or most_users)
    if wanted <= free:
        return
    limit = "" if of_role < 0 else f", the role allows {of_role}"
    raised = "max_connections" + ("" if of_role < 0 else " and the CONNECTION LIMIT of the role")
    yield Finding(
        level="error" if ladder.fixed and ladder.last > free else "warning",
        subject=subject,
        seen=(
            f"max_connections is {most}, {reserved} of them reserved, {used} in use{limit}: {free}"
            f" users can connect, the plan needs up to {wanted}"
        ),
        do=(
            f"raise {raised} (the plan needs {wanted + OURS} free), or set"
            f" {ladder.with_fewer_users(free)}"
        ),
    )
