"""The MySQL engine: our own servers (the system's, or the user's build), or one by URL."""

from __future__ import annotations

from pathlib import Path

from kneebench.databases.engine import Engine
from kneebench.databases.engines.mysql import image as images
from kneebench.databases.engines.mysql.builds import find_build
from kneebench.databases.engines.mysql.launcher import Launch, RunningMysql
from kneebench.databases.engines.mysql.properties import label
from kneebench.databases.engines.mysql.server_settings import SETTINGS
from kneebench.databases.innodb.engine import OwnInnodb, kind_of_server, write_once
from kneebench.databases.innodb.launcher import InnodbFiles
from kneebench.databases.innodb.remote import RemoteInnodb
from kneebench.databases.innodb.versions import Product
from kneebench.lab.journal import Journal
from kneebench.plan.database_plan import DatabasePlan

REDO = "#innodb_redo"
"""The directory of the log's files."""


def open_engine(plan: DatabasePlan, journal: Journal) -> Engine:
    """The engine that the plan requires; changes nothing."""
    if any(plan.urls.values()):
        return RemoteInnodb(plan, journal, Product.MYSQL)
    return OwnMysql(plan, journal)


class OwnMysql(OwnInnodb):
    """Servers that we start and stop."""

    own = kind_of_server("mysql", label, SETTINGS, find_build=find_build, fill=images.fill)
    process, product = RunningMysql, SETTINGS

    def make_log(self, launch: Launch, files: InnodbFiles) -> None:
        """By a start of its own: there is no --bootstrap."""
        with self.running(launch, files):
            pass
        for file in sorted(self.log_of(files).iterdir()):
            write_once(launch, file, self.process.kind)

    def log_of(self, files: InnodbFiles) -> Path:
        return files.log / REDO
