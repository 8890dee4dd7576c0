"""The runtime directory of a PostgreSQL server: its socket has the name that libpq expects."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from kneebench.databases.managed import runtime as managed
from kneebench.databases.managed.account import Account
from kneebench.databases.managed.runtime import socket_folder as socket_folder
from kneebench.lab.journal import Journal

PORT = 5432
SOCKET = f".s.PGSQL.{PORT}"


def socket_of(runtime: Path) -> Path:
    """The socket of the server that runs there."""
    return socket_folder(runtime) / SOCKET


def runtime_directory(journal: Journal, account: Account | None) -> AbstractContextManager[Path]:
    """A new runtime directory, removed at the end."""
    return managed.runtime_directory(journal, account, SOCKET)
