"""The MySQL engine: servers that we run ourselves (the system's, or the user's build), or one by
URL, asked as MariaDB is.
"""

from __future__ import annotations

import contextlib
from typing import Any

from kneebench.databases.engine import Engine
from kneebench.databases.engines.mariadb.allowed_settings import setting_bytes
from kneebench.databases.engines.mariadb.builds import server_account
from kneebench.databases.engines.mariadb.engine import put_in_place, write_once
from kneebench.databases.engines.mariadb.footprint import cache_bytes
from kneebench.databases.engines.mariadb.image import DATABASE
from kneebench.databases.engines.mariadb.launcher import MariadbFiles, users_address
from kneebench.databases.engines.mariadb.query_schema import schema_of
from kneebench.databases.engines.mariadb.remote import RemoteMariadb
from kneebench.databases.engines.mariadb.server import MariadbServer
from kneebench.databases.engines.mariadb.server_address import SOCKET
from kneebench.databases.engines.mariadb.versions import Product
from kneebench.databases.engines.mysql import image as images
from kneebench.databases.engines.mysql.builds import find_build
from kneebench.databases.engines.mysql.launcher import KIND, Launch, RunningMysql, running_server
from kneebench.databases.engines.mysql.server_settings import LOG, complaint, rules
from kneebench.databases.managed.copying import settle
from kneebench.databases.managed.engine import OwnKind, OwnServers, Restore
from kneebench.lab.folder import Folder
from kneebench.lab.journal import Journal
from kneebench.plan.database_plan import DatabasePlan

REDO = "#innodb_redo"
"""The directory of the log's files."""


def open_engine(plan: DatabasePlan, journal: Journal) -> Engine:
    """The engine that the plan requires; changes nothing."""
    if any(plan.urls.values()):
        return RemoteMariadb(plan, journal, Product.MYSQL)
    return OwnMysql(plan, journal)


class OwnMysql(OwnServers):
    """Servers that we start and stop."""

    own = OwnKind(
        "MySQL",
        SOCKET,
        LOG,
        "innodb_buffer_pool_size",
        find_build=find_build,
        find_account=server_account,
        recipe_of=images.recipe_of,
        fixed=images.fixed,
        rules=rules,
        cache_bytes=cache_bytes,
        setting_bytes=setting_bytes,
        complaint=complaint,
        fill=images.fill,
        users_address=users_address,
        database=DATABASE,
    )

    def put_in_place(self, restored: Restore, launch: Launch) -> MariadbFiles:
        """The files from the image, with a log of the size that the settings say: the server makes
        its files and ends again, and every block of them is written once.
        """
        settings = self.settings_for(restored.prepared.resources)
        files = put_in_place(restored, self.how, settings, self.account, images.configure)
        with running_server(launch, files, self.journal):
            pass
        for file in sorted((files.log / REDO).iterdir()):
            write_once(launch, file, KIND)
        with contextlib.ExitStack() as opened:
            parts = [opened.enter_context(Folder.at(place)) for place in dict.fromkeys(files)]
            source = restored.image.opened(opened)
            settle(source, parts, warm=self.table.page_cache == "warm")
        return files

    def running(
        self, launch: Launch, files: MariadbFiles
    ) -> contextlib.AbstractContextManager[RunningMysql]:
        return running_server(launch, files, self.journal)

    def asked(self, files: MariadbFiles, **what: Any) -> MariadbServer:
        process = what.pop("process")._replace(log=files.log / REDO)
        return MariadbServer(**what, process=process, schema=schema_of(self.plan.workload))
