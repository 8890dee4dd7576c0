"""Which MySQL binaries run: the user's own build, or the system's."""

from __future__ import annotations

import re
from pathlib import Path

from kneebench.databases.innodb.builds import InnodbBuild, Program
from kneebench.databases.managed.launching import version_in
from kneebench.errors import PlanError

PLACES = (Path("/usr/sbin"), Path("/usr/local/sbin"), Path("/usr/local/mysql/bin"))
"""Where the system's server may be."""
INSTALL = "install mysql-server-core-8.0, or set database.bin_dir or database.url"
PROGRAM = Program("MySQL", "mysqld", PLACES, INSTALL)
SHARES = ("share/mysql", "share", "share/mysql-8.0")
"""Where, below a build's prefix, its messages are."""
MESSAGES = "english/errmsg.sys"
OLDEST = (8, 0, 30)
"""The first whose log is resized by innodb_redo_log_capacity."""
_PRINTED = re.compile(rb"mysql-(?:\d+\.\d+-)?(\d+\.\d+\.\d+)[/+-]")


def find_build(bin_dir: Path | None) -> InnodbBuild:
    """The build that the plan asks for: `bin_dir`, or the system's without one.

    Raises PlanError where there are no binaries, where they are MariaDB's, which has a program of
    this name, or where their version is unknown or too old.
    """
    program = PROGRAM.found(bin_dir).resolve()
    version = version_in(program, _PRINTED)
    if not version:
        seen = f"{program} names no version of MySQL"
        raise PlanError(f"cannot find MySQL in {program.parent}", seen=seen, do=INSTALL)
    PROGRAM.require_from(OLDEST, version, program)
    prefix = program.parent.parent
    share = next((prefix / one for one in SHARES if (prefix / one / MESSAGES).exists()), prefix)
    return InnodbBuild(program, version, share, (program.parent, prefix / "lib", share))
