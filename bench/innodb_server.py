"""A MariaDB or MySQL of a benchmark's own, in a temporary directory on the disk."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.servers import usable
from kneebench.databases.engines.mariadb import builds as mariadb_builds
from kneebench.databases.engines.mariadb import image as mariadb_image
from kneebench.databases.engines.mariadb.launcher import RunningMariadb
from kneebench.databases.engines.mariadb.server_settings import SETTINGS as OF_MARIADB
from kneebench.databases.engines.mysql import builds as mysql_builds
from kneebench.databases.engines.mysql import image as mysql_image
from kneebench.databases.engines.mysql.launcher import RunningMysql
from kneebench.databases.engines.mysql.server_settings import SETTINGS as OF_MYSQL
from kneebench.databases.innodb.builds import InnodbBuild, server_account
from kneebench.databases.innodb.image import DATABASE, configure
from kneebench.databases.innodb.launcher import InnodbFiles, RunningInnodb
from kneebench.databases.innodb.server_address import SOCKET, InnodbAddress
from kneebench.databases.innodb.server_settings import ALWAYS, ProductSettings
from kneebench.databases.innodb.session import connect
from kneebench.databases.managed.launching import Launch
from kneebench.databases.managed.ownership import home
from kneebench.databases.managed.runtime import runtime_directory
from kneebench.errors import PlanError
from kneebench.lab.folder import Folder
from kneebench.lab.journal import Journal

FETCHED = Path(__file__).parent.parent / ".tools" / "mysql" / "bin"


class Product(NamedTuple):
    """MariaDB or MySQL: its build, its server, its settings, and how it is made."""

    name: str
    find_build: Callable[[], InnodbBuild]
    running: type[RunningInnodb]
    settings: ProductSettings
    make: Callable[[Launch[Any], Folder], None]

    @property
    def missing(self) -> str:
        """Why there can be no such server; empty where there can."""
        try:
            self.find_build()
        except PlanError as error:
            return error.seen
        return ""


MARIADB = Product(
    *("MariaDB", lambda: mariadb_builds.find_build(None), RunningMariadb),
    *(OF_MARIADB, mariadb_image.make_cluster),
)
MYSQL = Product(
    *("MySQL", lambda: mysql_builds.find_build(FETCHED), RunningMysql),
    *(OF_MYSQL, mysql_image.make_cluster),
)
"""What `make debian` fetches."""


@contextlib.contextmanager
def innodb_server(
    product: Product, settings: Mapping[str, str], cores: Sequence[int] = ()
) -> Iterator[InnodbAddress]:
    """A running server on these cores (empty: all), and its empty database; removed at the end."""
    journal, account = Journal(), server_account()
    with runtime_directory(journal, account, SOCKET) as runtime:
        launch = Launch(product.find_build(), account, runtime, usable(cores))
        data = home(runtime, "data", account)
        with Folder.at(data) as made:
            text = product.settings.text({**ALWAYS, "local_infile": "ON", **settings})
            configure(made, text, account)
            product.make(launch, made)
        with product.running.started(launch, InnodbFiles.within(data), journal) as server:
            with connect(server.address) as session:
                session.run(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
            yield server.address.model_copy(update={"database": DATABASE})
