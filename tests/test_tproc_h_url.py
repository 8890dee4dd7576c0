"""TPROC-H on servers by URL, which kneebench never starts: their cache is warm."""
# ruff: noqa: F811 (fixtures are imported, and arguments named after them)

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from kneebench import Plan, run
from kneebench.analysis.outcome import exit_code
from kneebench.brief.page import Brief
from kneebench.campaign.machines.machine import DatabaseMachine
from kneebench.databases.several import engine_of
from kneebench.plan.study import Study
from kneebench.records import Event, Finding, Results, unwatched
from tests.elsewhere import (  # noqa: F401
    PASSWORD,
    Elsewhere,
    databases,
    elsewhere,
    no_password_around,
)
from tests.loaded import WITHOUT_DEBIAN
from tests.mariadb_elsewhere import PASSWORD as MARIADB_PASSWORD
from tests.mariadb_elsewhere import (  # noqa: F401
    WITHOUT_MARIADB,
    MariadbElsewhere,
    mariadb_elsewhere,
)
from tests.query_plan import PLAN

KEYS = (
    "SELECT table_schema, table_name, index_name, seq_in_index, column_name"
    " FROM information_schema.statistics WHERE table_schema LIKE 'kneebench%'"
)


def plan_at(given: dict[str, Any], **workload: object) -> Plan:
    changed = {**PLAN["workload"], "cache": "warm", "refresh": True, **workload}
    there: dict[str, Any] = {"database": given, "storages": {"there": {}}, "workload": changed}
    return Plan.model_validate({**PLAN, **there})


def require_right(results: Results) -> None:
    assert exit_code(results) == 0
    [climb] = results.climbs
    assert {rung.order.phase for rung in climb.rungs} == {"query"}
    checks = [check for rung in climb.rungs for check in rung.checks]
    assert len(checks) == 4
    assert all(check.passed for check in checks)
    assert [(one.name, one.passed) for one in climb.checks] == [("rows", True)]
    assert "left in memory" in Brief(results).html()


@WITHOUT_DEBIAN
@pytest.mark.postgres15
def test_queries_run_on_a_copy_of_the_image_that_a_server_by_url_keeps(
    elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    before = databases(elsewhere)
    require_right(run(plan_at({"url": elsewhere.url()}), folder=tmp_path))
    [image] = databases(elsewhere) - before
    assert image.startswith("kneebench_image_")


@WITHOUT_MARIADB
def test_queries_run_on_a_copy_that_a_mariadb_by_url_makes_table_by_table(
    mariadb_elsewhere: MariadbElsewhere, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MYSQL_PWD", MARIADB_PASSWORD)
    plan = plan_at({"engine": "mariadb", "url": mariadb_elsewhere.url()})
    require_right(run(plan, folder=tmp_path))
    study = Study(plan)
    engine = engine_of(study.databases, mariadb_elsewhere.journal)
    with engine.restored(study.configurations[0], lambda event: None):
        keys = mariadb_elsewhere.execute(KEYS)
    image, copy = (
        {row[1:] for row in keys if row[0].startswith(f"kneebench_{one}_")}
        for one in ("image", "work")
    )
    assert len(image) > 8
    assert copy == image, "indexes once, as in the image"


@WITHOUT_DEBIAN
@pytest.mark.postgres15
def test_orders_that_an_interrupted_run_added_to_the_urls_database_are_not_queried(
    elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    elsewhere.execute("CREATE DATABASE kept OWNER tester")
    plan = plan_at({"url": elsewhere.url("kept"), "restore": "none"})

    def stop_behind_rf1(event: Event) -> None:
        if event.kind == "rung":
            raise KeyboardInterrupt

    for watch in (stop_behind_rf1, unwatched):
        with contextlib.suppress(KeyboardInterrupt):
            results = run(plan, folder=tmp_path, watch=watch)
        added = "SELECT count(*) FROM orders WHERE o_orderkey % 32 >= 8"
        [[orders]] = elsewhere.execute(added, database="kept")
        assert (orders > 0) is (watch is stop_behind_rf1)
    require_right(results)


def findings(plan: Plan) -> dict[str, Finding]:
    study, machine = Study(plan), DatabaseMachine()
    found = machine.findings(study, machine.engine(study.databases), (), lambda event: None)
    return {one.subject: one for one in found if one.level == "error"}


def test_what_a_server_by_url_cannot_do_is_said_with_what_to_do() -> None:
    nowhere = "postgresql://tester@127.0.0.1:1/postgres"
    cold = findings(plan_at({"url": nowhere}, cache="cold"))["workload.cache"]
    assert cold.do == 'set workload.cache = "warm", or remove the url'
    with pytest.raises(ValueError, match="not with type"):
        plan_at({"url": nowhere, "schema_from": "hammerdb"})
    other = {"engine": "sqlserver", "url": "mssql://sa@127.0.0.1:1/tpcc"}
    assert findings(plan_at(other))["workload.type"].do == "use one of: mariadb, mysql, postgres"
