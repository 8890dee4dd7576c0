"""The trial of a SQL Server (`kneebench check --try`): on the TDS server that is not SQL Server,
and its backup by documented answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kneebench.campaign.trial import Trial, try_databases
from kneebench.cli import app
from kneebench.databases.engines.sqlserver import image as images
from kneebench.databases.engines.sqlserver.address import address_of
from kneebench.databases.engines.sqlserver.database import CREATE_MARK, connect_to
from kneebench.databases.engines.sqlserver.session import SqlError, connect, quoted
from kneebench.databases.engines.sqlserver.table import SqlServerDatabase
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Event, Finding
from tests import tds_server
from tests.documented_server import one_server

DATABASE = {"engine": "sqlserver", "url": "sqlserver://bench@db.example/tpcc", "data_files": 2}
PLACES = {"data": ["D:\\data", "E:\\data"], "log": "L:\\log"}
BACKUP = "B:\\tpcc.bak"
WITH_BACKUP = {
    "database": {**DATABASE, "backup": BACKUP},
    "storages": {"server": {"sqlserver": PLACES}},
}


def unwatched(event: Event) -> None:
    """Nobody looks."""


def by_subject(found: list[Finding]) -> dict[str, str]:
    return {one.subject: f"{one.level}: {one.seen}" for one in found}


# --- on the TDS server ----------------------------------------------------------------------------


@pytest.fixture
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQLCMDPASSWORD", tds_server.password())


@pytest.fixture
def theirs(password: None) -> Iterator[None]:
    """A database of another's where the trial's would be."""
    table = SqlServerDatabase.model_validate(tds_server.database()).for_trial()
    address = address_of(table.url, table)
    name = quoted(address.database)
    with connect(address) as session:
        session.execute(f"CREATE DATABASE {name}")
    with connect_to(address) as inside:
        inside.execute(CREATE_MARK.replace("kneebench_image", "sales"))
    yield
    with connect(address) as session:
        session.execute(f"DROP DATABASE {name}")


def check(folder: Path, **database: Any) -> Any:
    """The result of `check --try` of a plan for the TDS server."""
    table = {**tds_server.database(), **database}
    lines = [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    (file := folder / "plan.toml").write_text("\n".join(["[database]", *lines]))
    return trial_of(file)


def trial_of(file: Path) -> Any:
    return CliRunner().invoke(app, ["check", "--try", str(file), "--json"])


@tds_server.WITHOUT_SERVER
def test_everything_that_is_tried_works_on_the_tds_server(own_place: Path, password: None) -> None:
    answer = check(own_place, backup=BACKUP)
    assert answer.exit_code == 0, answer.output
    found = [Finding.model_validate(one) for one in json.loads(answer.stdout)]
    assert [one.seen for one in found if one.level in ("error", "refused")] == []
    seen = by_subject(found)
    assert seen["backup"].startswith("ok: restored by load")
    assert seen["server: conditions"].startswith("ok: all 12 hold")
    assert seen["remove"].startswith("ok: dropped ")


@tds_server.WITHOUT_SERVER
def test_a_wrong_password_is_exit_code_2(own_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQLCMDPASSWORD", "wrong")
    assert check(own_place).exit_code == 2


@tds_server.WITHOUT_SERVER
def test_a_database_of_anothers_is_exit_code_5(own_place: Path, theirs: None) -> None:
    answer = check(own_place)
    assert answer.exit_code == 5, answer.output
    assert "was not created by kneebench" in answer.stdout


# --- by documented answers ------------------------------------------------------------------------


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was loaded and restored, without rows and without load."""
    seen: list[str] = []

    def load(*given: object) -> dict[str, str]:
        seen.append("load")
        return {"warehouses": "1", "rows": "499000", "rows_s": f"{len(seen)}.00", "keys_s": "1.00"}

    def steps(trial: Trial) -> Iterator[Finding]:
        seen.append(f"restored by {trial.plan.restore}")
        yield Finding(level="ok", subject="server: all else", seen="")

    monkeypatch.setattr(images, "load", load)
    monkeypatch.setattr(Trial, "steps", steps)
    return seen


def test_a_backup_that_fails_is_a_step_and_the_others_are_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loads: list[str]
) -> None:
    one_server(monkeypatch).answer("^BACKUP", SqlError("Access is denied.", 3201))
    plan = Plan.model_validate(WITH_BACKUP)
    seen = by_subject([*try_databases(Study(plan), Journal(tmp_path), unwatched)])
    assert seen["load one warehouse"].startswith("ok: 499,000 rows")
    assert "Access is denied" in seen["backup"]
    assert "remains" not in seen["backup"], "it is removed in the end"
    assert seen["remove"].startswith("ok: dropped tpcc_try")
    assert seen["server: all else"] == "ok: "
    assert loads == ["load", "restored by load"]
    assert [*tmp_path.glob("*.json")] == []


def test_a_step_that_fails_is_exit_code_4(
    own_place: Path, monkeypatch: pytest.MonkeyPatch, loads: list[str]
) -> None:
    one_server(monkeypatch).answer("^BACKUP", SqlError("Access is denied.", 3201))
    file = own_place / "plan.toml"
    file.write_text(
        f'[database]\nengine = "sqlserver"\nurl = "{DATABASE["url"]}"\nbackup = "B:/tpcc.bak"\n'
    )
    answer = trial_of(file)
    assert answer.exit_code == 4, answer.output
    assert "Access is denied" in answer.stdout


def test_each_trial_loads_and_writes_its_own_backup_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loads: list[str]
) -> None:
    there = one_server(monkeypatch)
    plan = Plan.model_validate(WITH_BACKUP)
    for _ in range(2):
        there.sent.clear()
        seen = by_subject([*try_databases(Study(plan), Journal(tmp_path), unwatched)])
        assert seen["backup"].startswith("ok: restored by backup")
        (written,) = [one for one in there.sent if one.startswith("BACKUP")]
        there.kept(written.partition("DESCRIPTION = N'")[2].rstrip("'"))
    assert loads == ["load", "restored by backup"] * 2


def test_of_several_databases_each_external_one_is_tried_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loads: list[str]
) -> None:
    one_server(monkeypatch)
    databases = {"full": DATABASE, "ours": {}, "simple": {**DATABASE, "backup": BACKUP}}
    given = {"databases": databases, "storages": {"server": {"path": ".", "sqlserver": PLACES}}}
    seen = by_subject(
        [*try_databases(Study(Plan.model_validate(given)), Journal(tmp_path), unwatched)]
    )
    assert seen["ours"] == "note: not tried: kneebench starts its servers"
    assert seen["full: load one warehouse"].startswith("ok")
    assert seen["simple: backup"].startswith("ok")
    assert "full: backup" not in seen
    assert loads == ["load", "restored by load", "load", "restored by backup"]
