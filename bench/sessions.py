"""The program of sessions.rs: our load generator with our own session, or with tokio-postgres."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.turn import Turn, program_turn
from kneebench.databases.engines.postgres.server_address import PostgresAddress

SESSIONS = ("own", "library", "library-own-socket")
"""Our own session; tokio-postgres as it comes; tokio-postgres over our own socket."""
BUILD = (
    "cargo",
    "build",
    "--release",
    "--locked",
    "--quiet",
    "--no-default-features",
    "--example",
    "sessions",
)
SOURCE = Path(__file__).parent.parent


def sessions_program() -> Path:
    """The built program; minutes the first time."""
    command = [*BUILD, "--message-format=json"]
    built = subprocess.run(command, cwd=SOURCE, stdout=subprocess.PIPE, text=True, check=True)
    found = [message.get("executable") for message in map(json.loads, built.stdout.splitlines())]
    return Path(next(filter(None, found)))


def session_turns(
    program: Path,
    values: dict[str, Any],
    address: PostgresAddress,
    seconds: int,
    cores: Sequence[int],
) -> list[Callable[[], Turn]]:
    """A turn with each of the three sessions, to be measured."""

    def side(session: str) -> Callable[[], Turn]:
        return lambda: program_turn([str(program), session], values, address, seconds, cores)

    return [side(session) for session in SESSIONS]
