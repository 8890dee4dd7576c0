"""The address of a MariaDB or MySQL server, with the defaults of its clients."""

from __future__ import annotations

from typing import ClassVar, Literal

from kneebench.databases.engine import ServerAddress

SOCKET = "mysqld.sock"


class InnodbAddress(ServerAddress):
    """Address of a server. A host that begins with "/" is the directory of the server's socket."""

    protocol: ClassVar[Literal["mysql"]] = "mysql"
    port: int = 3306
    database: str = ""
    client: Literal["mariadb", "mysql"] = "mariadb"
    """The command-line client of its product, for commands that a person runs."""

    @property
    def socket(self) -> str:
        """The server's socket; empty for one that is reached over the network."""
        return f"{self.host}/{SOCKET}" if self.host.startswith("/") else ""

    @property
    def place(self) -> str:
        return self.socket or super().place
