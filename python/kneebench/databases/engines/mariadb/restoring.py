"""A restore: the image's files put in place on a storage, with a log of the size that the server
wants.

The files are ours and out of the account's reach until all of them are there. Then the server makes
its log and ends again, and every block of the log is written once (docs/decisions/innodb-log.md).
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from kneebench.databases.engines.mariadb.cluster import configure
from kneebench.databases.engines.mariadb.launcher import (
    KIND,
    LOG,
    TEMPORARY,
    Launch,
    MariadbFiles,
    run_bootstrap,
)
from kneebench.databases.managed.account import Account
from kneebench.databases.managed.base_image import BaseImage
from kneebench.databases.managed.copying import drop_caches, duplicate, write_out
from kneebench.databases.managed.ownership import admit, hand_over
from kneebench.lab.drives import IN_MEMORY, file_system_of
from kneebench.lab.folder import Folder
from kneebench.lab.removal import empty, ours
from kneebench.records import Watch

LOG_FILE = "ib_logfile0"


class Places(NamedTuple):
    """Directories of ours that a database is put in; `log` and `temporary` where they are apart."""

    data: Path
    log: Path | None = None
    temporary: Path | None = None

    @property
    def all(self) -> list[Path]:
        """Those that there are."""
        return [place for place in self if place]


def put_in_place(
    image: BaseImage,
    places: Places,
    how: Literal["copy", "clone"],
    settings: Mapping[str, str],
    account: Account | None,
    watch: Watch,
    doing: str,
) -> MariadbFiles:
    """The image's files in these places, the account's at the end."""
    with contextlib.ExitStack() as opened:
        data, *apart = [opened.enter_context(ours(place)) for place in places.all]
        target = opened.enter_context(data.make("data"))
        duplicate(image.opened(opened), target, how, watch, doing)
        parts, found = [target], MariadbFiles.within(target.path)
        for name, place in zip(_apart(places), apart, strict=True):
            part = opened.enter_context(place.make(name))
            if name == LOG:
                _move(target, name, part)
            parts.append(part)
            found = found._replace(**{name: part.path})
        configure(target, settings, account)
        for part in parts:
            hand_over(part, account)
        for place in (data, *apart):
            admit(place, account)
        for part in parts:
            if account:
                account.owns(part.handle)
    return found


def _apart(places: Places) -> Sequence[str]:
    return [name for name, place in ((LOG, places.log), (TEMPORARY, places.temporary)) if place]


def _move(data: Folder, name: str, target: Folder) -> None:
    with data.inner(name) as source:
        duplicate(source, target, "copy", lambda event: None)
        empty(source)


def make_log(launch: Launch, files: MariadbFiles) -> None:
    """Have the server make its log in the size of its settings, then write every block of it once.

    A new log is allocated and not written: until the server has come round once, each commit would
    also pay for a change of the file system. In memory nothing is to be paid.
    """
    run_bootstrap(launch, files, "", f"cannot make the log in {files.log}")
    file = files.log / LOG_FILE
    if file_system_of(files.log) in IN_MEMORY:
        return
    given = [f"if={file}", f"of={file}", "bs=1M", "conv=notrunc", "status=none"]
    command, more = launch.surroundings.command(["dd", *given], (files.log,))
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        words = done.stderr.strip()
        do = "check the free space and the health of the storage"
        raise KIND.ended_early(f"cannot write the log {file}", words, words, do)


def settle(image: BaseImage, files: MariadbFiles, *, warm: bool) -> None:
    """Write all out; what was copied leaves the page cache, unless `warm`."""
    with contextlib.ExitStack() as opened:
        places = dict.fromkeys((files.data, files.log, files.temporary))
        parts = [opened.enter_context(Folder.at(place)) for place in places]
        if warm:
            write_out(parts)
        else:
            drop_caches([image.opened(opened), *parts])
