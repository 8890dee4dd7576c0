"""The base image of MariaDB: what shapes it, and how it is built."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kneebench.databases.engines.mariadb.builds import (
    PERFORMANCE_TABLES,
    SYSTEM_TABLES,
    MariadbBuild,
    first_of,
)
from kneebench.databases.engines.mariadb.launcher import (
    FILES,
    LOG,
    SETTINGS_FILE,
    TEMPORARY,
    USER,
    Launch,
    MariadbFiles,
    run_bootstrap,
    running_server,
)
from kneebench.databases.engines.mariadb.query_schema import schema_of
from kneebench.databases.engines.mariadb.server_settings import (
    IMAGE_LOG_BYTES,
    given,
    loading,
    settings_text,
)
from kneebench.databases.loading import Recipe
from kneebench.databases.managed.account import Account
from kneebench.databases.managed.base_image import DATA
from kneebench.lab.folder import Folder
from kneebench.lab.journal import Journal
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.workload import Workload
from kneebench.records import Watch


def recipe_of(version: str, fixed: Mapping[str, str], workload: Workload, seed: int) -> Recipe:
    """What shapes the image of a server of that version."""
    return Recipe("mariadb", version, dict(fixed), workload, seed, Path(__file__).parent)


FIXED = (
    *("innodb_page_size", "innodb_checksum_algorithm", "innodb_undo_tablespaces"),
    *("innodb_compression_default", "innodb_encrypt_tables", "innodb_file_per_table"),
    *("innodb_default_row_format", "innodb_compression_algorithm", "innodb_fill_factor"),
)
"""Settings that the files keep from the moment when they are made."""


def fixed(plan: DatabasePlan, build: MariadbBuild) -> dict[str, str]:
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
        configure(made, hurried, launch.account)
        make_cluster(launch, made)
        with running_server(launch, files, journal, keep=True) as server:
            address = server.address.model_copy(update={"database": DATABASE})
            with server.with_crash_report():
                load = schema_of(recipe.workload).load
                loaded = load(address, recipe.workload, recipe.seed, watch)
        small = {**hurried, "innodb_log_file_size": str(IMAGE_LOG_BYTES)}
        configure(made, small, launch.account)
        run_bootstrap(launch, files, "", "cannot make the log of the base image")
    return loaded


# A data directory that is ours from its first file: made by the server's own statements for its
# system tables, or put in place from an image.

DATABASE = "kneebench"
"""The workload's database on every server of ours."""
ACCESS = f"""
FLUSH PRIVILEGES;
CREATE USER {USER}@localhost;
GRANT ALL ON *.* TO {USER}@localhost WITH GRANT OPTION;
CREATE DATABASE {DATABASE};
"""
"""Only who may enter the socket's directory comes this far: the server's account, and root."""


def configure(data: Folder, settings: Mapping[str, str], account: Account | None) -> None:
    """Write the option file: the only one that is read, so that no default of a distribution slips
    in.
    """
    data.put(SETTINGS_FILE, settings_text(settings), account and account.owner)


def make_directories(account: Account | None, data: Folder) -> None:
    """Those of tables, log and temporary files, the account's."""
    for name in (FILES, LOG, TEMPORARY):
        with data.make(name) as made:
            if account:
                account.owns(made.handle)


def make_cluster(launch: Launch, data: Folder) -> None:
    """Make an empty server in a directory of the account's that has its option file."""
    make_directories(launch.account, data)
    statements = f"CREATE DATABASE mysql;\nUSE mysql;\n{system_tables(launch.build)}\n{ACCESS}"
    run_bootstrap(
        launch, MariadbFiles.within(data.path), statements, f"cannot make a database in {data.path}"
    )


def system_tables(build: MariadbBuild) -> str:
    """The build's statements for them."""
    files = (first_of(build.share, names) for names in (SYSTEM_TABLES, PERFORMANCE_TABLES))
    return "\n".join(file.read_text() for file in files if file)
