"""Starting a server of ours: what every start needs, and the process until it answers."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from kneebench.databases.managed.account import Account
from kneebench.databases.managed.listening import Listening
from kneebench.databases.managed.server_process import (
    START_LIMIT_S,
    ServerProcess,
    Surroundings,
    supervise,
)
from kneebench.errors import KneebenchError, PlanError
from kneebench.lab.journal import Journal
from kneebench.lab.limits import DatabaseLimits
from kneebench.lab.processes import living_in
from kneebench.regular_file import opened

MOST_BYTES = 2**30
"""Most bytes of a binary; the largest server's has a third of it with debugging symbols."""
_CHUNK, _OVERLAP = 2**24, 100


def version_in(program: Path, printed: re.Pattern[bytes]) -> str:
    """The version that a binary contains in the form that it prints, its first group; the latest of
    several, empty without one. The binary is not started.

    Raises KneebenchError where it is no regular file, PlanError where it cannot be read.
    """
    found, chunk = set[str](), b""
    try:
        with opened(program.resolve(), MOST_BYTES) as handle:
            while read := os.read(handle, _CHUNK):
                chunk = chunk[-_OVERLAP:] + read
                found |= {one[1].decode() for one in printed.finditer(chunk)}
    except OSError as error:
        seen, do = error.strerror or str(error), "correct database.bin_dir"
        raise PlanError(f"cannot read {program}", seen=seen, do=do) from error
    return max(found, key=lambda one: [int(part) for part in one.split(".")], default="")


class Binaries(Protocol):
    """A build's programs."""

    @property
    def version(self) -> str:
        """Of the server, as it prints it."""

    @property
    def roots(self) -> tuple[Path, ...]:
        """The directories that the server's account must be able to enter."""

    @property
    def server(self) -> Path:
        """The server's own binary."""


BuildOf = TypeVar("BuildOf", bound=Binaries)


class Launch(NamedTuple, Generic[BuildOf]):
    """What every start needs: the binaries, the account, the runtime directory, the cores (all when
    empty), its limits; where it listens for users on other machines, if it does; how long it may
    take to answer.
    """

    build: BuildOf
    account: Account | None
    runtime: Path
    cores: Sequence[int] = ()
    limits: DatabaseLimits | None = None
    listening: Listening | None = None
    start_limit_s: float = START_LIMIT_S

    @property
    def surroundings(self) -> Surroundings:
        """Where the build's programs run."""
        return Surroundings(self.account, self.runtime, self.cores, self.start_limit_s)

    def command(self, *argv: str | Path, reach: Sequence[Path]) -> tuple[list[str], dict[str, Any]]:
        """(command, Popen's further arguments) for a program of the build, run as the account on
        the cores.
        """
        return self.surroundings.command(argv, (*self.build.roots, *reach))

    def start(self, command: Sequence[str], more: dict[str, Any]) -> subprocess.Popen[bytes]:
        """The server's process, below its limits, in a session of its own; its words go to the
        log.
        """
        with self.surroundings.log.open("ab") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, **more
            )
        if self.limits:
            self.limits.add(process.pid)
        return process


@contextlib.contextmanager
def answering(server: ServerProcess, data: Path, journal: Journal, *, keep: bool) -> Iterator[None]:
    """The block, with a server that was started over the data and answers; then it is stopped.

    Raises PlanError for settings that it refuses, KneebenchError where it ends or does not answer
    in time.
    """
    what = f"the {server.kind.name} server on {data}"
    with supervise(server, what, journal, keep=keep):
        server.await_answer()
        server.verify_limits()
        yield


def require_free(data: Path, socket: Path) -> None:
    """Raises where a server runs over the data, or where the socket's name is taken."""
    if others := living_in(data.resolve()):
        pids = ", ".join(str(other.pid) for other in others)
        raise KneebenchError(
            f"cannot start the server on {data}",
            seen=f"another server (process {pids}) uses it",
            do="stop that server first, or run `kneebench clean`",
        )
    if socket.exists():
        raise KneebenchError(
            f"cannot start the server in {socket.parent.parent}",
            seen=f"the socket {socket} already exists",
            do="run `kneebench clean`",
        )
