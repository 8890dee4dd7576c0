"""The runtime directory of a PostgreSQL server: its socket has the name that libpq expects."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from kneebench.databases.managed import runtime as managed
from kneebench.databases.managed.account import Account
from kneebench.databases.managed.runtime import socket_folder as socket_folder
from kneebench.lab.journal import Journal

PORT = 5432
SOCKET = ".s.PGSQL.65535"
"""As long as its name can be."""


def socket_of(runtime: Path, port: int = PORT) -> Path:
    """The socket of the server that runs there."""
    return socket_folder(runtime) / f".s.PGSQL.{port}"


def runtime_directory(journal: Journal, account: Account | None) -> AbstractContextManager[Path]:
    """A new runtime directory, removed at the end."""
    return managed.runtime_directory(journal, account, SOCKET)
