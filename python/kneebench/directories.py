"""Directories that kneebench uses where nobody names another."""

from __future__ import annotations

import os
from pathlib import Path

CAMPAIGNS = Path("kneebench-results")
"""Directory of campaigns, below the one that kneebench is started in."""


def state_directory() -> Path:
    """Directory of the journal and of tracebacks: below XDG_STATE_HOME or ~/.local/state (XDG base
    directories).

    Raises RuntimeError for a user without a home.
    """
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "kneebench"
