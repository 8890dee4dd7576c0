"""The limits of a configuration: which cores, set by real cgroups and read back from real
processes.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from kneebench.databases.several import engine_of
from kneebench.errors import KneebenchError
from kneebench.lab import control_groups, limits, topology
from kneebench.lab.control_groups import Groups, Hierarchy, hierarchy_of, unified
from kneebench.lab.journal import Journal
from kneebench.lab.limit_findings import constraint_findings, missing_for_all
from kneebench.lab.limits import DatabaseLimits, Resources
from kneebench.lab.preparation import Shares
from kneebench.lab.processes import started
from kneebench.lab.programs import wait_until
from kneebench.lab.topology import chosen, others
from kneebench.plan import Plan
from kneebench.plan.configurations import configurations
from kneebench.plan.study import Study
from kneebench.records import IoLimits
from kneebench.units import size
from tests.loaded import shared_images

MIB = 2**20
needs_cpusets = pytest.mark.skipif(
    os.geteuid() != 0 or hierarchy_of("cpuset") is None, reason="needs root and cpusets"
)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine of 8 cores: siblings n and n + 4, nodes of two physical cores each."""
    for core in range(8):
        folder = tmp_path / f"cpu{core}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{core % 4},{core % 4 + 4}\n")
    for node, text in enumerate(("0-1,4-5\n", "2-3,6-7\n")):
        (tmp_path / f"node{node}").mkdir()
        (tmp_path / f"node{node}" / "cpulist").write_text(text)
    monkeypatch.setattr(topology, "CPUS", tmp_path)
    monkeypatch.setattr(topology, "NODES", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)))
    return tmp_path


def test_cores_are_chosen_by_physical_core_by_node_and_without_siblings(server: Path) -> None:
    every = range(8)
    assert chosen(2, every) == (0, 4)
    assert chosen(3, every) == (0, 1, 4)
    assert chosen(3, every, siblings=False) == (0, 1, 2)
    assert chosen(None, every, node=1) == (2, 3, 6, 7)
    assert chosen(None, every, siblings=False, node=1) == (2, 3)
    assert chosen(9, every, siblings=False) == (0, 1, 2, 3), "fewer where there are fewer"


def test_the_load_generator_gets_physical_cores_of_its_own_where_there_are_some(
    server: Path,
) -> None:
    assert others((0, 4), range(8)) == (1, 2, 3, 5, 6, 7)
    assert others((0, 1), range(8)) == (2, 3, 6, 7), "siblings stay idle"
    assert others((0, 1, 2, 3), range(8)) == (4, 5, 6, 7), "else siblings"
    assert others(tuple(range(8)), range(8)) == ()


def planned(constraints: dict[str, object], **database: object) -> Plan:
    return Plan.model_validate(
        {
            "storages": {"disk": {"path": "."}},
            "constraints": constraints,
            "database": database,
            "workload": {"warehouses": 100},
        }
    )


def test_a_configuration_gets_what_its_constraint_says_and_else_what_holds_for_all(
    server: Path,
) -> None:
    plan = planned(
        {"cores": [1, 2], "memory": ["1GiB"], "reference": True}, memory="4GiB", cores=[2, 3]
    )
    shares = Shares(Study(plan).only_database)
    one, two, reference = (
        shares.resources_of(configuration) for configuration in configurations(plan)
    )
    assert (one.cores, one.memory_bytes, one.pinned, one.limited) == ((2,), 2**30, True, True)
    assert (two.cores, two.memory_bytes) == ((2, 3), 2**30)
    assert (reference.cores, reference.memory_bytes) == ((2, 3), 2**32)
    assert shares.load_generator_cores(configurations(plan)[0]) == (0, 1, 3, 4, 5, 7)


def test_check_says_which_cores_are_used_and_what_is_missing(server: Path) -> None:
    [found] = constraint_findings(Study(planned({"cores": [2]})).only_database)
    assert found.level == "ok" and "database on cores 0,4 by" in found.seen
    assert "the load generator on 1-3,5-7" in found.seen
    [shared] = constraint_findings(Study(planned({"cores": [8]})).only_database)
    assert shared.level == "note" and "shared with the load generator" in shared.seen
    [many] = constraint_findings(Study(planned({"many": {"cores": 9}})).only_database)
    assert many.level == "error" and many.seen == "many: needs 9 cores, 8 available"
    [node] = constraint_findings(Study(planned({"far": {"numa_node": 7}})).only_database)
    assert node.seen == "there is no NUMA node 7"


