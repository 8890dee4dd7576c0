"""The MariaDB engine: our own servers (Debian's, or the user's build), or one by URL."""

from __future__ import annotations

from kneebench.databases.engine import Engine
from kneebench.databases.engines.mariadb import image as images
from kneebench.databases.engines.mariadb.builds import find_build
from kneebench.databases.engines.mariadb.launcher import Launch, RunningMariadb
from kneebench.databases.engines.mariadb.properties import label
from kneebench.databases.engines.mariadb.server_settings import SETTINGS
from kneebench.databases.innodb.engine import OwnInnodb, kind_of_server, write_once
from kneebench.databases.innodb.launcher import InnodbFiles
from kneebench.databases.innodb.remote import RemoteInnodb
from kneebench.databases.innodb.versions import Product
from kneebench.lab.journal import Journal
from kneebench.plan.database_plan import DatabasePlan

LOG_FILE = "ib_logfile0"


def open_engine(plan: DatabasePlan, journal: Journal) -> Engine:
    """The engine that the plan requires; changes nothing."""
    if any(plan.urls.values()):
        return RemoteInnodb(plan, journal, Product.MARIADB)
    return OwnMariadb(plan, journal)


class OwnMariadb(OwnInnodb):
    """Servers that we start and stop."""

    own = kind_of_server("mariadb", label, SETTINGS, find_build=find_build, fill=images.fill)
    process, product = RunningMariadb, SETTINGS

    def make_log(self, launch: Launch, files: InnodbFiles) -> None:
        self.process.run_once(launch, files, f"cannot make the log in {files.log}", "--bootstrap")
        write_once(launch, files.log / LOG_FILE, self.process.kind)
