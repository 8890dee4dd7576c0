"""A MariaDB of a benchmark's own, in a temporary directory on the disk."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

from bench.servers import usable
from kneebench.databases.engines.mariadb.builds import PLACES, PROGRAM, find_build, server_account
from kneebench.databases.engines.mariadb.image import DATABASE, configure, make_cluster
from kneebench.databases.engines.mariadb.launcher import (
    Launch,
    MariadbFiles,
    running_server,
)
from kneebench.databases.engines.mariadb.server_address import SOCKET, MariadbAddress
from kneebench.databases.engines.mariadb.server_settings import ALWAYS
from kneebench.databases.managed.ownership import home
from kneebench.databases.managed.runtime import runtime_directory
from kneebench.lab.folder import Folder
from kneebench.lab.journal import Journal


def missing() -> str:
    """Why there can be no such server; empty where there can."""
    found = any((place / PROGRAM).exists() for place in PLACES)
    return "" if found else f"no {PROGRAM} (Debian: mariadb-server-core)"


@contextlib.contextmanager
def mariadb_server(
    settings: Mapping[str, str], cores: Sequence[int] = ()
) -> Iterator[MariadbAddress]:
    """A running server on these cores (empty: all), and its empty database; removed at the end."""
    journal, account = Journal(), server_account()
    with runtime_directory(journal, account, SOCKET) as runtime:
        launch = Launch(find_build(None), account, runtime, usable(cores))
        data = home(runtime, "data", account)
        with Folder.at(data) as made:
            configure(made, {**ALWAYS, **settings}, account)
            make_cluster(launch, made)
        with running_server(launch, MariadbFiles.within(data), journal) as server:
            yield server.address.model_copy(update={"database": DATABASE})