def test_check_refuses_io_limits_of_v1_and_memory_without_a_controller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from kneebench.lab import limit_findings

    monkeypatch.setattr(limit_findings, "hierarchy_of", lambda name: None)
    monkeypatch.setattr(limit_findings, "controller", lambda: None)
    [io] = constraint_findings(Study(planned({"slow": {"io": {"read_iops": 100}}})).only_database)
    assert io.level == "error" and "v1 limits direct I/O alone" in io.seen
    [memory] = constraint_findings(Study(planned({"memory": ["256MiB", "512MiB"]})).only_database)
    assert "may use no memory controller" in memory.seen and "run as root" in memory.do


@pytest.mark.parametrize("key", ["memory", "engine_memory"])
def test_check_refuses_more_memory_than_this_machine_has_in_words_for_people(key: str) -> None:
    there = size(psutil.virtual_memory().total)
    for constraints in ({key: ["60TiB"]}, {"large": {key: "60TiB"}}):
        *_, found = constraint_findings(Study(planned(constraints)).only_database)
        assert found.level == "error"
        assert found.seen == f"60 TiB of {key}, and this machine has {there}"


def test_check_refuses_a_memory_limit_for_all_that_this_machine_does_not_have() -> None:
    *_, found = missing_for_all((), 60 * 2**40)
    assert (found.level, found.subject) == ("error", "database.memory")
    assert found.seen.startswith("60 TiB of memory, and this machine has ")
    assert "e+" not in found.seen


@contextlib.contextmanager
def sleeping() -> Iterator[int]:
    code = "import sys; sys.stdin.readline()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        try:
            yield process.pid
        finally:
            process.communicate(b"\n")


@needs_cpusets
@pytest.mark.root
def test_a_process_in_the_groups_runs_on_its_cores_and_in_its_memory(tmp_path: Path) -> None:
    core = min(os.sched_getaffinity(0))
    with contextlib.ExitStack() as until, sleeping() as process:
        own = Resources((core,), 64 * MIB, pinned=True, limited=True)
        limited = DatabaseLimits(own, (), Journal(tmp_path), until)
        limited.add(process)
        limited.verify([process])
        assert os.sched_getaffinity(process) == {core}
        assert {one.name: one.value for one in limited.settings} == {
            "cores": str(core),
            "memory limit": "64 MiB",
            "huge pages outside the memory limit": "0 B",
        }
        assert len(list(tmp_path.iterdir())) == len(limited._groups.paths)
        [pressures] = [path for path in limited._groups.paths.values() if path.parent == unified()]
        assert str(process) in (pressures / "cgroup.procs").read_text().split()
        os.kill(process, 9)
    assert list(tmp_path.iterdir()) == []
    assert not [path for path in limited._groups.paths.values() if path.exists()]


@needs_cpusets
@pytest.mark.root
def test_groups_of_a_killed_run_are_removed_by_the_next(tmp_path: Path) -> None:
    code = (
        "import os, sys; from contextlib import ExitStack; from pathlib import Path;"
        "from kneebench.lab.journal import Journal;"
        "from kneebench.lab.limits import DatabaseLimits, Resources;"
        "until = ExitStack(); own = Resources((0,), 2**26, pinned=True, limited=True);"
        "DatabaseLimits(own, (), Journal(Path(sys.argv[1])), until);"
        "os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], check=False)
    left = [Path(change.where) for change in Journal(tmp_path).leftovers()]
    assert left and all(path.is_dir() for path in left)
    Journal(tmp_path).clean(lambda event: None)
    assert not any(path.exists() for path in left)


def test_without_a_cpuset_cores_are_limited_by_affinity_which_is_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "hierarchy_of", lambda name: None)
    core = min(os.sched_getaffinity(0))
    with contextlib.ExitStack() as until, sleeping() as process:
        limited = DatabaseLimits(Resources((core,), 0, pinned=True), (), Journal(tmp_path), until)
        if len(os.sched_getaffinity(0)) > 1:
            with pytest.raises(KneebenchError, match="may run on cores"):
                limited.verify([process])
        os.sched_setaffinity(process, {core})
        limited.verify([process])
        [setting] = limited.settings
        assert (setting.value, setting.source) == (str(core), "constraint (affinity)")


