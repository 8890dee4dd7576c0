"""Room for a database: the default plan fits the machine it is made for, and what lies on one file
system is added up.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from kneebench.commands.plan_selection import selected_study
from kneebench.databases.engines.postgres.engine import OwnPostgres
from kneebench.databases.engines.postgres.footprint import GIB, MIB, climb_bytes, image_bytes
from kneebench.databases.managed import disk_space
from kneebench.databases.managed.base_image import find
from kneebench.errors import PlanError
from kneebench.lab.host import host
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.plan import default as default_plans
from kneebench.plan.default import MEMORY, default_plan, is_default, sized_plan
from kneebench.plan.study import Study
from kneebench.records import Finding, Host
from kneebench.results.store import Store

Machine = Callable[..., Host]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system: needs root")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    """Another machine, as far as memory, cores and free space go: half of its memory is its
    tmpfs's.
    """

    def seems(
        total_bytes: int, available_bytes: int, cores: int = 2, disk_bytes: int = 80 * GIB
    ) -> Host:
        def free(path: Path) -> int:
            return min(total_bytes // 2, available_bytes) if path == MEMORY else disk_bytes

        monkeypatch.setattr(
            psutil,
            "virtual_memory",
            lambda: SimpleNamespace(total=total_bytes, available=available_bytes),
        )
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)))
        monkeypatch.setattr(default_plans, "free_bytes", free)
        monkeypatch.setattr(disk_space, "free_bytes", free)
        monkeypatch.setattr(
            disk_space, "file_system_of", lambda path: "tmpfs" if path == MEMORY else "ext4"
        )
        return Host(cpu="any", cores=cores, memory_bytes=total_bytes, kernel="6", system="any")

    monkeypatch.chdir(tmp_path)
    return seems


def space_shortages(plan: Plan, folder: Path) -> list[Finding]:
    engine = OwnPostgres(Study(plan).only_database, Journal(folder / "journal"))
    return [
        finding
        for storage in plan.storages.values()
        for finding in engine.directories.of(storage)
        if finding.level == "error"
    ]


@pytest.mark.parametrize("total_gib", [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64])
def test_the_default_plan_passes_the_check_for_room_or_says_that_the_machine_is_too_small(
    machine: Machine, tmp_path: Path, total_gib: int
) -> None:
    refused = []
    for percent in (40, 50, 60, 70, 80, 90):
        for cores in (2, 8):
            seen = machine(total_gib * GIB, total_gib * GIB * percent // 100, cores)
            try:
                plan = default_plan(seen, Path())
            except PlanError as error:
                assert "the machine is too small" in error.seen
                refused.append(percent)
            else:
                assert space_shortages(plan, tmp_path) == []
    assert not refused or total_gib <= 4


def test_what_is_in_use_makes_the_default_plan_smaller(machine: Machine) -> None:
    sizes = [
        default_plan(machine(8 * GIB, available * GIB), Path()).workload.warehouses
        for available in (7, 5, 4)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 3


def test_two_cores_and_24_gib_hardly_used_get_20_warehouses(machine: Machine) -> None:
    assert default_plan(machine(24105 * MIB, 20 * GIB), Path()).workload.warehouses == 20


def test_an_unfinished_campaign_of_the_default_plan_keeps_its_size_when_less_memory_is_available(
    machine: Machine, tmp_path: Path
) -> None:
    machine(24 * GIB, 20 * GIB)
    begun = selected_study(None, tmp_path / "campaigns")
    Store.create(tmp_path / "campaigns", begun, host()).close()
    machine(24 * GIB, 9 * GIB)
    assert selected_study(None).workload.warehouses < begun.workload.warehouses
    gone_on_with = selected_study(None, tmp_path / "campaigns")
    assert gone_on_with.document == begun.document
    with Store.for_study(tmp_path / "campaigns", gone_on_with, host(), fresh=False) as store:
        assert [store.folder] == list((tmp_path / "campaigns").iterdir())


def test_too_little_room_for_the_default_plan_says_how_to_get_a_plan_to_change(
    machine: Machine, tmp_path: Path
) -> None:
    machine(8 * GIB, 4 * GIB)
    plan = sized_plan(Path(), warehouses=18)
    [error] = space_shortages(plan, tmp_path)
    assert "of memory available" in error.seen
    assert "kneebench plan default > plan.toml" in error.do
    own = plan.model_copy(update={"seed": 5})
    assert (is_default(plan), is_default(own)) == (True, False)
    [error] = space_shortages(own, tmp_path)
    assert "lower workload.warehouses" in error.do
    assert "plan default" not in error.do


# --- several on one file system -------------------------------------------------------------------


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with room for the image or for a copy of one warehouse, not for
    both.
    """
    folder = tmp_path / "small"
    folder.mkdir()
    space_bytes = climb_bytes(1) + 256 * MIB + image_bytes(1) // 2
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={space_bytes // 4096 * 4096}", "tmpfs", folder],
        check=True,
    )
    try:
        for name in ("images", "data", "log"):
            (folder / name).mkdir()
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def plan_of(image: Path, **storage: Path) -> Plan:
    given = {
        "database": {"base_image_path": image, "settings": {"max_wal_size": "256MB"}},
        "workload": {"warehouses": 1},
        "ladder": {"users": (1, 8)},
    }
    return Plan.model_validate({**given, "storages": {"only": storage}})


