"""The address of a PostgreSQL server, with the defaults of its clients."""

from __future__ import annotations

from typing import Literal

from pydantic import SecretStr

from kneebench.records import Record

USER = DATABASE = "kneebench"
"""The role that owns every cluster of ours, and the workload's database in it."""


class PostgresAddress(Record):
    """Address of a server. It is never stored: results contain only the engine's settings."""

    host: str
    port: int = 5432
    user: str = USER
    password: SecretStr | None = None
    database: str = DATABASE
    sslmode: Literal["disable", "prefer", "require", "verify-ca", "verify-full"] = "disable"
    sslrootcert: str = ""