def test_io_limits_are_written_per_device_and_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On stand-ins for the kernel's files: this machine may have v1."""
    monkeypatch.setattr(limits, "hierarchy_of", lambda name: Hierarchy(tmp_path / "cgroup", 2))
    monkeypatch.setattr(limits, "whole_devices", lambda paths: ("nvme0n1",))
    monkeypatch.setattr(limits, "SYS_BLOCK", tmp_path / "block")
    monkeypatch.setattr(control_groups.Groups, "path", lambda groups, root: root)
    (tmp_path / "cgroup").mkdir()
    (tmp_path / "block" / "nvme0n1").mkdir(parents=True)
    (tmp_path / "block" / "nvme0n1" / "dev").write_text("259:0\n")
    with contextlib.ExitStack() as until:
        wanted = IoLimits(read_iops=2000, write_bytes=100_000_000)
        own = Resources((), 0, io=wanted)
        limited = DatabaseLimits(own, [tmp_path], Journal(tmp_path / "j"), until)
    assert (tmp_path / "cgroup" / "io.max").read_text() == "259:0 wbps=100000000 riops=2000"
    [setting] = limited.settings
    assert setting.name == "I/O limit of nvme0n1"


@needs_cpusets
@pytest.mark.root
def test_a_real_server_has_the_cores_the_cache_and_the_memory_of_its_configuration(
    tmp_path: Path,
) -> None:
    (tmp_path / "disk").mkdir()
    small = {"cores": 1, "memory": "512MiB", "engine_memory": "160MiB"}
    plan = Plan.model_validate(
        {
            "constraints": {"small": small},
            "database": {"base_image_path": shared_images()},
            "workload": {"warehouses": 1},
            "ladder": {"users": (1, 4), "checkpoints": 0},
            "storages": {"disk": {"path": tmp_path / "disk"}},
        }
    )
    engine, [configuration] = (
        engine_of(Study(plan).databases, Journal(tmp_path / "journal")),
        configurations(plan),
    )
    assert [one.seen for one in engine.findings() if one.level == "error"] == []
    with engine.restored(configuration, lambda event: None) as server:
        settings = {one.name: one.value for one in server.settings}
        assert settings["shared_buffers"] == "160MB"
        assert settings["huge_pages"] == "off"
        assert (settings["memory limit"], settings["cores"]) == ("512 MiB", str(server.cores[0]))
        for process in server.processes():
            assert os.sched_getaffinity(process) == {*server.cores}
            assert "kneebench-" in Path(f"/proc/{process}/cgroup").read_text()


def test_a_process_that_has_ended_unasked_for_is_in_no_group_and_has_not_escaped(
    tmp_path: Path,
) -> None:
    with contextlib.ExitStack() as until, subprocess.Popen(["true"]) as child:
        groups = Groups(Journal(tmp_path), until)
        groups.paths[tmp_path] = tmp_path
        (tmp_path / "cgroup.procs").touch()
        assert groups.without(os.getpid()) == [tmp_path]
        assert wait_until(lambda: not started(child.pid))
        assert Path(f"/proc/{child.pid}").exists(), "nobody has asked for its end"
        with pytest.raises(ProcessLookupError):
            groups.without(child.pid)


def test_a_process_that_ends_while_its_groups_are_read_has_not_escaped(tmp_path: Path) -> None:
    processes = tmp_path / "cgroup.procs"
    os.mkfifo(processes)

    def end() -> bool:
        with processes.open("w"):  # once it is being read
            child.kill()
            return wait_until(lambda: not started(child.pid))

    with (
        contextlib.ExitStack() as until,
        subprocess.Popen(["sleep", "60"]) as child,
        ThreadPoolExecutor() as pool,
    ):
        groups = Groups(Journal(tmp_path / "journal"), until)
        groups.paths[tmp_path] = tmp_path
        ended = pool.submit(end)
        with pytest.raises(ProcessLookupError):
            groups.without(child.pid)
        assert ended.result()
