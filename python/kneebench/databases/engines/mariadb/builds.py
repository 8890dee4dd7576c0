"""Which MariaDB binaries run: the user's own build, or the system's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kneebench.databases.innodb.builds import InnodbBuild, Program
from kneebench.databases.managed.launching import version_in
from kneebench.errors import PlanError

PLACES = (Path("/usr/sbin"), Path("/usr/local/sbin"), Path("/usr/bin"), Path("/usr/local/bin"))
"""Where the system's server may be."""
INSTALL = "install mariadb-server-core, or set database.bin_dir or database.url"
PROGRAM = Program("MariaDB", "mariadbd", PLACES, INSTALL)
SHARES = ("share/mariadb", "share/mysql", "share")
"""Where, below a build's prefix, its messages and the statements of its system tables are."""
SYSTEM_TABLES = ("mariadb_system_tables.sql", "mysql_system_tables.sql")
PERFORMANCE_TABLES = ("mariadb_performance_tables.sql", "mysql_performance_tables.sql")
"""By the names of newer versions (11.8), and of older ones (10.11)."""
OLDEST = (10, 6)
_PRINTED = re.compile(rb"(?<![\d.])(\d+\.\d+\.\d+)(?:-\d+)?-MariaDB")


def find_build(bin_dir: Path | None) -> InnodbBuild:
    """The build that the plan asks for: `bin_dir`, or the system's without one.

    Raises PlanError where there are no binaries, or their version is unknown or too old.
    """
    program = PROGRAM.found(bin_dir)
    version = _version(program)
    PROGRAM.require_from(OLDEST, version, program)
    share = _share(program)
    return InnodbBuild(program, version, share, (program.parent, share))


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
