"""What the lab gives a configuration, and that its database takes it from there."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from kneebench.databases.engines.postgres.engine import OwnPostgres
from kneebench.lab.journal import Journal
from kneebench.lab.limits import Resources
from kneebench.lab.preparation import Lab, Shares
from kneebench.plan import Plan
from kneebench.plan.configurations import configurations
from kneebench.plan.study import Study
from kneebench.records import Configuration

GIB = 2**30


def plan(tmp_path: Path, **database: object) -> Plan:
    return Plan.model_validate(
        {
            "storages": {"disk": {"path": tmp_path}},
            "database": database,
            "workload": {"warehouses": 400},
        }
    )


def test_a_configuration_without_a_constraint_has_the_plans_paths_and_the_whole_machine(
    tmp_path: Path,
) -> None:
    one = plan(tmp_path)
    lab = Lab(Study(one).only_database, Journal(tmp_path / "journal"))
    with lab.prepared(configurations(one)[0], lambda event: None) as prepared:
        assert prepared.storage.paths == (tmp_path,)
        assert prepared.resources[:4] == (
            tuple(sorted(os.sched_getaffinity(0))),
            psutil.virtual_memory().total,
            False,
            False,
        )
        assert prepared.resources.pinned_cores == ()
        assert prepared.limits and prepared.limits.settings == ()


def test_cores_that_the_plan_names_are_those_that_a_server_is_pinned_to(tmp_path: Path) -> None:
    core = max(os.sched_getaffinity(0))
    assert Shares(Study(plan(tmp_path, cores=[core])).only_database).resources.pinned_cores == (
        core,
    )


def test_settings_cores_and_the_start_of_the_climb_follow_the_share_of_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = {
        "small": Resources((0,), 4 * GIB, pinned=True),
        "large": Resources(tuple(range(64)), 64 * GIB),
    }
    monkeypatch.setattr(Lab, "resources_of", lambda lab, configuration: shares[configuration.id])
    own = Study(plan(tmp_path, base_image_path=tmp_path / "images")).only_database
    engine = OwnPostgres(own, Journal(tmp_path / "journal"))
    small, large = (Configuration(id=name, storage="disk", constraint=name) for name in shares)
    assert (engine.where(small).cores, engine.where(large).cores) == ((0,), tuple(range(64)))
    settings = {
        configuration.id: engine.settings_for(engine.lab.resources_of(configuration))
        for configuration in (small, large)
    }
    assert settings["small"]["shared_buffers"] == "1024MB"
    assert settings["large"]["shared_buffers"] == "8192MB"
