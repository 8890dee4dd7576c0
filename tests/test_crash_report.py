"""What is said of the end of a server: databases/managed/crash_report.py."""

from __future__ import annotations

import subprocess
import time

import pytest

from kneebench.databases.managed import crash_report
from kneebench.databases.managed.crash_report import seen_of_its_end


def test_a_server_that_answers_has_no_end() -> None:
    assert seen_of_its_end(lambda: "", lambda: True) == ""


def test_a_server_that_refuses_before_it_is_gone_says_how_it_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(crash_report, "DYING_S", 60.0)
    began = time.monotonic()
    with subprocess.Popen(["sleep", "0.3"]) as process:
        seen = seen_of_its_end(
            lambda: "" if process.poll() is None else f"exit code {process.returncode}",
            lambda: False,
        )
    assert seen == "exit code 0"
    assert time.monotonic() - began < crash_report.DYING_S


def test_a_server_that_runs_and_does_not_answer_accepts_no_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(crash_report, "DYING_S", 0.1)
    assert seen_of_its_end(lambda: "", lambda: False) == "it accepts no connections"
