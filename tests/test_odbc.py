"""A database that kneebench does not know: PostgreSQL by its ODBC driver and the dialect of the
documentation.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kneebench.cli import app
from kneebench.databases import loading
from kneebench.databases.engine import Engine, Server
from kneebench.databases.engines import db2, oracle
from kneebench.databases.engines.postgres import sql_schema as of_postgres
from kneebench.databases.odbc.dialect import dialect_in
from kneebench.databases.odbc.properties import PASSWORD as VARIABLE
from kneebench.databases.odbc.schema import COLUMNS, OdbcSchema
from kneebench.databases.odbc.server import OdbcServer
from kneebench.databases.odbc.session import connect
from kneebench.databases.several import engine_of
from kneebench.databases.tproc_c.tables import LARGEST_FIRST
from kneebench.errors import PlanError, Refused
from kneebench.measurement.measure import measure
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Configuration, Event, Order
from tests.elsewhere import PASSWORD, Elsewhere, elsewhere  # noqa: F401
from tests.only import rungs_of

DIALECT = Path("docs/dialects/postgresql").absolute()
DRIVER = next(Path("/usr/lib").glob("*/odbc/psqlodbcw.so"), None)
ORACLE, DB2 = (Path(one.__file__).parent for one in (oracle, db2))
CONFIGURATION = Configuration(id="there", storage="there")
LADDER = {"users": (1, 4), "warm_up": "1s", "window": "2s", "checkpoints": 0}


def built() -> bool:
    try:
        import kneebench._odbc  # noqa: F401
    except ImportError:
        return False
    return True


def unwatched(event: Event) -> None:
    """Nobody looks."""


@pytest.fixture(scope="module")
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A database of its own, by the driver; the password is in the environment."""
    if not DRIVER:
        pytest.skip("Debian's odbc-postgresql is not installed")
    if not built():
        pytest.skip("sessions over ODBC are not built (make odbc)")
    theirs: Elsewhere = request.getfixturevalue("elsewhere")
    theirs.execute("CREATE DATABASE by_driver OWNER tester")
    os.environ[VARIABLE] = PASSWORD
    yield (
        f"odbc:Driver={DRIVER};Servername=localhost;Port={theirs.port};Database=by_driver"
        f";UID=tester;SSLmode=require"
    )
    del os.environ[VARIABLE]
    theirs.execute("DROP DATABASE by_driver")


def plan_of(url: str, **database: Any) -> Plan:
    given = {
        "database": {"engine": "odbc", "dialect": DIALECT, "url": url, **database},
        "workload": {"warehouses": 1},
        "ladder": LADDER,
        "meters": ["log_writes", "checkpoints", "waits"],
        "storages": {"there": {}},
    }
    return Plan.model_validate(given)


@pytest.fixture(scope="module")
def engine(url: str, elsewhere: Elsewhere) -> Engine:  # noqa: F811
    return engine_of(Study(plan_of(url)).databases, elsewhere.journal)


@pytest.fixture(scope="module")
def server(engine: Engine) -> Iterator[Server]:
    facts = engine.prepare(unwatched)
    assert facts["rows"].isdigit() and facts["restored_by"] == "load"
    with engine.restored(CONFIGURATION, unwatched) as running:
        yield running


def test_what_is_found_says_what_it_is_and_what_stays(engine: Engine) -> None:
    found = engine.findings()
    assert {one.level for one in found} == {"ok", "note"}, found
    assert any("PostgreSQL by ODBC, version 15" in one.seen for one in found)


def test_a_rung_is_measured_and_every_condition_holds(server: Server, url: str) -> None:
    order = Order(configuration="there", phase="search", users=4)
    rung = measure(order, rungs_of(plan_of(url)), server, unwatched).rung
    assert [check.sentence for check in rung.checks if not check.passed] == []
    assert all(rung.tally.transactions[name].window.committed for name in ("new_order", "payment"))
    assert rung.quantities["log.bytes"].value > 0
    broken = [one.sentence for one in server.conditions(unwatched) if not one.passed]
    assert broken == []


def test_a_trial_leaves_a_loaded_database_of_another_size_alone(
    server: Server, url: str, tmp_path: Path
) -> None:
    """Also where a run would use it as it is."""
    assert isinstance(server, OdbcServer)
    resize = "UPDATE kneebench_image SET said = '{}' WHERE fact = 'warehouses'"
    plan = tmp_path / "plan.toml"
    kept = '[database]\nengine = "odbc"\nrestore = "none"\n'
    plan.write_text(f'{kept}dialect = "{DIALECT}"\nurl = "{url}"\n[workload]\nwarehouses = 7\n')
    with connect(server.address) as session:
        session.rows(resize.format(7))
        done = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["check", "--try", str(plan)])
        assert done.exit_code == 5 and "a different load: warehouses = 7" in done.output
        assert session.value("SELECT count(*) FROM customer") == 30_000
        session.rows(resize.format(1))


