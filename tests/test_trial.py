"""The trial of a running server (`kneebench check --try`), on a PostgreSQL 15 by URL: everything
works, each fault is one finding, and nothing is left behind.
"""

# ruff: noqa: F811 (fixtures are imported, and arguments named after them)

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kneebench.campaign.trial import trial_study, try_databases
from kneebench.cli import app
from kneebench.databases.engines.postgres.server import PostgresServer
from kneebench.errors import KneebenchError, PlanError
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Event, Finding
from tests.elsewhere import (  # noqa: F401 (fixtures)
    PASSWORD,
    Elsewhere,
    databases,
    elsewhere,
    no_password_around,
)
from tests.loaded import WITHOUT_DEBIAN
from tests.mariadb_elsewhere import PASSWORD as MARIADBS_PASSWORD
from tests.mariadb_elsewhere import (  # noqa: F401 (fixtures)
    WITHOUT_MARIADB,
    MariadbElsewhere,
    mariadb_elsewhere,
    no_mysql_password_around,
)

TRIED = (
    *("load one warehouse", "restore 1", "settings"),
    *("new-order", "payment", "order-status", "delivery", "stock-level", "orders", "transactions"),
    *("log_writes", "checkpoints", "tables", "waits", "checkpoint", "conditions"),
    *("restore 2", "fresh database", "conditions", "remove"),
)


def unwatched(event: Event) -> None:
    """Nobody looks."""


@pytest.fixture
def plan(elsewhere: Elsewhere, own_place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of a plan for the server, with more warehouses than a trial has."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    file = own_place / "plan.toml"
    file.write_text(
        f'database.url = "{elsewhere.url()}"\nworkload.warehouses = 50\nladder.users = [1, 8]\n'
    )
    before = databases(elsewhere)
    yield file
    assert databases(elsewhere) == before


def steps(found: list[Finding]) -> list[str]:
    return [one.subject.removeprefix("server: ") for one in found if one.level != "note"]


@pytest.mark.postgres15
@WITHOUT_DEBIAN
def test_a_server_on_which_everything_works_is_tried_step_by_step_and_left_as_it_was(
    plan: Path,
) -> None:
    answer = CliRunner().invoke(app, ["check", "--try", str(plan), "--json"])
    assert answer.exit_code == 0, answer.output
    found = [Finding.model_validate(one) for one in json.loads(answer.stdout)]
    assert [one.seen for one in found if one.level in ("warning", "error", "refused")] == []
    assert tuple(steps(found)[-len(TRIED) :]) == TRIED
    seen = {one.subject: one.seen for one in found}
    assert re.match(r"[1-9]\d* committed, ", seen["server: new-order"])
    assert "log.write_time" in seen["server: log_writes"]
    assert "all 12 hold" in seen["server: conditions"]


@pytest.mark.long
@pytest.mark.mariadb
@WITHOUT_MARIADB
def test_a_mariadb_is_tried_in_the_same_steps_and_left_as_it_was(
    mariadb_elsewhere: MariadbElsewhere, own_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MYSQL_PWD", MARIADBS_PASSWORD)
    (file := own_place / "plan.toml").write_text(
        f'[database]\nengine = "mariadb"\nurl = "{mariadb_elsewhere.url()}"\n'
    )
    before = mariadb_elsewhere.databases()
    answer = CliRunner().invoke(app, ["check", "--try", str(file), "--json"])
    assert answer.exit_code == 0, answer.output
    found = [Finding.model_validate(one) for one in json.loads(answer.stdout)]
    assert [one.seen for one in found if one.level in ("error", "refused")] == []
    assert tuple(steps(found)[-len(TRIED) :]) == TRIED
    assert mariadb_elsewhere.databases() == before


@pytest.mark.long
@pytest.mark.postgres15
@WITHOUT_DEBIAN
def test_what_does_not_work_is_named_and_the_rest_is_tried_and_removed_all_the_same(
    plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(server: object) -> None:
        raise KneebenchError("cannot run a checkpoint", seen="permission denied")

    monkeypatch.setattr(PostgresServer, "measures", frozenset(["log_writes"]))
    monkeypatch.setattr(PostgresServer, "checkpoint", lambda server: None)
    monkeypatch.setattr(PostgresServer, "sum_next_order_ids", refused)
    answer = CliRunner().invoke(app, ["check", "--try", str(plan)])
    assert answer.exit_code == 4, answer.output
    lines = " ".join(answer.stdout.split())
    assert "not measured on this server" in lines
    assert "permission denied" in lines
    assert "steps failed" in lines
    assert "dropped kneebench_image" in lines


@pytest.mark.postgres15
@WITHOUT_DEBIAN
def test_a_login_that_is_refused_ends_the_trial_before_anything_is_made(
    plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "wrong")
    answer = CliRunner().invoke(app, ["check", "--try", str(plan)])
    assert answer.exit_code == 2
    assert "password" in answer.stdout


def test_a_plan_without_a_running_server_cannot_be_tried() -> None:
    plan = Plan.model_validate({"storages": {"disk": {"path": "."}}})
    with pytest.raises(PlanError, match="no running server"):
        trial_study(Study(plan))


def test_a_trial_is_in_a_database_of_its_own_whatever_the_plan_measures() -> None:
    url = "postgresql://me@db/shop"
    database = {"url": url, "restore": "none", "schema_from": "hammerdb"}
    own = trial_study(
        Study(Plan.model_validate({"database": database, "workload": {"warehouses": 500}}))
    )
    assert (own.only_database.restore, own.workload.warehouses) == ("template", 1)
    server = {"engine": "sqlserver", "url": "sqlserver://me@db/tpcc", "backup": "/b/tpcc.bak"}
    own = trial_study(Study(Plan.model_validate({"database": server})))
    assert own.only_database.urls == {"server": "sqlserver://me@db/tpcc_try"}
    assert own.only_database.database.backup == "/b/tpcc.bak.try"


def test_an_engine_without_a_way_to_remove_a_trial_is_not_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = Plan.model_validate({"database": {"url": "postgresql://me@db/x"}})
    monkeypatch.setattr("kneebench.campaign.trial.engine_of", lambda databases, journal: object())
    with pytest.raises(PlanError, match="cannot remove a trial"):
        next(try_databases(Study(plan), None, unwatched))
