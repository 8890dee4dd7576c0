"""The base image of MariaDB: what shapes it, and how it is built."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kneebench.databases.engines.mariadb.builds import (
    PERFORMANCE_TABLES,
    SYSTEM_TABLES,
    first_of,
)
from kneebench.databases.engines.mariadb.launcher import Launch, RunningMariadb
from kneebench.databases.engines.mariadb.server_settings import SETTINGS
from kneebench.databases.innodb.builds import InnodbBuild
from kneebench.databases.innodb.image import configure, load_databases, make_directories
from kneebench.databases.innodb.launcher import InnodbFiles
from kneebench.databases.loading import Recipe
from kneebench.databases.managed.base_image import DATA
from kneebench.lab.folder import Folder
from kneebench.lab.journal import Journal
from kneebench.records import Watch


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
    files, hurried = InnodbFiles.within(data), SETTINGS.loading(settings)
    with place.inner(DATA) as made:
        configure(made, SETTINGS.text(hurried), launch.account)
        make_cluster(launch, made)
        with RunningMariadb.started(launch, files, journal, keep=True) as server:
            loaded = load_databases(server, recipe, watch)
        small = {**hurried, SETTINGS.log: str(SETTINGS.image_log_bytes)}
        configure(made, SETTINGS.text(small), launch.account)
        what = "cannot make the log of the base image"
        RunningMariadb.run_once(launch, files, what, "--bootstrap")
    return loaded


ACCESS = f"""
FLUSH PRIVILEGES;
CREATE USER {RunningMariadb.user}@localhost;
GRANT ALL ON *.* TO {RunningMariadb.user}@localhost WITH GRANT OPTION;
"""


def make_cluster(launch: Launch, data: Folder) -> None:
    """Make an empty server in a directory of the account's that has its option file, by the
    server's own statements for its system tables.
    """
    make_directories(launch.account, data)
    statements = f"CREATE DATABASE mysql;\nUSE mysql;\n{system_tables(launch.build)}\n{ACCESS}"
    files, what = InnodbFiles.within(data.path), f"cannot make a database in {data.path}"
    RunningMariadb.run_once(launch, files, what, "--bootstrap", statements=statements)


def system_tables(build: InnodbBuild) -> str:
    """The build's statements for them."""
    files = (first_of(build.share, names) for names in (SYSTEM_TABLES, PERFORMANCE_TABLES))
    return "\n".join(file.read_text() for file in files if file)
