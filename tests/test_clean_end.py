"""Processes end without a word on stderr: nanobind reports objects of DuckDB that are left over."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SESSION = """
from kneebench.results.parquet import connect
with connect() as session:
    print(session.execute("SELECT 1").fetchall())
"""
TESTS = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_sweep.py", "-k", "parquet")


@pytest.mark.parametrize("arguments", [("-c", SESSION), TESTS], ids=["results", "tests"])
def test_a_process_that_used_duckdb_ends_without_a_message(arguments: tuple[str, ...]) -> None:
    command = [sys.executable, *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
