"""The plan's shell command that restores the database of an external server."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

from kneebench.errors import KneebenchError
from kneebench.secrets import redacted_output

STORAGE = "KNEEBENCH_STORAGE"
"""The variable that names the plan's storage to the command."""
MOST_CHARACTERS = 400
"""Of a failed command's output: its end."""


def run_restore_command(
    command: str, variables: Mapping[str, str], password_variable: str, storage: str
) -> None:
    """Run the command to its end. It receives our environment, the server's address in `variables`
    and the storage's name, but not the password.

    Raises KneebenchError with the end of its output, without the secrets in it, where it fails.
    """
    ours = {name: value for name, value in os.environ.items() if name != password_variable}
    done = subprocess.run(
        ["sh", "-c", command],
        env={**ours, **variables, STORAGE: storage},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode != 0:
        words = redacted_output(command, done.stderr or done.stdout).strip()[-MOST_CHARACTERS:]
        raise KneebenchError(
            "database.restore_command",
            seen=f"exit code {done.returncode}: {words}",
            do="run the command by hand and correct it",
        )
