"""The MySQL engine: servers that we run ourselves (the system's, or the user's build), or one by
URL, asked as MariaDB is.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from kneebench.databases.engine import Engine
from kneebench.databases.engines.mariadb.engine import OwnMariadb, write_once
from kneebench.databases.engines.mariadb.launcher import MariadbFiles
from kneebench.databases.engines.mariadb.remote import RemoteMariadb
from kneebench.databases.engines.mariadb.versions import Product
from kneebench.databases.engines.mysql import image as images
from kneebench.databases.engines.mysql.builds import find_build
from kneebench.databases.engines.mysql.launcher import KIND, Launch, RunningMysql, running_server
from kneebench.databases.engines.mysql.server_settings import LOG, complaint, rules
from kneebench.lab.journal import Journal
from kneebench.plan.database_plan import DatabasePlan

REDO = "#innodb_redo"
"""The directory of the log's files."""


def open_engine(plan: DatabasePlan, journal: Journal) -> Engine:
    """The engine that the plan requires; changes nothing."""
    if any(plan.urls.values()):
        return RemoteMariadb(plan, journal, Product.MYSQL)
    return OwnMysql(plan, journal)


class OwnMysql(OwnMariadb):
    """Servers that we start and stop."""

    own = OwnMariadb.own._replace(
        engine="MySQL",
        log_setting=LOG,
        find_build=find_build,
        recipe_of=images.recipe_of,
        fixed=images.fixed,
        rules=rules,
        complaint=complaint,
        fill=images.fill,
    )
    configure = staticmethod(images.configure)

    def make_log(self, launch: Launch, files: MariadbFiles) -> None:
        """By a start of its own: there is no --bootstrap."""
        with running_server(launch, files, self.journal):
            pass
        for file in sorted(self.log_of(files).iterdir()):
            write_once(launch, file, KIND)

    def running(
        self, launch: Launch, files: MariadbFiles
    ) -> contextlib.AbstractContextManager[RunningMysql]:
        return running_server(launch, files, self.journal)

    def log_of(self, files: MariadbFiles) -> Path:
        return files.log / REDO
