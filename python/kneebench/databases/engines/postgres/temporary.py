"""Temporary files in a place of their own: a tablespace, made in each restored server.

It is no part of the base image, so an image serves storages with and without one.
"""

from __future__ import annotations

from pathlib import Path

from psycopg import sql

from kneebench.databases.engines.postgres.address import connect
from kneebench.databases.engines.postgres.server_address import PostgresAddress

TABLESPACE = "kneebench_temporary"
"""The server starts with it in temp_tablespaces, which may name one that does not exist yet."""


def make_tablespace(address: PostgresAddress, directory: Path) -> None:
    """Make the tablespace in an empty directory of the server's account."""
    create = sql.SQL("CREATE TABLESPACE {} LOCATION {}")
    with connect(address) as connection:
        connection.execute(create.format(sql.Identifier(TABLESPACE), str(directory)))
