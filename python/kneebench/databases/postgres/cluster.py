"""A data directory that is ours from its first file: made by initdb, or put in place from an image."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from kneebench.databases.postgres.account import Account
from kneebench.databases.postgres.launcher import USER
from kneebench.databases.postgres.settings import configuration

DATABASE = "kneebench"
"""The workload's database in every cluster of ours."""
ACCESS = f"# Only who may enter the socket's directory comes this far: the server's account, and root.\nlocal all {USER} trust\n"


def configure(data: Path, settings: Mapping[str, str], account: Account | None) -> None:
    """Write the cluster's configuration: ours as a whole, so that no default of a distribution slips in."""
    texts = {"postgresql.conf": configuration(settings), "postgresql.auto.conf": "", "pg_hba.conf": ACCESS, "pg_ident.conf": ""}
    for name, text in texts.items():
        file = data / name
        file.write_text(text)
        file.chmod(0o600)
        if account:
            account.owns(file)


def own(folder: Path, account: Account | None) -> Path:
    """The directory, given to the server's account and closed to all others but root."""
    folder.chmod(0o700)
    if account:
        account.owns(folder)
    return folder


def move_log(data: Path, log: Path, account: Account | None) -> None:
    """Put pg_wal (a few segments, after a clean shutdown) into `log` and leave a link to it, as `initdb --waldir` does."""
    target = log / "pg_wal"
    shutil.copytree(data / "pg_wal", target, copy_function=_copy_file)
    shutil.rmtree(data / "pg_wal")
    (data / "pg_wal").symlink_to(target)
    if account:
        account.owns(data / "pg_wal")
        for path in (target, *target.rglob("*")):
            account.owns(path)


def _copy_file(source: str, target: str) -> None:
    """Bytes and mode; plain writes, as in copying.py."""
    with Path(source).open("rb") as given, Path(target).open("wb") as made:
        shutil.copyfileobj(given, made, 2**20)
    shutil.copymode(source, target)
