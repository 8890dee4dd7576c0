"""TPROC-H on servers by URL, which kneebench never starts: their cache is warm."""
# ruff: noqa: F811 (fixtures are imported, and arguments named after them)

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import psycopg
import pytest

from kneebench import Plan, run
from kneebench._core import Dataset
from kneebench.analysis.outcome import failed_checks
from kneebench.brief.page import Brief
from kneebench.campaign.machines.machine import DatabaseMachine
from kneebench.databases.several import engine_of
from kneebench.databases.tproc_h.tables import TABLES
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
    assert list(failed_checks(results)) == []
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


OWN = {"schema_from": "own", "restore": "none"}


@pytest.fixture(scope="module")
def own_tables(elsewhere: Elsewhere, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a database with tables as somebody might have them: lineitem in partitions, with
    other types of columns, no keys, and only the right to read.
    """
    rows, dataset = tmp_path_factory.mktemp("rows") / "rows", Dataset.tproc_h(scale=0.02)
    elsewhere.execute("CREATE DATABASE own")
    with psycopg.connect(f"{elsewhere.superuser} dbname=own", autocommit=True) as connection:
        for table, shape in TABLES.items():
            columns = shape.declaration.replace("decimal(15,2)", "double precision")
            columns = columns.replace(" date ", " timestamp ")
            parted = " PARTITION BY RANGE (l_shipdate)" if table == "lineitem" else ""
            connection.execute(f"CREATE TABLE {table} ({columns}){parted}".encode())
            if parted:
                for low, high in (("1990-01-01", "1995-01-01"), ("1995-01-01", "2000-01-01")):
                    part = f"PARTITION OF lineitem FOR VALUES FROM ('{low}') TO ('{high}')"
                    connection.execute(f"CREATE TABLE lines_{low[:4]} {part}".encode())
            dataset.write(table, rows)
            with connection.cursor().copy(f"COPY {table} FROM STDIN".encode()) as copy:
                copy.write(rows.read_bytes())
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO tester; ANALYZE")
    return "own"


def errors(plan: Plan, there: Elsewhere | MariadbElsewhere) -> list[Finding]:
    found = engine_of(Study(plan).databases, there.journal).findings()
    return [one for one in found if one.level in ("error", "refused")]


@WITHOUT_DEBIAN
@pytest.mark.postgres15
def test_tables_of_the_users_own_are_read_and_not_changed(
    elsewhere: Elsewhere, own_tables: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    plan = plan_at({"url": elsewhere.url(own_tables), **OWN}, refresh=False, queries=[6, 3])
    assert errors(plan, elsewhere) == []
    results = run(plan, folder=tmp_path / "right")
    assert list(failed_checks(results)) == []
    [climb] = results.climbs
    assert [(one.name, one.passed) for one in climb.checks] == [("rows", True)]
    checks = [check for rung in climb.rungs for check in rung.checks]
    assert len(checks) == 4
    assert all(check.passed for check in checks)
    assert "own, with their keys, partitions and storage engine" in Brief(results).html()
    schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 'kneebench'"
    assert elsewhere.execute(schemas, database=own_tables) == [(0,)]


@WITHOUT_DEBIAN
@pytest.mark.postgres15
def test_answers_over_rows_that_are_not_dbgens_are_not_judged(
    elsewhere: Elsewhere, own_tables: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    plan = plan_at({"url": elsewhere.url(own_tables), **OWN}, refresh=False)
    change = "UPDATE part SET p_retailprice = p_retailprice {} 1 WHERE p_partkey = 7"
    elsewhere.execute(change.format("+"), database=own_tables)
    try:
        results = run(plan, folder=tmp_path)
    finally:
        elsewhere.execute(change.format("-"), database=own_tables)
    assert list(failed_checks(results)) == []
    [note] = [one for one in results.campaign.notes if "not compared" in one]
    assert "on there, part has other rows than dbgen's" in note
    assert not any(rung.checks for rung in results.climbs[0].rungs)


@WITHOUT_DEBIAN
@pytest.mark.postgres15
def test_check_says_what_tables_of_the_users_own_lack(
    elsewhere: Elsewhere, own_tables: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    given = {"url": elsewhere.url(own_tables), **OWN}
    [scale] = errors(plan_at(given, refresh=False, scale=0.05), elsewhere)
    assert "supplier has 200 rows, and at scale 0.05 500" in scale.seen
    assert scale.do == "set workload.scale = 0.02"
    [unsaid] = errors(plan_at({**given, "restore": "auto"}), elsewhere)
    assert "RF1 adds orders to the tables in own, and RF2 removes them" in unsaid.seen
    [empty] = errors(plan_at({**given, "url": elsewhere.url()}), elsewhere)
    assert empty.seen == "no table region"
    order = "orders SET o_orderkey = o_orderkey {} 8 WHERE o_orderkey IN (1, 9)"
    elsewhere.execute(f"UPDATE {order.format('+')}", database=own_tables)
    [left] = errors(plan_at(given), elsewhere)
    elsewhere.execute(f"UPDATE {order.format('-')}", database=own_tables)
    assert left.seen == "orders has 1 rows in keys that dbgen leaves free"
    rename = "ALTER TABLE nation RENAME COLUMN {} TO {}"
    elsewhere.execute(rename.format("n_name", "name"), database=own_tables)
    [column] = errors(plan_at(given, refresh=False), elsewhere)
    elsewhere.execute(rename.format("name", "n_name"), database=own_tables)
    assert column.seen == "nation has no n_name"


@WITHOUT_MARIADB
def test_a_copy_of_the_users_own_tables_keeps_their_engine_and_partitions(
    mariadb_elsewhere: MariadbElsewhere, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MYSQL_PWD", MARIADB_PASSWORD)
    there, url = mariadb_elsewhere, mariadb_elsewhere.url
    ours = plan_at({"engine": "mariadb", "url": url()})
    engine_of(Study(ours).databases, there.journal).prepare(unwatched)
    [image] = [one for one in there.databases() if one.startswith("kneebench_image_")]
    there.execute("CREATE DATABASE own", "GRANT SELECT ON own.* TO tester@'127.0.0.1'")
    for table in TABLES:
        there.execute(f"CREATE TABLE own.{table} LIKE {image}.{table}")
        if table == "lineitem":
            kind = "ENGINE = Aria COMMENT = '' PARTITION BY KEY (l_orderkey) PARTITIONS 3"
            there.execute(f"ALTER TABLE own.{table} {kind}")
        there.execute(f"INSERT INTO own.{table} SELECT * FROM {image}.{table}")
    given = {"engine": "mariadb", "url": url("own"), "schema_from": "own"}
    plan = plan_at({**given, "restore": "template"})
    assert errors(plan, there) == []
    require_right(run(plan, folder=tmp_path))
    made = "SELECT engine, create_options FROM information_schema.tables WHERE {} = 'lineitem'"
    study = Study(plan)
    with engine_of(study.databases, there.journal).restored(
        study.configurations[0], lambda event: None
    ):
        asked = made.format("table_schema LIKE 'kneebench_work%' AND table_name")
        assert there.execute(asked) == [("Aria", "partitioned")]


def findings(plan: Plan) -> dict[str, Finding]:
    study, machine = Study(plan), DatabaseMachine()
    found = machine.findings(study, machine.engine(study.databases), (), lambda event: None)
    return {one.subject: one for one in found if one.level == "error"}


def test_what_a_server_by_url_cannot_do_is_said_with_what_to_do() -> None:
    nowhere = "postgresql://tester@127.0.0.1:1/postgres"
    cold = findings(plan_at({"url": nowhere}, cache="cold"))["workload.cache"]
    assert cold.do == 'set workload.cache = "warm", or remove the url'
    with pytest.raises(ValueError, match='"own" with type = "tproc-h"'):
        plan_at({"url": nowhere, "schema_from": "hammerdb"})
    other = {"engine": "sqlserver", "url": "mssql://sa@127.0.0.1:1/tpcc"}
    assert findings(plan_at(other))["workload.type"].do == "use one of: mariadb, mysql, postgres"
