"""A data directory that is ours from its first file: made by the server's own statements for its
system tables, or put in place from an image.
"""

from __future__ import annotations

from collections.abc import Mapping

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
)
from kneebench.databases.engines.mariadb.server_settings import settings_text
from kneebench.databases.managed.account import Account
from kneebench.lab.folder import Folder

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


def make_cluster(launch: Launch, data: Folder) -> None:
    """Make an empty server in a directory of the account's that has its option file."""
    for name in (FILES, LOG, TEMPORARY):
        with data.make(name) as made:
            if launch.account:
                launch.account.owns(made.handle)
    statements = f"CREATE DATABASE mysql;\nUSE mysql;\n{system_tables(launch.build)}\n{ACCESS}"
    run_bootstrap(
        launch, MariadbFiles.within(data.path), statements, f"cannot make a database in {data.path}"
    )


def system_tables(build: MariadbBuild) -> str:
    """The build's statements for them."""
    files = (first_of(build.share, names) for names in (SYSTEM_TABLES, PERFORMANCE_TABLES))
    return "\n".join(file.read_text() for file in files if file)
