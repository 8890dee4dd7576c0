"""The base image of MySQL: what shapes it, and how it is built."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kneebench.databases.engines.mysql.launcher import Launch, RunningMysql
from kneebench.databases.engines.mysql.server_settings import SETTINGS
from kneebench.databases.innodb.image import configure, load_databases, make_directories
from kneebench.databases.innodb.launcher import InnodbFiles
from kneebench.databases.innodb.session import connect
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
        with RunningMysql.started(launch, files, journal, keep=True) as server:
            loaded = load_databases(server, recipe, watch)
            with connect(server.address) as session:  # it shrinks before the server has ended
                session.run(f"SET GLOBAL {SETTINGS.log} = {SETTINGS.image_log_bytes}")
    return loaded


def make_cluster(launch: Launch, data: Folder) -> None:
    """Make an empty server in a directory of the account's that has its option file."""
    make_directories(launch.account, data)
    files, what = InnodbFiles.within(data.path), f"cannot make a database in {data.path}"
    RunningMysql.run_once(launch, files, what, "--initialize-insecure")
