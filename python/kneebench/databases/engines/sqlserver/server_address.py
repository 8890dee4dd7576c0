"""The address of a SQL Server."""

from __future__ import annotations

from typing import ClassVar, Literal

from kneebench.databases.engine import ServerAddress


class SqlServerAddress(ServerAddress):
    """Address of a server, with the database to use there. All connections are encrypted.

    `sslmode`: verify-full, where the certificate must be for `host` and signed by one of the
    authorities in `sslrootcert` (empty: this machine's); require, where it is not checked.
    """

    protocol: ClassVar[Literal["tds"]] = "tds"
    port: int = 1433
    user: str
    sslmode: Literal["require", "verify-full"] = "verify-full"
