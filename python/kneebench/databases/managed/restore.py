"""One restore of a database of ours: what is copied where, and the server that runs over it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from kneebench.databases.engine import Server
from kneebench.databases.managed.base_image import BaseImage
from kneebench.databases.managed.server_process import Process, ServerProcess
from kneebench.lab.preparation import Prepared
from kneebench.records import Watch


class Restore(NamedTuple):
    """One restore: what is copied onto which storage. `make` gives a new directory of ours below
    one of the storage's, named for what it will hold.
    """

    image: BaseImage
    prepared: Prepared
    make: Callable[[Path, str], Path]
    watch: Watch
    doing: str


class OwnServer(Server, Protocol):
    """What asks a server of ours."""

    def close(self) -> None:
        """End its sessions."""
        ...


def processes_of(process: ServerProcess, prepared: Prepared) -> Process:
    """What a server over a prepared storage can be asked beside SQL."""
    paths = prepared.storage.paths_by_role
    here = Process(
        process.family,
        process.crash_report,
        prepared.resources.cores,
        [*paths.values()],
        [*paths],
    )
    return here._replace(without_limit=prepared.limits.lift) if prepared.limits else here
