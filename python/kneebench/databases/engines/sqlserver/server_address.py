"""The address of a SQL Server."""

from __future__ import annotations

from pydantic import SecretStr

from kneebench.records import Record


class SqlServerAddress(Record):
    """Address of a server, with the database to use there. It is never stored: results contain only
    the engine's settings.

    `verified`: the server's certificate must be signed by one of `root_certificates` (empty: this
    machine's) and be for `host`. All connections are encrypted.
    """

    host: str
    port: int = 1433
    user: str
    password: SecretStr | None = None
    database: str
    verified: bool = True
    root_certificates: str = ""

    @property
    def server(self) -> str:
        return f"{self.host}:{self.port}"
