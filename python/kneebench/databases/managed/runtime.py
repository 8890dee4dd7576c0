"""The runtime directory: the socket and the log of one server, open to its account (and to root)
only.

Whoever may connect may do everything in the database, so the mode 0700 of the socket's directory is
what authenticates; trust on loopback TCP would make every local user a superuser, hence the server
listens on the socket alone.
The socket's directory is the account's; the one around it, with the log, is ours: the account
cannot replace the log by a link.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

from kneebench.databases.managed.account import Account, bar, may_replace
from kneebench.databases.managed.ownership import home
from kneebench.errors import PlanError
from kneebench.lab.journal import Journal

LONGEST_SOCKET = 107
"""Bytes of a Unix socket's path on Linux: sun_path of unix(7), less its final NUL."""
PLACES = ("/tmp", "/var/tmp", "/run")  # noqa: S108 the directory made there has mode 0700


def socket_folder(runtime: Path) -> Path:
    """The directory of the socket, and of its lock."""
    return runtime / "socket"


def place(account: Account | None, socket: str) -> Path:
    """The first directory for temporary files that the account can enter, where it cannot replace
    what is ours, and whose name leaves room for a socket of that name."""
    for folder in dict.fromkeys((tempfile.gettempdir(), *PLACES)):
        path = Path(folder)
        longest = socket_folder(path / ("kneebench-" + "0" * 8)) / socket
        fits = len(os.fsencode(longest)) <= LONGEST_SOCKET
        if (
            fits
            and path.is_dir()
            and os.access(path, os.W_OK | os.X_OK)
            and bar(account, path) is None
            and not may_replace(account, path)
        ):
            return path
    raise PlanError(
        "cannot place the server's socket",
        seen=f"none of {tempfile.gettempdir()}, {', '.join(PLACES)} can be used",
        do="set TMPDIR to a short, reachable directory",
    )


@contextlib.contextmanager
def runtime_directory(journal: Journal, account: Account | None, socket: str) -> Iterator[Path]:
    """A new runtime directory for a server whose socket has that name, removed at the end."""
    path = place(account, socket) / f"kneebench-{uuid.uuid4().hex[:8]}"
    with journal.directory(path, "the runtime directory of a server"):
        home(path, socket_folder(path).name, account)
        yield path
