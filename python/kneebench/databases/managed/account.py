"""Whose rights a server runs with: it must not run as root, so root lends it an unprivileged
account.

That account must reach the binaries, the data and the log. Where a directory above them bars the
way (a home with mode 0700), no permission is changed: the server starts in a mount namespace of its
own, in which that directory is covered by an empty one and only what the server needs is bound to
its usual place. The covers vanish with the server's last process: there is nothing to unmount.
"""

from __future__ import annotations

import os
import pwd
import shlex
import shutil
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kneebench.errors import PlanError
from kneebench.lab.own_devices import OWN_MOUNTS, without_volumes

TOOLS = ("unshare", "mount", "setpriv")


class Account(NamedTuple):
    """An unprivileged account of this machine."""

    name: str
    uid: int
    gid: int

    @property
    def owner(self) -> tuple[int, int]:
        return self.uid, self.gid

    @property
    def rights(self) -> dict[str, Any]:
        """Popen's arguments for a process with its rights and no more."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def owns(self, handle: int) -> None:
        """Give it the open file or directory."""
        os.fchown(handle, *self.owner)

    def passes(self, handle: int) -> None:
        """Let it pass through the open directory, which stays ours: it can neither list it nor
        change what lies in it.
        """
        os.fchown(handle, -1, self.gid)
        os.fchmod(handle, 0o710)


def unprivileged_account(names: Sequence[str]) -> Account | None:
    """The first of these accounts that exists: what a server runs as.

    None for our own, when we are not root.

    Raises PlanError where none exists.
    """
    if os.geteuid() != 0:
        return None
    for name in names:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid)
    raise PlanError(
        "cannot choose the server's account",
        seen=f"none of {', '.join(names)} exists",
        do="create one, or start kneebench as an ordinary user",
    )


def bar(account: Account | None, path: Path) -> Path | None:
    """The topmost directory, from the root to `path` itself, that the account may not enter; None
    where the way is open.
    """
    real = path.resolve()
    if account is None:
        return next(
            (
                p
                for p in (*reversed(real.parents), real)
                if p.is_dir() and not os.access(p, os.X_OK)
            ),
            None,
        )
    return next(
        (
            p
            for p in (*reversed(real.parents), real)
            if p.is_dir() and not _may_enter(account, p.stat())
        ),
        None,
    )


def _may_enter(account: Account, seen: os.stat_result) -> bool:
    if seen.st_uid == account.uid:
        return bool(seen.st_mode & stat.S_IXUSR)
    if seen.st_gid == account.gid:
        return bool(seen.st_mode & stat.S_IXGRP)
    return bool(seen.st_mode & stat.S_IXOTH)


def may_replace(account: Account | None, path: Path) -> bool:
    """Whether the account could put something else in the place of what we make in a directory,
    there or above it.
    """
    real = path.resolve()
    return account is not None and any(
        _may_rename_in(account, p.stat()) for p in (real, *real.parents)
    )


def _may_rename_in(account: Account, seen: os.stat_result) -> bool:
    if seen.st_uid == account.uid:
        return True
    open_to = seen.st_mode & (stat.S_IWGRP if seen.st_gid == account.gid else stat.S_IWOTH)
    return bool(open_to) and not seen.st_mode & stat.S_ISVTX


def covers_possible() -> bool:
    """True where a mount namespace can be made: root with CAP_SYS_ADMIN, and the tools."""
    if os.geteuid() != 0 or not all(shutil.which(tool) for tool in TOOLS):
        return False
    tried = subprocess.run([*OWN_MOUNTS, "true"], capture_output=True, check=False)
    return tried.returncode == 0


def as_account(
    account: Account | None, argv: Sequence[str | Path], reach: Sequence[Path], stash: Path
) -> tuple[list[str], dict[str, Any]]:
    """(command, Popen's further arguments) to run `argv` as the account, with every directory of
    `reach` open to it.

    `stash` is a directory outside of every barred one, where the directories wait while their way
    is covered.
    Raises PlanError where one is barred and cannot be opened.
    """
    command = [str(word) for word in argv]
    if account is None:
        return command, {}
    barred = {path.resolve(): top for path in reach if (top := bar(account, path))}
    if not barred:
        return command, account.rights
    path, top = next(
        ((path, path) for path in barred if not _may_enter(account, path.stat())),
        next(iter(barred.items())),
    )
    if top == path or not covers_possible():
        raise PlanError(
            f"cannot open {path} to the account {account.name!r}",
            seen=f"{top} blocks the path and no mount namespace can be created here",
            do=f"use a directory outside {top}",
        )
    ids = [f"--reuid={account.uid}", f"--regid={account.gid}", "--clear-groups"]
    mounting = _covering(barred, stash) + without_volumes(path.resolve() for path in reach)
    covered = f"{mounting}exec {shlex.join(['setpriv', *ids, '--', *command])}"
    return [*OWN_MOUNTS, "sh", "-c", covered], {}


def _covering(barred: dict[Path, Path], stash: Path) -> str:
    """The shell lines that put every barred path aside, cover what bars the way, and put the paths
    back in their places.
    """
    tops = sorted(set(barred.values()))
    aside = {path: stash / str(number) for number, path in enumerate(sorted(barred))}
    lines = ["set -e", "umask 022", "cd /"]
    lines += [
        f"mkdir -p {_q(put)}; mount --bind {_q(path)} {_q(put)}" for path, put in aside.items()
    ]
    lines += [f"mount -t tmpfs -o mode=0755,size=4m kneebench {_q(top)}" for top in tops]
    lines += [
        f"mkdir -p {_q(path)}; mount --bind {_q(put)} {_q(path)}" for path, put in aside.items()
    ]
    return "\n".join(lines) + "\n"


def _q(path: Path) -> str:
    return shlex.quote(str(path))
