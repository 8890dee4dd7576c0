"""A plan is resolved once, by its own rules, and kept in the head of a folder."""

from __future__ import annotations

import json
from pathlib import Path

from kneebench import preset
from kneebench.lab.host import host
from kneebench.plan.reader import parse_plan
from kneebench.plan.study import Study
from kneebench.records import PlannedDatabase
from kneebench.results import Store, load

TWO = """
question = "Which?"
baseline = "ssd"
[workload]
warehouses = 7
[databases.big]
engine = "postgres"
memory = "2GiB"
[databases.small]
engine = "postgres"
memory = "1GiB"
[ladder]
rounds = "short"
checkpoints = 0
repeats = [4, 9]
[storages]
hdd = { path = "." }
ssd = { path = "." }
"""


def test_a_plan_is_resolved_by_its_own_rules() -> None:
    found = Study(parse_plan(TWO)).resolved
    assert (found.question, found.baseline, found.warehouses) == ("Which?", "ssd", 7)
    assert (found.fewest_rounds, found.most_rounds) == (4, 9)
    assert found.databases == {
        "big": PlannedDatabase(engine="postgres", memory_bytes=2 * 2**30),
        "small": PlannedDatabase(engine="postgres", memory_bytes=2**30),
    }
    assert [configuration.name for configuration in found.configurations] == [
        f"{storage}, {database}" for storage in ("ssd", "hdd") for database in ("big", "small")
    ]
    assert found.storages["hdd"].limits.log_write_s == 0.005
    assert not found.emulated
    assert Study(preset("emulated")).resolved.emulated


def test_the_head_of_a_new_campaign_has_its_resolved_plan(tmp_path: Path) -> None:
    plan = parse_plan(TWO)
    folder = Store.create(tmp_path, Study(plan), host()).folder
    assert json.loads((folder / "campaign.json").read_text())["resolved"]["baseline"] == "ssd"
    assert load(folder).campaign.resolved == Study(plan).resolved