@needs_root
def test_an_image_and_a_copy_on_one_file_system_need_room_for_both(
    small: Path, tmp_path: Path
) -> None:
    together = plan_of(small / "images", path=small / "data")
    [error] = space_shortages(together, tmp_path)
    assert "on one file system" in error.seen
    assert "of base image" in error.seen
    with pytest.raises(PlanError, match="on one file system"):
        OwnPostgres(Study(together).only_database, Journal(tmp_path / "journal")).prepare(
            lambda event: None
        )
    assert list((small / "images").iterdir()) == []
    assert space_shortages(plan_of(tmp_path / "images", path=small / "data"), tmp_path) == []
    assert space_shortages(plan_of(small / "images", path=tmp_path), tmp_path) == []


@needs_root
def test_data_and_log_on_one_file_system_need_room_for_both(small: Path, tmp_path: Path) -> None:
    (small / "filler").write_bytes(bytes(image_bytes(1) // 2 + 64 * MIB))
    assert (
        space_shortages(
            plan_of(tmp_path / "images", path=small / "data", log_path=tmp_path), tmp_path
        )
        == []
    )
    [error] = space_shortages(
        plan_of(tmp_path / "images", path=small / "data", log_path=small / "log"), tmp_path
    )
    assert "of log" in error.seen


def test_the_log_gets_the_same_room_before_and_after_the_image_is_built(
    machine: Machine, tmp_path: Path
) -> None:
    """On a disk where the log takes what there is."""
    plan = plan_of(tmp_path / "images", path=tmp_path)
    plan = plan.model_copy(update={"database": plan.database.model_copy(update={"settings": {}})})
    machine(24 * GIB, 20 * GIB, disk_bytes=3 * GIB)
    engine = OwnPostgres(Study(plan).only_database, Journal(tmp_path / "journal"))
    before = engine.settings["max_wal_size"]
    kept = tmp_path / "images" / engine.recipe.key
    (kept / "data").mkdir(parents=True)
    (kept / "facts.json").write_text('{"bytes": "1"}')
    machine(24 * GIB, 20 * GIB, disk_bytes=3 * GIB - image_bytes(1))
    assert OwnPostgres(Study(plan).only_database, engine.journal).settings["max_wal_size"] == before
    assert before == "768MB"


@pytest.mark.parametrize("content", ["{}", '{"bytes": "all"}', "[]", "no JSON", '"'])
def test_an_image_whose_facts_are_damaged_is_named_with_the_command_that_removes_it(
    tmp_path: Path, content: str
) -> None:
    engine = OwnPostgres(
        Study(plan_of(tmp_path / "images", path=tmp_path)).only_database,
        Journal(tmp_path / "journal"),
    )
    kept = tmp_path / "images" / engine.recipe.key
    (kept / "data").mkdir(parents=True)
    (kept / "facts.json").write_text(content)
    with pytest.raises(PlanError, match=rf"facts\.json.*damaged.*rm -r {kept}"):
        find(kept.parent / engine.recipe.key)
