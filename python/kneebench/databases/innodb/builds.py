"""Binaries of a server, and the account that it runs as."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kneebench.databases.managed.account import Account, unprivileged_account
from kneebench.errors import PlanError

ACCOUNTS = ("mysql", "nobody")
"""Accounts that root may lend the server, the preferred one first."""


def server_account() -> Account | None:
    """The account that the server runs as; None for our own, when we are not root."""
    return unprivileged_account(ACCOUNTS)


class InnodbBuild(NamedTuple):
    """Binaries of one version.

    `share` has the server's messages and, of MariaDB, the statements of its system tables; `roots`
    are the directories that the server's account must be able to enter.
    """

    program: Path
    version: str
    share: Path
    roots: tuple[Path, ...]

    @property
    def server(self) -> Path:
        return self.program


class Program(NamedTuple):
    """The program of a product: where the system's may be, and what to install without it."""

    label: str
    name: str
    places: Sequence[Path]
    install: str

    def found(self, bin_dir: Path | None) -> Path:
        """The one in `bin_dir`, or the system's. Raises PlanError where there is none."""
        places = (bin_dir.absolute(),) if bin_dir else self.places
        there = (place.resolve() / self.name for place in places if _runs(place / self.name))
        if program := next(there, None):
            return program
        raise PlanError(
            f"cannot find {self.label} in {', '.join(map(str, places))}",
            seen=f"no {self.name}",
            do=f"set database.bin_dir to the directory of {self.name}" if bin_dir else self.install,
        )

    def require_from(self, oldest: tuple[int, ...], version: str, program: Path) -> None:
        """Raise PlanError for a version before the oldest that has all that is used."""
        if tuple(map(int, version.split(".")[: len(oldest)])) < oldest:
            raise PlanError(
                f"cannot find {self.label} in {program.parent}",
                seen=f"version {version} is too old",
                do=f"use version {'.'.join(map(str, oldest))} or later",
            )


def _runs(program: Path) -> bool:
    return os.access(program, os.X_OK)
