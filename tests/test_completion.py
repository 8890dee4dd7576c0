"""Completion by the Tab key, in the shells themselves."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kneebench.cli import app
from kneebench.commands.completing import VARIABLE

SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
}
PREPARED = {"bash": "", "zsh": "autoload -Uz compinit && compinit -u -D; "}
"""What a shell needs before the script, as its user's own file has it."""
DEADLINE_S = 60


@pytest.fixture
def command(tmp_path: Path) -> Path:
    """The folder of a command `kneebench` that is the code under test."""
    file = tmp_path / "bin" / "kneebench"
    file.parent.mkdir()
    file.write_text(f'#!/bin/sh\nexec {sys.executable} -m kneebench "$@"\n')
    file.chmod(0o755)
    return file.parent


def environment(command: Path) -> dict[str, str]:
    home = {"HOME": str(command), "TERM": "dumb", "PS1": "ready> "}
    return os.environ | home | {"PATH": f"{command}:{os.environ['PATH']}"}


def requires(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")


class Typist:
    """Somebody at a terminal with a shell, who types and reads."""

    def __init__(self, words: list[str], place: Path, variables: dict[str, str]) -> None:
        self._terminal, theirs = pty.openpty()
        self._shell = subprocess.Popen(
            words,
            cwd=place,
            env=variables,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        os.set_blocking(self._terminal, False)

    def types(self, keys: str, until: str) -> str:
        """What is shown after these keys, once `until` is."""
        os.write(self._terminal, keys.encode())
        seen, deadline = "", time.monotonic() + DEADLINE_S
        while until not in seen:
            assert time.monotonic() < deadline, seen
            with contextlib.suppress(BlockingIOError):
                seen += os.read(self._terminal, 65536).decode(errors="replace")
            time.sleep(0.01)
        return seen

    def leaves(self) -> None:
        self._shell.kill()
        self._shell.wait()
        os.close(self._terminal)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_tab_key_completes_commands_values_and_campaigns_in_a_shell(
    shell: str, command: Path, tmp_path: Path
) -> None:
    requires(shell)
    folder = tmp_path / "kneebench-results" / "2026-11-27-nightly"
    folder.mkdir(parents=True)
    (folder / "campaign.json").write_text("{}")
    typist = Typist(SHELLS[shell], tmp_path, environment(command))
    try:
        script = f'{PREPARED[shell]}eval "$(kneebench completion {shell})"; echo ready\r'
        typist.types(script, "\nready")
        assert "components" not in typist.types("kneebench completi\t", "completion ")
        typist.types("\x15kneebench plan preset sim\t", "simulated ")
        typist.types("\x15kneebench run --prom\t", "--prometheus ")
        typist.types("\x15kneebench show 2026\t", "2026-11-27-nightly ")
    finally:
        typist.leaves()


def test_fish_completes_commands_and_values(command: Path, tmp_path: Path) -> None:
    requires("fish")
    line = "kneebench completion fish | source; complete -C 'kneebench plan preset si'"
    found = subprocess.run(
        ["fish", "--no-config", "-c", line],
        cwd=tmp_path,
        env=environment(command),
        capture_output=True,
        text=True,
        check=True,
    )
    assert [one.split("\t")[0] for one in found.stdout.splitlines()] == ["simulated"]


def test_an_answer_to_the_tab_key_waits_for_no_heavy_import() -> None:
    variables = {
        VARIABLE: "complete_bash",
        "COMP_WORDS": "kneebench --version pl",
        "COMP_CWORD": "2",
    }
    found = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "kneebench"],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == ["plan"]
    assert "kneebench.cli" in found.stderr
    assert not re.search(r"\| +(pydantic|rich|numpy|duckdb)\b", found.stderr)


def test_another_shell_is_refused_with_those_there_are() -> None:
    refused = CliRunner().invoke(app, ["completion", "tcsh"])
    assert refused.exit_code == 2
    assert "'bash', 'zsh', 'fish'" in refused.output
