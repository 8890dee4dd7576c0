"""A plan is resolved once, by its own rules: kept in the head of a folder, or made of it when an
older one is read.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from kneebench import preset
from kneebench.analysis.comparison import baseline
from kneebench.lab.host import host
from kneebench.plan.reader import parse_plan
from kneebench.plan.resolve import resolve, resolve_document
from kneebench.records import PlannedDatabase
from kneebench.results import Store, load
from kneebench.results.compare_plans import plan_document
from tests.recordings import recorded

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
    found = resolve(parse_plan(TWO))
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
    assert resolve(preset("emulated")).emulated


def test_a_plan_and_its_document_are_resolved_alike() -> None:
    for name in ("emulated", "memory", "quick", "simulated"):
        plan = preset(name)
        assert resolve_document(plan_document(plan)) == resolve(plan)


def test_the_head_of_a_new_campaign_has_its_resolved_plan(tmp_path: Path) -> None:
    plan = parse_plan(TWO)
    folder = Store.create(tmp_path, plan, host()).folder
    assert json.loads((folder / "campaign.json").read_text())["resolved"]["baseline"] == "ssd"
    assert load(folder).campaign.resolved == resolve(plan)


def without_resolved(tmp_path: Path, **plan: Any) -> Path:
    """A recording as an older version wrote it, with other tables in its plan."""
    folder = tmp_path / "old"
    shutil.copytree(recorded().folder or Path(), folder)
    head = json.loads((folder / "campaign.json").read_text())
    head.pop("resolved", None)
    head["plan"].update(plan)
    (folder / "campaign.json").write_text(json.dumps(head))
    return folder


def test_an_older_head_is_resolved_when_it_is_read(tmp_path: Path) -> None:
    assert load(without_resolved(tmp_path)).campaign.resolved == recorded().campaign.resolved
    assert recorded().campaign.resolved.databases[""].engine == "postgres"


def test_a_plan_that_this_version_does_not_know_still_says_what_it_can(tmp_path: Path) -> None:
    drives = {"drives": [{"emulated": "sata", "size": 2**30}]}
    storages = {"ssd": {"log": drives}, "hdd": {}}
    results = load(without_resolved(tmp_path, unknown=1, baseline="", storages=storages))
    assert results.campaign.label == "Emulated drives"
    assert baseline(results) == "ssd"
    assert results.campaign.engines == {"": "postgres"}
