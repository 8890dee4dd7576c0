"""Servers of either product that we run ourselves.

What is the same for all servers of our own is in managed/engine.py: start reading there.
"""

from __future__ import annotations

import contextlib
import subprocess
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

from kneebench.databases.innodb.allowed_settings import setting_bytes
from kneebench.databases.innodb.builds import server_account
from kneebench.databases.innodb.footprint import cache_bytes
from kneebench.databases.innodb.image import DATABASE, configure, recipe_of
from kneebench.databases.innodb.launcher import (
    LOG,
    TEMPORARY,
    InnodbFiles,
    RunningInnodb,
    users_address,
)
from kneebench.databases.innodb.query_schema import schema_of
from kneebench.databases.innodb.server import InnodbServer
from kneebench.databases.innodb.server_address import SOCKET
from kneebench.databases.innodb.server_settings import ProductSettings, binary_log
from kneebench.databases.managed.account import Account
from kneebench.databases.managed.copying import duplicate, settle
from kneebench.databases.managed.engine import OwnKind, OwnServers, Places, Restore
from kneebench.databases.managed.launching import Launch
from kneebench.databases.managed.ownership import give
from kneebench.databases.managed.server_process import ServerKind
from kneebench.lab.drives import IN_MEMORY, file_system_of
from kneebench.lab.folder import Folder
from kneebench.lab.removal import empty, ours


def kind_of_server(engine: str, label: str, product: ProductSettings, **own: Any) -> OwnKind:
    """What the servers of a product are, beside what both have."""
    return OwnKind(
        label,
        SOCKET,
        product.log,
        "innodb_buffer_pool_size",
        find_account=server_account,
        recipe_of=partial(recipe_of, engine),
        fixed=product.of_image,
        rules=product.rules,
        complaint=product.complaint,
        cache_bytes=cache_bytes,
        setting_bytes=setting_bytes,
        users_address=users_address,
        database=DATABASE,
        **own,
    )


class OwnInnodb(OwnServers):
    """Servers that we start and stop."""

    process: ClassVar[type[RunningInnodb]]
    product: ClassVar[ProductSettings]

    @abstractmethod
    def make_log(self, launch: Any, files: InnodbFiles) -> None:
        """Have the server make its log in the size of its settings, then write every block of it
        once.

        A new log is allocated and not written: until the server has come round once, each commit
        would also pay for a change of the file system. In memory nothing is to be paid.
        """

    def log_of(self, files: InnodbFiles) -> Path:
        """The directory of the log's files alone."""
        return files.log

    def put_in_place(self, restored: Restore, launch: Any) -> InnodbFiles:
        """The files from the image, with a log of the size that the settings say."""
        settings = self.settings_for(restored.prepared.resources)
        files = put_in_place(restored, self.how, settings, self.product, self.account)
        self.make_log(launch, files)
        with contextlib.ExitStack() as opened:
            parts = [opened.enter_context(Folder.at(place)) for place in dict.fromkeys(files)]
            source = restored.image.opened(opened)
            settle(source, parts, warm=self.table.page_cache == "warm")
        return files

    def running(
        self, launch: Any, files: InnodbFiles
    ) -> contextlib.AbstractContextManager[RunningInnodb]:
        return self.process.started(launch, files, self.journal)

    def asked(self, files: InnodbFiles, **what: Any) -> InnodbServer:
        process = what.pop("process")._replace(log=self.log_of(files))
        return InnodbServer(**what, process=process, schema=schema_of(self.plan.workload))


# A restore: the image's files put in place on a storage, with a log of the size that the server
# wants.
#
# The files are ours and out of the account's reach until all of them are there. Then the server
# makes its log and ends again, and every block of the log is written once (docs/decisions/innodb-
# log.md).


BINARY_LOG = "binary-log"
"""The directory of its files within that of the log, whose own files are traced."""


def put_in_place(
    restored: Restore,
    how: Literal["copy", "clone"],
    settings: Mapping[str, str],
    product: ProductSettings,
    account: Account | None,
) -> InnodbFiles:
    """The image's files in their places, the account's at the end."""
    with contextlib.ExitStack() as opened:
        data, *apart = [opened.enter_context(ours(place)) for place in restored.places if place]
        target, image = opened.enter_context(data.make("data")), restored.image.opened(opened)
        duplicate(image, target, how, restored.watch, restored.doing)
        parts, found = [target], InnodbFiles.within(target.path)
        for name, place in zip(_apart(restored.places), apart, strict=True):
            part = opened.enter_context(place.make(name))
            if name == LOG:
                _move(target, name, part)
            parts.append(part)
            found = found._replace(**{name: part.path})
        if name := binary_log(settings):
            log = opened.enter_context(Folder.at(found.log))
            made = opened.enter_context(log.make(BINARY_LOG))
            settings = {**settings, "log_bin": str(made.path / name)}
        configure(target, product.text(settings), account)
        give(parts, [data, *apart], account)
    return found


def _apart(places: Places) -> Sequence[str]:
    return [name for name, place in ((LOG, places.log), (TEMPORARY, places.temporary)) if place]


def _move(data: Folder, name: str, target: Folder) -> None:
    with data.inner(name) as source:
        duplicate(source, target, "copy", lambda event: None)
        empty(source)


def write_once(launch: Launch[Any], file: Path, kind: ServerKind) -> None:
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
