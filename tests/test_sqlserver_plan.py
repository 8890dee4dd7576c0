"""The plan's table of SQL Server: what fits, and each rule that a plan can break, by its key."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from kneebench.campaign.expected_duration import duration_finding
from kneebench.databases.engines.sqlserver.placement import placement_of
from kneebench.databases.engines.sqlserver.table import sqlserver_table
from kneebench.plan import Plan
from kneebench.plan.configurations import configurations
from kneebench.plan.duration import expected
from kneebench.plan.study import Study
from kneebench.records import Host

MACHINE = Host(cpu="any", cores=2, memory_bytes=24 << 30, kernel="6", system="any")
URL = "sqlserver://bench@db.example:1433/tpcc"


def plan(storages: dict[str, Any] | None = None, **database: Any) -> Plan:
    given = {"database": {"engine": "sqlserver", "url": URL, **database}}
    return Plan.model_validate({**given, **({"storages": storages} if storages else {})})


def test_a_storage_is_a_placement_on_the_server_and_takes_the_rest_from_the_database() -> None:
    found = plan(
        {
            "one": {"sqlserver": {"log": "L:\\log"}},
            "two": {"sqlserver": {"data": ["D:\\a", "E:\\b"], "tempdb": ["T:\\"]}},
        },
        data_dirs=["C:\\data"],
        log_dir="C:\\log",
    )
    one, two = (
        placement_of(sqlserver_table(found.database), storage)
        for storage in found.storages.values()
    )
    assert (one.data, one.log, one.tempdb) == (("C:\\data",), "L:\\log", ())
    assert (two.data, two.log, two.tempdb) == (("D:\\a", "E:\\b"), "C:\\log", ("T:\\",))


def several(*given: dict[str, Any], storages: dict[str, Any] | None = None) -> Plan:
    tables = [{"engine": "sqlserver", "url": URL, **one} for one in given]
    named = {f"nr {number}": one for number, one in enumerate(tables, 1)}
    return Plan.model_validate({"databases": named, "storages": storages or {"one": {}}})


def test_two_databases_that_differ_cannot_have_one_backup_on_a_server() -> None:
    one = {"backup": "B:\\x.bak", "settings": {"maxdop": 1}}
    same_server = {"url": "sqlserver://bench@DB.example/other", "backup": "b:\\X.bak"}
    for other in ({"settings": {"recovery": "full"}}, {"data_files": 8}):
        with pytest.raises(ValidationError, match=r"another file than that of 'nr 1'"):
            several(one, {**same_server, **other})
        assert several(one, {**same_server, **other, "url": "sqlserver://bench@b/x"})
        assert several(one, {**same_server, **other, "backup": "B:\\y.bak"})
    assert several(one, {**same_server, "settings": {"maxdop": 8}})


def test_all_storages_have_the_files_of_the_one_with_the_most_directories() -> None:
    five = {"sqlserver": {"data": [f"D:\\{number}" for number in range(5)]}}
    table = sqlserver_table(plan({"one": {}, "five": five}).database)
    assert (table.files_over({}), table.files_over(plan({"five": five}).storages)) == (4, 5)


def test_the_restore_is_by_backup_where_the_plan_names_one() -> None:
    kept = Study(plan()).document
    assert (
        Study(Plan.model_validate(kept)).only_database.restore
        == kept["database"]["restore"]
        == "load"
    )
    assert Study(plan(backup="B:\\x.bak")).only_database.restore == "backup"
    assert Study(plan()).only_database.restore == "load"
    assert Study(plan(restore="none", backup="B:\\x.bak")).only_database.restore == "none"
    assert Study(plan(restore="command", restore_command="back")).only_database.restore == "command"


def test_loading_again_before_each_climb_takes_longer_and_hammerdbs_schema_is_not_loaded() -> None:
    kept, by_load, existing = (
        expected(Study(one).databases, MACHINE)
        for one in (
            plan(restore="none"),
            plan(),
            plan(schema_from="hammerdb", restore="none"),
        )
    )
    assert kept.load_s == by_load.load_s > 0
    assert by_load.climbs_s > kept.climbs_s
    assert by_load.final_runs_s > kept.final_runs_s
    assert existing.load_s == 0
    assert "loading" not in duration_finding(existing, databases=1, real=True).seen


def test_a_constraint_on_the_engines_memory_is_the_only_one_that_a_running_server_takes() -> None:
    given = {"database": {"engine": "sqlserver", "url": URL}}
    found = Plan.model_validate({**given, "constraints": {"engine_memory": ["1GiB", "2GiB"]}})
    assert len(configurations(found)) == 2
    with pytest.raises(ValidationError, match="only engine_memory"):
        Plan.model_validate({**given, "constraints": {"cores": [1, 2]}})


@pytest.mark.parametrize(
    ("database", "words"),
    [
        ({"url": ""}, "the URL of a running server"),
        ({"url": "postgresql://a@b/c"}, "a server's address, sqlserver://"),
        ({"url": "sqlserver://a:secret@b/c"}, "SQLCMDPASSWORD or in password_file"),
        ({"restore": "template"}, "one of: auto, backup, load, command, none"),
        ({"restore": "backup"}, "a file on the server"),
        ({"restore": "command"}, 'restore = "command" and restore_command, both or neither'),
        ({"restore_command": "back"}, 'restore = "command" and restore_command'),
        ({"settings": {"shared_buffers": "1GB"}}, "a setting that needs no restart"),
        ({"settings": {"maxdop": "all"}}, "a whole number"),
        ({"settings": {"recovery": "none"}}, "one of: simple, full, bulk_logged"),
        ({"data_files": 0}, "greater than or equal to 1"),
    ],
)
def test_a_table_that_no_server_fits_is_refused_with_what_is_allowed(
    database: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValidationError, match=words):
        plan({"one": {}}, **database)
