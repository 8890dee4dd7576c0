"""Directories that kneebench uses where nobody names another."""

from __future__ import annotations

import os
from pathlib import Path

from kneebench.errors import Refused

CAMPAIGNS = Path("kneebench-results")
"""Directory of campaigns, below the one that kneebench is started in."""


def state_directory() -> Path:
    """Directory of the journal and of tracebacks: below XDG_STATE_HOME or ~/.local/state (XDG base
    directories).

    Raises RuntimeError for a user without a home.
    """
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "kneebench"


def make_private(folder: Path) -> Path:
    """The directory, made where it is missing. The state directory, and what is made in it, is
    open to nobody else, also where an earlier version made it so that others could read it. Raises
    Refused if it belongs to another user, who could forge what is in it.
    """
    home = state_directory()
    if home.is_dir() and home.stat().st_uid != os.geteuid():
        raise Refused(
            f"cannot open {home}",
            seen="it belongs to another user",
            do="set XDG_STATE_HOME to another directory, or use sudo -H",
        )
    for one in reversed((folder, *folder.parents)):
        if one == folder or one.is_relative_to(home):
            one.mkdir(parents=True, exist_ok=True, mode=0o700)
    if home.is_dir():
        home.chmod(0o700)
    return folder


def write_private(file: Path, text: str) -> None:
    """Write a file as a whole, which nobody else may read; it is on its drive when this ends."""
    draft = file.with_suffix(".draft")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        os.fchmod(handle, 0o600)
        out.write(text)
        out.flush()
        os.fsync(handle)
    draft.replace(file)