@pytest.mark.long
def test_a_used_database_is_loaded_again_and_only_our_tables_are_dropped(
    engine: Engine, server: Server, url: str
) -> None:
    assert isinstance(server, OdbcServer)
    with connect(server.address) as session:
        schema = OdbcSchema(session)
        assert not schema.is_unused()
        assert engine.prepare(unwatched)["reused"] == "no"
        assert schema.is_unused()
        assert engine.prepare(unwatched)["reused"] == "yes"
        session.rows("UPDATE kneebench_image SET said = 'another' WHERE fact = 'dialect'")
        assert schema.found(loading.shape_of(plan_of(url).workload, plan_of(url).seed)) == {}
        assert engine.remove_image(unwatched).startswith("dropped the tables at Driver=")
        assert schema.tables() == {}
        session.rows("CREATE TABLE district (d_id int)")
        with pytest.raises(Refused, match="did not create: district"):
            schema.require_loadable(plan_of(url).workload, 1)
        session.rows("DROP TABLE district")


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ("odbc:Driver=x;PWD=hush", "no password"),
        ("odbc:Driver=x; Password = {hush;b}", "no password"),
        ("postgresql://me@db/x", "a driver's connection string"),
    ],
)
def test_a_url_is_a_drivers_and_has_no_password(tmp_path: Path, given: str, seen: str) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(f'[database]\nengine = "odbc"\ndialect = "{DIALECT}"\nurl = "{given}"\n')
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["check", str(plan)])
    assert done.exit_code == 2 and seen in done.output
    assert "hush" not in done.output


def test_users_on_other_machines_are_refused_before_anything_else(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    database = f'[database]\nengine = "odbc"\ndialect = "{DIALECT}"\nurl = "odbc:Driver=x"\n'
    plan.write_text(f'{database}[hosts]\nload = [{{ ssh = "other" }}]\n')
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["check", str(plan)])
    assert done.exit_code == 2 and "its driver is here" in done.output


@pytest.mark.parametrize(
    ("more", "seen", "do"),
    [
        ("UID=nobody", "password authentication failed", VARIABLE),
        ("Driver=/no/such.so", "no/such.so", "odbcinst -q -d"),
        ("Port=1", "refused", "start the server"),
    ],
)
def test_a_database_that_is_not_reached_is_an_error_with_what_to_do(
    url: str,
    elsewhere: Elsewhere,  # noqa: F811
    more: str,
    seen: str,
    do: str,
) -> None:
    key = more.partition("=")[0]
    parts = [part for part in url.split(";") if key not in part]
    string = f"odbc:{more};" + ";".join(part.removeprefix("odbc:") for part in parts)
    [found] = engine_of(Study(plan_of(string)).databases, elsewhere.journal).findings()
    assert found.level == "error" and seen in found.seen and do in found.do
    assert PASSWORD not in f"{found.seen}{found.do}"


@pytest.mark.parametrize(
    ("file", "change", "seen"),
    [
        ("dialect.toml", ("label =", "name ="), "label: Field required"),
        ("dialect.toml", ("[readings]", "[readings"), "Expected"),
        ("dialect.toml", ("checkpoints = [", "cheques = ["), "readings of cheques"),
        ("schema.sql", ("CREATE TABLE stock", "CREATE TABLE stuck"), "no CREATE TABLE stock"),
    ],
)
def test_a_dialect_that_cannot_be_used_says_why(
    tmp_path: Path, file: str, change: tuple[str, str], seen: str
) -> None:
    folder = tmp_path / "dialect"
    shutil.copytree(DIALECT, folder)
    (folder / file).write_text((folder / file).read_text().replace(*change))
    with pytest.raises(PlanError) as refused:
        dialect_in(folder)
    assert seen in refused.value.seen and "docs/odbc.md" in refused.value.do


@pytest.mark.parametrize("folder", [DIALECT, ORACLE, DB2], ids=["toy", "oracle", "db2"])
def test_a_dialect_has_every_table_with_our_columns(folder: Path) -> None:
    dialect = dialect_in(folder)
    for table in LARGEST_FIRST:
        columns = columns_in(dialect.making(table))
        assert columns == columns_in(" ".join(of_postgres.making(table)))
        assert len(columns) == COLUMNS[table]
    assert len(dialect.conditions) == 12


def columns_in(statement: str) -> list[str]:
    """The names of the columns of a CREATE TABLE, in their order."""
    inside = re.sub(r"\([\d, ]*\)", "", statement).partition("(")[2].rpartition(")")[0]
    return [column.split()[0] for column in inside.split(",")]
