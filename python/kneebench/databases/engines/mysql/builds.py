"""Which MySQL binaries run: the user's own build, or the system's."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from kneebench.databases.managed.launching import version_in
from kneebench.errors import PlanError

PROGRAM = "mysqld"
PLACES = (Path("/usr/sbin"), Path("/usr/local/sbin"), Path("/usr/local/mysql/bin"))
"""Where the system's server may be."""
SHARES = ("share/mysql", "share", "share/mysql-8.0")
"""Where, below a build's prefix, its messages are."""
MESSAGES = "english/errmsg.sys"
OLDEST = (8, 0, 30)
"""The first whose log is resized by innodb_redo_log_capacity."""
_PRINTED = re.compile(rb"mysql-(?:\d+\.\d+-)?(\d+\.\d+\.\d+)[/+-]")
INSTALL = "install mysql-server-core-8.0, or set database.bin_dir or database.url"


class MysqlBuild(NamedTuple):
    """Binaries of one version. `roots` are the directories that the server's account must be able
    to enter.
    """

    program: Path
    version: str
    share: Path
    roots: tuple[Path, ...]

    @property
    def server(self) -> Path:
        return self.program


def find_build(bin_dir: Path | None) -> MysqlBuild:
    """The build that the plan asks for: `bin_dir`, or the system's without one.

    Raises PlanError where there are no binaries, where they are MariaDB's, which has a program of
    this name, or where their version is unknown or too old.
    """
    places = (bin_dir.absolute(),) if bin_dir else PLACES
    found = (place.resolve() / PROGRAM for place in places if os.access(place / PROGRAM, os.X_OK))
    program = next((one.resolve() for one in found), None)
    what = f"cannot find MySQL in {', '.join(map(str, places))}"
    if program is None:
        do = "set database.bin_dir to the directory of mysqld" if bin_dir else INSTALL
        raise PlanError(what, seen=f"no {PROGRAM}", do=do)
    version = version_in(program, _PRINTED)
    if not version:
        raise PlanError(what, seen=f"{program} names no version of MySQL", do=INSTALL)
    if tuple(map(int, version.split("."))) < OLDEST:
        do = f"use version {'.'.join(map(str, OLDEST))} or later"
        raise PlanError(what, seen=f"version {version} is too old", do=do)
    prefix = program.parent.parent
    share = next((prefix / one for one in SHARES if (prefix / one / MESSAGES).exists()), prefix)
    return MysqlBuild(program, version, share, (program.parent, prefix / "lib", share))
