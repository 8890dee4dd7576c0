"""The base image of either product: what shapes it, and the directory that holds it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kneebench.databases.innodb.launcher import FILES, LOG, SETTINGS_FILE, TEMPORARY
from kneebench.databases.loading import Recipe
from kneebench.databases.managed.account import Account
from kneebench.lab.folder import Folder
from kneebench.plan.workload import Workload

DATABASE = "kneebench"
"""The workload's database on every server of ours."""


def recipe_of(
    engine: str, version: str, fixed: Mapping[str, str], workload: Workload, seed: int
) -> Recipe:
    """What shapes the image of a server of that version."""
    return Recipe(engine, version, dict(fixed), workload, seed, Path(__file__).parent)


def configure(data: Folder, text: str, account: Account | None) -> None:
    """Write the option file: the only one that is read, so that no default of a distribution slips
    in.
    """
    data.put(SETTINGS_FILE, text, account and account.owner)


def make_directories(account: Account | None, data: Folder) -> None:
    """Those of tables, log and temporary files, the account's."""
    for name in (FILES, LOG, TEMPORARY):
        with data.make(name) as made:
            if account:
                account.owns(made.handle)
