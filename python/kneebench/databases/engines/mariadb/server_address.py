"""The address of a MariaDB or MySQL server, with the defaults of its clients."""

from __future__ import annotations

from typing import Literal

from pydantic import SecretStr

from kneebench.records import Record

SOCKET = "mysqld.sock"


class MariadbAddress(Record):
    """Address of a server. It is never stored: results contain only the engine's settings.

    A host that begins with "/" is the directory of the server's socket.
    """

    host: str
    port: int = 3306
    user: str = "kneebench"
    password: SecretStr | None = None
    database: str = ""
    sslmode: Literal["disable", "prefer", "require", "verify-ca", "verify-full"] = "disable"
    sslrootcert: str = ""
    client: Literal["mariadb", "mysql"] = "mariadb"
    """The command-line client of its product, for commands that a person runs."""

    @property
    def socket(self) -> str:
        """The server's socket; empty for one that is reached over the network."""
        return f"{self.host}/{SOCKET}" if self.host.startswith("/") else ""

    @property
    def place(self) -> str:
        """Where it listens, for messages."""
        return self.socket or f"{self.host}:{self.port}"
