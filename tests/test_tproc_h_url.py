"""TPROC-H on servers by URL, which kneebench never starts: their cache is warm."""
# ruff: noqa: F811 (fixtures are imported, and arguments named after them)

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kneebench import Plan, run
from kneebench.analysis.outcome import exit_code
from kneebench.brief.page import Brief
from kneebench.campaign.machines.machine import DatabaseMachine
from kneebench.plan.study import Study
from kneebench.records import Finding, Results
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
    given = {"engine": "mariadb", "url": mariadb_elsewhere.url()}
    require_right(run(plan_at(given), folder=tmp_path))


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
    assert findings(plan_at(other))["workload.type"].do == "use one of: mariadb, postgres"
