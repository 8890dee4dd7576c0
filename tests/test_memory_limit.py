"""A memory limit around a database: real cgroups, a real server in one."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kneebench.databases.several import engine_of
from kneebench.errors import KneebenchError
from kneebench.lab import limits
from kneebench.lab.journal import Journal
from kneebench.lab.limits import DatabaseLimits, Resources, controller
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Configuration, Event

MIB = 2**20
GREEDY = "import sys; sys.stdin.readline(); held = bytearray(b'x') * (256 * 2**20)"
needs_cgroups = pytest.mark.skipif(
    os.geteuid() != 0 or controller() is None, reason="needs root and memory cgroups"
)
pytestmark = [pytest.mark.root]


def unwatched(event: Event) -> None:
    """Nobody looks."""


@contextlib.contextmanager
def limited(journal: Path, memory_bytes: int) -> Iterator[DatabaseLimits]:
    """Limits on memory alone; removed at the end."""
    with contextlib.ExitStack() as until:
        yield DatabaseLimits(Resources((), memory_bytes, limited=True), (), Journal(journal), until)


@needs_cgroups
def test_a_process_beyond_the_limit_is_killed_and_the_group_says_so(tmp_path: Path) -> None:
    with limited(tmp_path, 64 * MIB) as limits:
        assert limits.out_of_memory == ""
        with subprocess.Popen([sys.executable, "-c", GREEDY], stdin=subprocess.PIPE) as greedy:
            limits.add(greedy.pid)
            greedy.communicate(b"\n")
        assert greedy.returncode == -signal.SIGKILL
        assert limits.out_of_memory == (
            "the kernel killed 1 of its processes at its memory limit of 64 MiB"
        )
        assert limits.memory
    assert not limits.memory.path.exists()
    assert list(tmp_path.iterdir()) == []


@needs_cgroups
def test_a_lifted_limit_lets_a_process_pass_and_is_there_again_afterwards(tmp_path: Path) -> None:
    with limited(tmp_path, 64 * MIB) as limits:
        assert limits.memory
        limit = limits.memory.path / limits.memory.files.limit
        with (
            limits.lift(),
            subprocess.Popen([sys.executable, "-c", GREEDY], stdin=subprocess.PIPE) as greedy,
        ):
            limits.add(greedy.pid)
            greedy.communicate(b"\n")
        assert greedy.returncode == 0
        assert int(limit.read_text()) == 64 * MIB


@needs_cgroups
def test_a_group_that_a_killed_run_left_is_removed_by_the_next(tmp_path: Path) -> None:
    code = (
        "import contextlib, os, sys; from pathlib import Path;"
        "from kneebench.lab.journal import Journal; from kneebench.lab.limits import *\n"
        "own, journal = Resources((), 2**26, limited=True), Journal(Path(sys.argv[1]))\n"
        "DatabaseLimits(own, (), journal, contextlib.ExitStack())\n"
        "os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], check=False)
    changes = Journal(tmp_path).leftovers()
    assert changes
    assert all(Path(change.where).is_dir() for change in changes)
    assert Journal(tmp_path).clean(unwatched) == list(changes)
    assert not any(Path(change.where).exists() for change in changes)


@needs_cgroups
def test_a_server_of_a_plan_with_a_limit_is_in_its_group_and_sized_for_it(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    plan = Plan.model_validate(
        {
            "database": {"memory": "512MiB", "base_image_path": tmp_path / "images"},
            "workload": {"warehouses": 1},
            "ladder": {"users": (1, 4), "checkpoints": 0},
            "storages": {"disk": {"path": tmp_path / "disk"}},
        }
    )
    engine = engine_of(Study(plan).databases, Journal(tmp_path / "journal"))
    with engine.restored(Configuration(id="disk", storage="disk"), unwatched) as server:
        [settings] = [one for one in server.settings if one.name == "shared_buffers"]
        assert settings.value == "128MB"
        for process in server.processes():
            assert "kneebench-" in Path(f"/proc/{process}/cgroup").read_text()
        assert [one.sentence for one in server.conditions(unwatched) if not one.passed] == []


def test_without_a_controller_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "controller", lambda: None)
    with pytest.raises(KneebenchError, match="run as root"), limited(tmp_path, MIB):
        pass
