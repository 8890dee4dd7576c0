"""Owner of the database files: the server's account while a server runs on them, otherwise us.

Only root can give files to another account. Started by an ordinary user, everything belongs to that
user and nothing is changed here.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from kneebench.databases.managed.account import Account
from kneebench.errors import Refused
from kneebench.lab.folder import LOOK, Folder, require_one_name
from kneebench.lab.removal import ours

DEEPEST = 16
"""Directories within directories; a database has some three."""


def admit(place: Folder, account: Account | None) -> None:
    """Let the account reach what lies in a directory of ours."""
    if account:
        account.passes(place.handle)


def close(place: Folder, account: Account | None) -> None:
    """Undo `admit`."""
    if account is None:
        return
    os.fchown(place.handle, -1, os.getegid())
    os.fchmod(place.handle, 0o700)


def home(place: Path, name: str, account: Account | None) -> Path:
    """A new directory of the account's in a directory of ours that it may now reach."""
    with ours(place) as outer, outer.make(name) as made:
        admit(outer, account)
        if account:
            account.owns(made.handle)
        return made.path


def hand_over(folder: Folder, account: Account | None) -> None:
    """Chown everything in a directory except the directory itself, so that the account cannot enter
    before the end.
    """
    if account is None:
        return
    for name in folder.listed().folders:
        with folder.inner(name) as inner:
            hand_over(inner, account)
    for name in folder.names():
        os.chown(name, *account.owner, dir_fd=folder.handle, follow_symlinks=False)


def give(parts: Sequence[Folder], places: Sequence[Folder], account: Account | None) -> None:
    """Make the parts of a database the account's once all of them are there; `places` are the
    directories of ours that they are in.
    """
    for part in parts:
        hand_over(part, account)
    for place in places:
        admit(place, account)
    for part in parts:
        if account:
            account.owns(part.handle)


def take_back(folder: Folder, account: Account | None, depth: int = 0) -> None:
    """Take a directory and all that lies in it from the account, whose server has ended.

    From the top down: what the account cannot change any more is looked at. Raises Refused for what
    is neither a directory nor a plain file of the account's own: the account put there what it may
    not read, for us to read.
    """
    if depth > DEEPEST:
        raise Refused(
            f"cannot open {folder.path}",
            seen="it is nested deeper than any database directory",
            do=LOOK,
        )
    _take(folder.handle, folder.path, account, 0o700)
    there = folder.plain()
    for name in there.files:
        file = folder.reading(name)
        try:
            _take(file, folder.path / name, account, 0o600)
        finally:
            os.close(file)
    for name in there.folders:
        with folder.inner(name) as inner:
            take_back(inner, account, depth + 1)


def _take(handle: int, path: Path, account: Account | None, mode: int) -> None:
    if account is None:
        return
    seen = os.fstat(handle)
    if seen.st_uid != account.uid:
        raise Refused(
            f"cannot open {path}",
            seen=f"it does not belong to the server's account {account.name!r}",
            do=LOOK,
        )
    require_one_name(seen, path)
    os.fchown(handle, os.geteuid(), os.getegid())
    os.fchmod(handle, mode)
