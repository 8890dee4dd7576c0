"""Which MariaDB binaries run: the user's own build, or the system's."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kneebench.databases.managed.account import Account, unprivileged_account
from kneebench.databases.managed.launching import version_in
from kneebench.errors import PlanError

PROGRAM = "mariadbd"
ACCOUNTS = ("mysql", "nobody")
"""Accounts that root may lend the server, the preferred one first."""
PLACES = (Path("/usr/sbin"), Path("/usr/local/sbin"), Path("/usr/bin"), Path("/usr/local/bin"))
"""Where the system's server may be."""
SHARES = ("share/mariadb", "share/mysql", "share")
"""Where, below a build's prefix, its messages and the statements of its system tables are."""
SYSTEM_TABLES = ("mariadb_system_tables.sql", "mysql_system_tables.sql")
PERFORMANCE_TABLES = ("mariadb_performance_tables.sql", "mysql_performance_tables.sql")
"""By the names of newer versions (11.8), and of older ones (10.11)."""
OLDEST = (10, 6)
_PRINTED = re.compile(rb"(?<![\d.])(\d+\.\d+\.\d+)(?:-\d+)?-MariaDB")
INSTALL = "install mariadb-server-core, or set database.bin_dir or database.url"


class MariadbBuild(NamedTuple):
    """Binaries of one version.

    `share` has the messages and the statements of the system tables; `roots` are the directories
    that the server's account must be able to enter.
    """

    program: Path
    version: str
    share: Path
    roots: tuple[Path, ...]

    @property
    def server(self) -> Path:
        return self.program


def server_account() -> Account | None:
    """The account that the server runs as; None for our own, when we are not root."""
    return unprivileged_account(ACCOUNTS)


def find_build(bin_dir: Path | None) -> MariadbBuild:
    """The build that the plan asks for: `bin_dir`, or the system's without one.

    Raises PlanError where there are no binaries, or their version is unknown or too old.
    """
    places = (bin_dir.absolute(),) if bin_dir else PLACES
    found = (place.resolve() / PROGRAM for place in places if os.access(place / PROGRAM, os.X_OK))
    program = next(found, None)
    if program is None:
        raise PlanError(
            f"cannot find MariaDB in {', '.join(map(str, places))}",
            seen=f"no {PROGRAM}",
            do="set database.bin_dir to the directory of mariadbd" if bin_dir else INSTALL,
        )
    version = _version(program)
    if tuple(map(int, version.split(".")[:2])) < OLDEST:
        raise PlanError(
            f"cannot find MariaDB in {program.parent}",
            seen=f"version {version} is too old",
            do=f"use version {'.'.join(map(str, OLDEST))} or later",
        )
    share = _share(program)
    return MariadbBuild(program, version, share, (program.parent, share))


def _version(program: Path) -> str:
    """The version as `mariadbd --version` would print it, "10.11.19". It is read in the binary:
    `check` starts no program of the plan.
    """
    if found := version_in(program, _PRINTED):
        return found
    seen, do = 'it contains no version and "-MariaDB"', "set database.bin_dir to the binary's own"
    raise PlanError(f"cannot read the version of {program}", seen=seen, do=f"{do} directory")


def _share(program: Path) -> Path:
    places = [program.parent.parent / share for share in SHARES]
    found = next((place for place in places if first_of(place, SYSTEM_TABLES)), None)
    if found is None:
        raise PlanError(
            f"cannot find {' or '.join(SYSTEM_TABLES)}",
            seen=f"it is in none of {', '.join(map(str, places))}",
            do="install the missing files of that MariaDB, or correct database.bin_dir",
        )
    return found


def first_of(share: Path, names: Sequence[str]) -> Path | None:
    """The first of these files that a build has."""
    return next((share / name for name in names if (share / name).exists()), None)
