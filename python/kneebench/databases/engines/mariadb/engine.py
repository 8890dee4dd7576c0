"""The MariaDB engine: servers that we run ourselves (Debian's, or the user's build), or one by URL.

What is the same for all servers of our own is in managed/engine.py: start reading there.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from kneebench.databases.engine import Engine
from kneebench.databases.engines.mariadb import image as images
from kneebench.databases.engines.mariadb.allowed_settings import setting_bytes
from kneebench.databases.engines.mariadb.builds import find_build, server_account
from kneebench.databases.engines.mariadb.footprint import cache_bytes
from kneebench.databases.engines.mariadb.image import DATABASE
from kneebench.databases.engines.mariadb.launcher import (
    KIND,
    LOG,
    TEMPORARY,
    MariadbFiles,
    RunningMariadb,
    run_bootstrap,
    running_server,
    users_address,
)
from kneebench.databases.engines.mariadb.query_schema import schema_of
from kneebench.databases.engines.mariadb.remote import RemoteMariadb
from kneebench.databases.engines.mariadb.server import MariadbServer
from kneebench.databases.engines.mariadb.server_address import SOCKET
from kneebench.databases.engines.mariadb.server_settings import complaint, rules
from kneebench.databases.managed import launching
from kneebench.databases.managed.account import Account
from kneebench.databases.managed.copying import duplicate, settle
from kneebench.databases.managed.engine import OwnKind, OwnServers, Places, Restore
from kneebench.databases.managed.ownership import give
from kneebench.databases.managed.server_process import ServerKind
from kneebench.lab.drives import IN_MEMORY, file_system_of
from kneebench.lab.folder import Folder
from kneebench.lab.journal import Journal
from kneebench.lab.removal import empty, ours
from kneebench.plan.database_plan import DatabasePlan


def open_engine(plan: DatabasePlan, journal: Journal) -> Engine:
    """The engine that the plan requires; changes nothing."""
    if any(plan.urls.values()):
        return RemoteMariadb(plan, journal)
    return OwnMariadb(plan, journal)


class OwnMariadb(OwnServers):
    """Servers that we start and stop."""

    own = OwnKind(
        "MariaDB",
        SOCKET,
        "innodb_log_file_size",
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
    configure = staticmethod(images.configure)
    """Writes the option file."""

    def put_in_place(self, restored: Restore, launch: Any) -> MariadbFiles:
        """The files from the image, with a log of the size that the settings say."""
        settings = self.settings_for(restored.prepared.resources)
        files = put_in_place(restored, self.how, settings, self.account, self.configure)
        self.make_log(launch, files)
        with contextlib.ExitStack() as opened:
            parts = [opened.enter_context(Folder.at(place)) for place in dict.fromkeys(files)]
            source = restored.image.opened(opened)
            settle(source, parts, warm=self.table.page_cache == "warm")
        return files

    def make_log(self, launch: Any, files: MariadbFiles) -> None:
        """Have the server make its log in the size of its settings, then write every block of it
        once.

        A new log is allocated and not written: until the server has come round once, each commit
        would also pay for a change of the file system. In memory nothing is to be paid.
        """
        run_bootstrap(launch, files, "", f"cannot make the log in {files.log}")
        write_once(launch, files.log / LOG_FILE, KIND)

    def running(
        self, launch: Any, files: MariadbFiles
    ) -> contextlib.AbstractContextManager[RunningMariadb]:
        return running_server(launch, files, self.journal)

    def log_of(self, files: MariadbFiles) -> Path:
        """The directory of the log's files alone."""
        return files.log

    def asked(self, files: MariadbFiles, **what: Any) -> MariadbServer:
        process = what.pop("process")._replace(log=self.log_of(files))
        return MariadbServer(**what, process=process, schema=schema_of(self.plan.workload))


# A restore: the image's files put in place on a storage, with a log of the size that the server
# wants.
#
# The files are ours and out of the account's reach until all of them are there. Then the server
# makes its log and ends again, and every block of the log is written once (docs/decisions/innodb-
# log.md).

LOG_FILE = "ib_logfile0"


def put_in_place(
    restored: Restore,
    how: Literal["copy", "clone"],
    settings: Mapping[str, str],
    account: Account | None,
    configure: Callable[[Folder, Mapping[str, str], Account | None], None],
) -> MariadbFiles:
    """The image's files in their places, the account's at the end. `configure`: writes the option
    file.
    """
    with contextlib.ExitStack() as opened:
        data, *apart = [opened.enter_context(ours(place)) for place in restored.places if place]
        target, image = opened.enter_context(data.make("data")), restored.image.opened(opened)
        duplicate(image, target, how, restored.watch, restored.doing)
        parts, found = [target], MariadbFiles.within(target.path)
        for name, place in zip(_apart(restored.places), apart, strict=True):
            part = opened.enter_context(place.make(name))
            if name == LOG:
                _move(target, name, part)
            parts.append(part)
            found = found._replace(**{name: part.path})
        configure(target, settings, account)
        give(parts, [data, *apart], account)
    return found


def _apart(places: Places) -> Sequence[str]:
    return [name for name, place in ((LOG, places.log), (TEMPORARY, places.temporary)) if place]


def _move(data: Folder, name: str, target: Folder) -> None:
    with data.inner(name) as source:
        duplicate(source, target, "copy", lambda event: None)
        empty(source)


def write_once(launch: launching.Launch[Any], file: Path, kind: ServerKind) -> None:
    """Write every block of a file of the log, as the server's account, with what it contains."""
    if file_system_of(file.parent) in IN_MEMORY:
        return
    given = [f"if={file}", f"of={file}", "bs=1M", "conv=notrunc", "status=none"]
    command, more = launch.surroundings.command(["dd", *given], (file.parent,))
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        words = done.stderr.strip()
        do = "check the free space and the health of the storage"
        raise kind.ended_early(f"cannot write the log {file}", words, words, do)
