"""The address of a PostgreSQL server, with the defaults of its clients."""

from __future__ import annotations

from typing import ClassVar, Literal

from kneebench.databases.engine import ServerAddress

USER = DATABASE = "kneebench"
"""The role that owns every cluster of ours, and the workload's database in it."""


class PostgresAddress(ServerAddress):
    """Address of a server."""

    protocol: ClassVar[Literal["postgres"]] = "postgres"
    port: int = 5432
    user: str = USER
    database: str = DATABASE
