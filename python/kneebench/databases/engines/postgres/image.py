"""The base image of PostgreSQL: what shapes it, and how it is built."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from kneebench.databases.engines.postgres.address import connect
from kneebench.databases.engines.postgres.launcher import (
    ACCESS,
    Launch,
    make_cluster,
    running_server,
)
from kneebench.databases.engines.postgres.query_schema import schema_of
from kneebench.databases.engines.postgres.server_address import DATABASE
from kneebench.databases.engines.postgres.server_settings import loading, settings_text
from kneebench.databases.loading import Recipe, databases_of
from kneebench.databases.managed.account import Account
from kneebench.databases.managed.base_image import DATA
from kneebench.databases.managed.copying import duplicate
from kneebench.lab.folder import Folder
from kneebench.lab.journal import Journal
from kneebench.lab.removal import empty
from kneebench.plan.workload import Workload
from kneebench.records import Event, Watch


def recipe_of(version: str, fixed: Sequence[str], workload: Workload, seed: int) -> Recipe:
    """What shapes the image of a server of that version."""
    return Recipe("postgres", version, list(fixed), workload, seed, Path(__file__).parent)


def fill(
    place: Folder,
    data: Path,
    recipe: Recipe,
    launch: Launch,
    settings: Mapping[str, str],
    journal: Journal,
    watch: Watch,
) -> dict[str, str]:
    """The data directory of a server that has loaded the rows and was shut down."""
    make_cluster(launch, data, list(map(str, recipe.fixed)))
    with place.inner(DATA) as made:
        configure(made, loading(settings), launch.account)
    with running_server(launch, data, journal, keep=True) as server:
        with connect(server.address) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}")
        address = server.address.model_copy(update={"database": DATABASE})
        with server.with_crash_report():
            load = schema_of(recipe.workload).load
            loaded = load(address, recipe.workload, recipe.seed, watch)
            with connect(server.address) as connection:
                for more in databases_of(recipe.workload, DATABASE)[1:]:
                    watch(Event(kind="progress", doing=f"copying the database: {more}", share=0.0))
                    connection.execute(f"CREATE DATABASE {more} TEMPLATE {DATABASE}".encode())
            return loaded


# A data directory that is ours from its first file: made by initdb, or put in place from an
# image.


def configure(data: Folder, settings: Mapping[str, str], account: Account | None) -> None:
    """Write the cluster's configuration: ours as a whole, so that no default of a distribution
    slips in.
    """
    texts = {
        "postgresql.conf": settings_text(settings),
        "postgresql.auto.conf": "",
        "pg_hba.conf": ACCESS,
        "pg_ident.conf": "",
    }
    for name, text in texts.items():
        data.put(name, text, account and account.owner)


def move_log(data: Folder, log: Folder) -> Folder:
    """Put pg_wal (a few segments, after a clean shutdown) into `log` and leave a link to it, as
    `initdb --waldir` does; the moved directory.
    """
    moved = log.make("pg_wal")
    with data.inner("pg_wal") as found:
        duplicate(found, moved, "copy", lambda event: None)
        empty(found)
    os.rmdir("pg_wal", dir_fd=data.handle)
    os.symlink(moved.path, "pg_wal", dir_fd=data.handle)
    return moved
