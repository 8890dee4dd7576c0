"""A memory limit around a database: real cgroups, a real server in one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kneebench.databases.engine import engine_of
from kneebench.errors import KneebenchError
from kneebench.lab import memory_limit as limits
from kneebench.lab.journal import Journal
from kneebench.lab.memory_limit import controller, memory_limit
from kneebench.plan import Plan
from kneebench.records import Cell, Event

MIB = 2**20
GREEDY = "import sys; sys.stdin.readline(); held = bytearray(b'x') * (256 * 2**20)"
needs_cgroups = pytest.mark.skipif(
    os.geteuid() != 0 or controller() is None, reason="needs root and memory cgroups"
)
pytestmark = [pytest.mark.root]


def unwatched(event: Event) -> None:
    """Nobody looks."""


@needs_cgroups
def test_a_process_beyond_the_limit_is_killed_and_the_group_says_so(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with memory_limit(journal, 64 * MIB) as group:
        assert group.out_of_memory == ""
        with subprocess.Popen([sys.executable, "-c", GREEDY], stdin=subprocess.PIPE) as greedy:
            group.add(greedy.pid)
            greedy.communicate(b"\n")
        assert greedy.returncode == -signal.SIGKILL
        assert group.out_of_memory == (
            "the kernel killed 1 of its processes at its memory limit of 64 MiB"
        )
    assert not group.path.exists()
    assert list(tmp_path.iterdir()) == []


@needs_cgroups
def test_a_lifted_limit_lets_a_process_pass_and_is_there_again_afterwards(tmp_path: Path) -> None:
    with memory_limit(Journal(tmp_path), 64 * MIB) as group:
        limit = group.path / group.files.limit
        with (
            group.lifted(),
            subprocess.Popen([sys.executable, "-c", GREEDY], stdin=subprocess.PIPE) as greedy,
        ):
            group.add(greedy.pid)
            greedy.communicate(b"\n")
        assert greedy.returncode == 0
        assert int(limit.read_text()) == 64 * MIB


@needs_cgroups
def test_a_group_that_a_killed_run_left_is_removed_by_the_next(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from kneebench.lab.journal import Journal;"
        "from kneebench.lab.memory_limit import memory_limit\n"
        "with memory_limit(Journal(Path(sys.argv[1])), 2**26) as group: os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], check=False)
    [change] = Journal(tmp_path).leftovers()
    assert Path(change.where).is_dir()
    assert Journal(tmp_path).clean(unwatched) == [change]
    assert not Path(change.where).exists()


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
    engine = engine_of(plan, Journal(tmp_path / "journal"))
    with engine.restored(Cell(id="disk", storage="disk"), unwatched) as server:
        [settings] = [one for one in server.settings if one.name == "shared_buffers"]
        assert settings.value == "128MB"
        for process in server.processes():
            assert "kneebench-" in Path(f"/proc/{process}/cgroup").read_text()
        assert [one.sentence for one in server.conditions(unwatched) if not one.passed] == []


def test_without_a_controller_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "controller", lambda: None)
    with pytest.raises(KneebenchError, match="run as root"), memory_limit(Journal(tmp_path), MIB):
        pass
