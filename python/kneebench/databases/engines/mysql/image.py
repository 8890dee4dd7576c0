"""The base image of MySQL: what shapes it, and how it is built."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kneebench.databases.engines.mariadb.image import DATABASE, make_directories
from kneebench.databases.engines.mariadb.launcher import (
    SETTINGS_FILE,
    MariadbFiles,
)
from kneebench.databases.engines.mariadb.query_schema import schema_of
from kneebench.databases.engines.mariadb.server_settings import given
from kneebench.databases.engines.mariadb.session import connect
from kneebench.databases.engines.mysql.builds import MysqlBuild
from kneebench.databases.engines.mysql.launcher import Launch, initialize, running_server
from kneebench.databases.engines.mysql.server_settings import (
    IMAGE_LOG_BYTES,
    loading,
    settings_text,
)
from kneebench.databases.engines.mysql.server_settings import (
    LOG as CAPACITY,
)
from kneebench.databases.loading import Recipe
from kneebench.databases.managed.account import Account
from kneebench.databases.managed.base_image import DATA
from kneebench.lab.folder import Folder
from kneebench.lab.journal import Journal
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.workload import Workload
from kneebench.records import Watch

FIXED = (
    *("innodb_page_size", "innodb_file_per_table", "innodb_default_row_format"),
    *("innodb_fill_factor", "default_table_encryption", "lower_case_table_names"),
)
"""Settings that the files keep from the moment when they are made."""


def recipe_of(version: str, fixed: Mapping[str, str], workload: Workload, seed: int) -> Recipe:
    """What shapes the image of a server of that version; its SQL is MariaDB's."""
    sql = Path(__file__).parent.parent / "mariadb"
    return Recipe("mysql", version, dict(fixed), workload, seed, sql)


def fixed(plan: DatabasePlan, build: MysqlBuild) -> dict[str, str]:
    """Those of a plan's settings that shape the image."""
    return {name: value for name, value in given(plan).items() if name in FIXED}


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
    files, hurried = MariadbFiles.within(data), loading(settings)
    with place.inner(DATA) as made:
        make_directories(launch.account, made)
        configure(made, hurried, launch.account)
        initialize(launch, files, f"cannot make a database in {data}")
        with running_server(launch, files, journal, keep=True) as server:
            with connect(server.address) as session:
                session.run(f"CREATE DATABASE {DATABASE}")
            address = server.address.model_copy(update={"database": DATABASE})
            with server.with_crash_report():
                load = schema_of(recipe.workload).load
                loaded = load(address, recipe.workload, recipe.seed, watch)
            with connect(server.address) as session:  # it shrinks before the server has ended
                session.run(f"SET GLOBAL {CAPACITY} = {IMAGE_LOG_BYTES}")
    return loaded


def configure(data: Folder, settings: Mapping[str, str], account: Account | None) -> None:
    """Write the option file: the only one that is read."""
    data.put(SETTINGS_FILE, settings_text(settings), account and account.owner)
