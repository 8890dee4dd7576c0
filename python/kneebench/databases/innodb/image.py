"""The base image of either product: what shapes it, and the directory that holds it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kneebench.databases.innodb.launcher import (
    FILES,
    LOG,
    SETTINGS_FILE,
    TEMPORARY,
    RunningInnodb,
)
from kneebench.databases.innodb.query_schema import schema_of
from kneebench.databases.innodb.session import connect
from kneebench.databases.loading import Recipe, databases_of
from kneebench.databases.managed.account import Account
from kneebench.lab.folder import Folder
from kneebench.plan.workload import Workload
from kneebench.records import Watch

DATABASE = "kneebench"
"""The workload's database on every server of ours; others are numbered."""


def recipe_of(
    engine: str, version: str, fixed: Mapping[str, str], workload: Workload, seed: int
) -> Recipe:
    """What shapes the image of a server of that version."""
    return Recipe(engine, version, dict(fixed), workload, seed, Path(__file__).parent)


def load_databases(server: RunningInnodb, recipe: Recipe, watch: Watch) -> dict[str, str]:
    """Make the workload's databases on a server, and fill them; what is known of the first."""
    load, facts = schema_of(recipe.workload).load, list[dict[str, str]]()
    workload = recipe.workload.model_copy(update={"databases": 1})
    for name in databases_of(recipe.workload, DATABASE):
        with connect(server.address) as session:
            session.run(f"CREATE DATABASE {name}")
        address = server.address.model_copy(update={"database": name})
        with server.with_crash_report():
            facts.append(load(address, workload, recipe.seed, watch))
    return facts[0]


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
