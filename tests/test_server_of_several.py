"""Several databases on one server: users spread over them, counts of each, and their number as an
axis of a plan.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from kneebench.analysis.sweep import sweeps
from kneebench.brief import Brief
from kneebench.campaign.durability import for_cuts
from kneebench.databases.engine import HasDatabases, KeepsOrders, MakesLogFiles, WritesLogHere
from kneebench.databases.several import engine_of
from kneebench.errors import PlanError
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.plan.configurations import configurations
from kneebench.plan.relief import as_it_was
from kneebench.plan.study import Study
from kneebench.records import Counted, Event, Results
from tests import mysql_build
from tests.loaded import shared_images
from tests.mariadb_elsewhere import SMALL_LOG, WITHOUT_MARIADB
from tests.recordings import each, recorded, section
from tests.short_load import short_load


def unwatched(event: Event) -> None:
    """Nobody looks."""


def plan_of(database: dict[str, Any], **keys: Any) -> Plan:
    given = {"database": database, "storages": {"disk": {"path": "."}}, **keys}
    return Plan.model_validate(given)


@pytest.mark.parametrize(
    "database",
    [
        {},
        pytest.param(
            {"engine": "mariadb", "settings": SMALL_LOG},
            marks=[WITHOUT_MARIADB, pytest.mark.mariadb],
        ),
        pytest.param(
            {"engine": "mysql", **mysql_build.SMALL},
            marks=[mysql_build.WITHOUT, pytest.mark.mariadb, pytest.mark.long],
        ),
    ],
    ids=["postgres", "mariadb", "mysql"],
)
def test_users_are_spread_over_the_databases_of_one_server(
    database: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "disk").mkdir()
    given = {
        "database": {"base_image_path": shared_images(), **database},
        "storages": {"disk": {"path": tmp_path / "disk"}},
        "workload": {"warehouses": 1},
        "constraints": {"databases": [1, 2]},
    }
    study = Study(Plan.model_validate(given))
    engine = engine_of(study.databases, Journal(tmp_path / "journal"))
    one, two = study.configurations
    with engine.restored(two, unwatched) as server:
        assert isinstance(server, HasDatabases)
        assert not isinstance(server, KeepsOrders), "a ledger is of one database"
        assert isinstance(server, WritesLogHere)
        assert isinstance(server, MakesLogFiles) is (database == {})
        for name in ("log_calls", *(["ready_log"] if database == {} else [])):
            assert inspect.getattr_static(server, name, None), "a protocol looks no further"
        before, counts = server.next_order_ids(), server.transaction_counts()
        assert len(before) == 2
        tally = short_load(server, study.only_database, two.id)
        rises = [b - a for a, b in zip(before, server.next_order_ids(), strict=True)]
        assert min(rises) > 0
        assert sum(rises) == tally.transactions["new_order"].whole.committed
        assert server.sum_next_order_ids() == sum(before) + sum(rises)
        after = server.transaction_counts()
        assert after and counts
        assert after[0] - counts[0] >= tally.whole.committed
        checks = server.conditions(unwatched)
        assert (len(checks), all(one.passed for one in checks)) == (12, True)
        assert checks[0].sentence.startswith("In kneebench: ")
        assert {"log_writes", "tables"} <= server.measures
        assert server.readings("log_writes")["database.commits|database"] >= after[0]
        assert server.alive() == ""
    with engine.restored(one, unwatched) as server:
        assert not isinstance(server, HasDatabases)
        assert server.sum_next_order_ids() == before[0]
    engine.close()


def test_the_number_of_databases_is_an_axis_of_a_plan() -> None:
    plan = plan_of({}, constraints={"databases": [1, 4]}, workload={"warehouses": 8})
    assert [one.name for one in configurations(plan)] == [
        "disk (1 database)",
        "disk (4 databases)",
    ]
    study = Study(plan)
    assert study.workload.all_warehouses == 32
    assert study.only_database.data_bytes > 30 * 8 / 4 * 1e6
    used = [study.rungs(one).workload.databases for one in study.configurations]
    assert used == [1, 4]
    with pytest.raises(PlanError, match="a ledger of orders is of one database"):
        for_cuts(study, "server")
    sides = [as_it_was(study, one, 8).study for one in study.configurations]
    assert [side.workload.databases for side in sides] == [4, 4]
    assert [side.configurations[0].databases for side in sides] == [1, 4]


@pytest.mark.parametrize(
    ("database", "keys", "words"),
    [
        ({"url": "postgresql://me@db/shop"}, {}, "unless kneebench starts|only a managed server"),
        ({"engine": "simulated"}, {}, "unless kneebench starts the server"),
        (
            {},
            {"hosts": {"database": {"address": "192.0.2.1"}, "load": [{"here": True}]}},
            "users on other machines",
        ),
        ({}, {"workload": {"type": "tproc-h"}}, "not with type|no value with type"),
    ],
)
def test_several_databases_where_there_can_be_none_are_refused(
    database: dict[str, Any], keys: dict[str, Any], words: str
) -> None:
    storages: dict[str, Any] = {"disk": {} if "url" in database else {"path": "."}}
    own = {**keys.get("workload", {}), "databases": 2}
    for more in ({"workload": own}, {"constraints": {"databases": [1, 2]}}):
        with pytest.raises(ValueError, match=words):
            plan_of(database, **{**keys, **more}, storages=storages)


def test_axes_that_say_nothing_beside_each_other_are_refused() -> None:
    axis = {"databases": [1, 2]}
    with pytest.raises(ValueError, match="saturating"):
        plan_of({}, constraints={**axis, "cores": "saturating"}, ladder={"users": 8})
    with pytest.raises(ValueError, match="true together with a sweep of memory or cores"):
        plan_of({}, constraints={**axis, "reference": True})


def with_databases(results: Results) -> Results:
    """As if its storages were one, with users in one and in four of a server's databases."""
    counted = Counted(next_order_ids=400, by_database=(85, 105, 105, 105))
    results = each(results, 1, lambda rung: rung.model_copy(update={"counted": counted}))
    climbs = [
        climb.model_copy(
            update={
                "configuration": climb.configuration.model_copy(
                    update={"databases": number, "storage": "disk", "constraint": str(number)}
                )
            }
        )
        for climb, number in zip(results.climbs, (1, 4), strict=True)
    ]
    return results.model_copy(update={"climbs": tuple(climbs)})


def test_the_brief_has_the_throughput_of_each_database_and_how_even_it_is() -> None:
    results = with_databases(recorded())
    [sweep] = sweeps(results)
    assert (sweep.resource, sweep.values) == ("databases", (1, 4))
    one, four = section(Brief(results), "server-databases").tables[0].rows
    assert one.cells[1] == "1"
    assert four.cells[1] == "4"
    users = {rung.users for rung in results.climbs[1].of("final_run")}
    assert all(one % 4 == 0 for one in users), "so many users in each database"
    assert four.cells[-1] == "85.0%"
    in_all, each_of = (float(cell.split()[0].replace(",", "")) for cell in four.cells[2:4])
    assert each_of == pytest.approx(in_all / 4, rel=0.01)
    assert [s for s in Brief(recorded()).sections if s.name == "server-databases"] == []
