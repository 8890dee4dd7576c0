"""What a server on this machine can be asked beside SQL."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from kneebench.records import Role


class Process(NamedTuple):
    """A server's processes; one elsewhere has neither ids nor cores nor directories.

    `log` is the directory of the log, where nothing else is in it.
    """

    family: Callable[[], Sequence[int]] = tuple
    crash_report: Callable[[], str] = str
    cores: Sequence[int] = ()
    paths: Sequence[Path] = ()
    roles: Sequence[Role] = ()
    log: Path | None = None
    without_limit: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext
