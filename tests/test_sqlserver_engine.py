"""A restored database of SQL Server from its beginning to its end, on a server that answers as
Microsoft's documentation shows (not tried on SQL Server): what is changed is undone after any end.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kneebench.databases.engines.sqlserver import engine
from kneebench.databases.engines.sqlserver import image as images
from kneebench.databases.engines.sqlserver.engine import RemoteSqlServer
from kneebench.databases.engines.sqlserver.image import Image
from kneebench.databases.engines.sqlserver.placement import Placement
from kneebench.databases.engines.sqlserver.session import SqlError
from kneebench.databases.engines.sqlserver.table import CACHE
from kneebench.databases.loading import shape_of
from kneebench.errors import KneebenchError, PlanError, Refused
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.plan.configurations import configurations
from kneebench.plan.study import Study
from kneebench.records import Event
from tests.documented_server import OneServer, one_server

DATABASE = {
    "engine": "sqlserver",
    "url": "sqlserver://bench@db.example/tpcc",
    "backup": "B:\\tpcc.bak",
    "data_files": 2,
    "settings": {"maxdop": 1},
}
PLACES = {"data": ["D:\\data", "E:\\data"], "log": "L:\\log", "tempdb": ["T:\\tempdb"]}


def unwatched(event: Event) -> None:
    """Nobody looks."""


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> OneServer:
    return one_server(monkeypatch)


def opened(
    folder: Path, constraints: dict[str, Any] | None = None, **database: Any
) -> tuple[RemoteSqlServer, Plan]:
    given = {"database": {**DATABASE, **database}, "storages": {"drives": {"sqlserver": PLACES}}}
    rest = {"workload": {"warehouses": 1}, "constraints": constraints or {}}
    plan = Plan.model_validate({**given, **rest})
    return RemoteSqlServer(Study(plan).only_database, Journal(folder)), plan


def image_of(made: RemoteSqlServer) -> Image:
    """That of its storage."""
    return made._image(made.connected(made.address("drives")), "drives")


def backed_up(
    folder: Path, constraints: dict[str, Any] | None = None, **database: Any
) -> tuple[RemoteSqlServer, Plan]:
    """A plan whose backup is there."""
    made, plan = opened(folder, constraints, **database)
    image = image_of(made)
    image.session.kept("made by kneebench: " + json.dumps({"key": image.key, "warehouses": "1"}))
    return made, plan


def test_a_restored_database_has_the_plans_settings_and_all_is_undone_at_its_end(
    there: OneServer, tmp_path: Path
) -> None:
    made, plan = backed_up(tmp_path)
    with made.restored(configurations(plan)[0], unwatched) as running:
        settings = {one.name: (one.value, one.source) for one in running.settings}
        assert settings["max degree of parallelism"] == ("1", "plan")
        assert settings["trace flags"][0] == "none"
        assert settings["read_committed_snapshot"][0] == "on"
        assert running.measures == {"log_writes", "checkpoints", "tables", "waits"}
        assert running.alive() == ""
        kinds = {json.loads(file.read_text())["kind"] for file in tmp_path.glob("*.json")}
        assert kinds == {"database", "server_setting"}
    assert list(tmp_path.glob("*.json")) == []
    assert there.changes() == [
        *["EXEC sp_configure"] * 3,
        "RESTORE DATABASE",
        "ALTER DATABASE",
        "CHECKPOINT",
        "ALTER DATABASE",
        "DROP DATABASE",
        *["EXEC sp_configure"] * 3,
    ]


def test_a_constraint_on_the_engines_memory_is_set_for_its_configuration_and_put_back(
    there: OneServer, tmp_path: Path
) -> None:
    made, plan = backed_up(tmp_path, {"engine_memory": ["1GiB", "2GiB"]}, settings={})
    for configuration, wanted_mb in zip(configurations(plan), (1024, 2048), strict=True):
        there.sent.clear()
        there.answer("sys.configurations", lambda statement: [(CACHE, 4096)])
        with made.restored(configuration, unwatched) as running:
            (memory,) = [one for one in running.settings if one.name == CACHE]
            assert (memory.value, memory.source) == (str(wanted_mb), "plan")
        assert [one for one in there.sent if "max server memory" in one and "EXEC" in one] == [
            f"EXEC sp_configure N'max server memory (MB)', {wanted_mb}; RECONFIGURE",
            "EXEC sp_configure N'max server memory (MB)', 4096; RECONFIGURE",
        ]
    assert entries(tmp_path) == []


def test_a_restore_that_fails_for_lack_of_space_says_so_and_puts_the_settings_back(
    there: OneServer, tmp_path: Path
) -> None:
    words = "There is insufficient free space on disk volume 'D:' to create the database."
    there.answer(r"^RESTORE DATABASE", SqlError(words, 3257))
    made, plan = backed_up(tmp_path)
    words = r"insufficient free space.*free space on that drive"
    with pytest.raises(PlanError, match=words), made.restored(configurations(plan)[0], unwatched):
        raise AssertionError
    assert list(tmp_path.glob("*.json")) == []
    assert there.changes()[-3:] == ["EXEC sp_configure"] * 3


def test_a_database_that_cannot_be_dropped_stays_in_the_journal_with_the_command(
    there: OneServer, tmp_path: Path
) -> None:
    there.answer(
        r"^DROP DATABASE", SqlError("Cannot drop the database because it is in use.", 3702)
    )
    events: list[Event] = []
    made, plan = backed_up(tmp_path)
    with made.restored(configurations(plan)[0], events.append):
        pass
    (warning,) = [one.doing for one in events if one.kind == "warning"]
    alone = "ALTER DATABASE [tpcc] SET SINGLE_USER WITH ROLLBACK IMMEDIATE"
    assert f"sqlcmd -S db.example,1433 -U bench -Q '{alone}; DROP DATABASE [tpcc]'" in warning
    (entry,) = tmp_path.glob("*.json")
    assert json.loads(entry.read_text())["kind"] == "database"


def test_full_recovery_is_set_once_the_database_is_loaded(
    there: OneServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(*given: object) -> dict[str, str]:
        there.sent.append("load")
        return {"warehouses": "1"}

    monkeypatch.setattr(images, "load", load)
    there.answer("SpaceUsed", [(98_000_000,)])
    made, _ = opened(tmp_path, settings={"recovery": "full"})
    assert made.prepare(unwatched)["bytes"] == "98000000"
    recovery = "ALTER DATABASE [tpcc] SET RECOVERY"
    order = [
        one.split(" TO ")[0] for one in there.sent if one.startswith(("load", "BACKUP", recovery))
    ]
    backup = "BACKUP DATABASE [tpcc]"
    assert order == [f"{recovery} SIMPLE", backup, "load", f"{recovery} FULL", backup]


def test_a_server_that_was_restarted_under_load_is_not_taken_for_the_same(
    there: OneServer, tmp_path: Path
) -> None:
    made, plan = backed_up(tmp_path)
    there.answer("'tempdb'$", [("yesterday",)])
    with made.restored(configurations(plan)[0], unwatched) as running:
        assert running.alive() == ""
        there.answer("'tempdb'$", [("today",)])
        assert running.alive() == "it was restarted"


def test_without_the_right_to_see_other_sessions_waits_are_not_measured_and_not_read_as_none(
    there: OneServer, tmp_path: Path
) -> None:
    there.answer("HAS_PERMS", [(0,)])
    made, plan = backed_up(tmp_path)
    with made.restored(configurations(plan)[0], unwatched) as running:
        assert "waits" not in running.measures
        assert "waits are not measured; GRANT VIEW SERVER STATE TO [bench]" in running.notes


def test_a_plan_whose_placement_the_server_does_not_follow_is_not_measured(
    there: OneServer, tmp_path: Path
) -> None:
    there.answer(
        r"FROM .tpcc..sys.database_files", [("kneebench_log", "C:\\x\\tpcc_log.ldf", "LOG")]
    )
    made, plan = backed_up(tmp_path)
    refused = pytest.raises(KneebenchError, match="kneebench_log is at")
    with refused, made.restored(configurations(plan)[0], unwatched):
        raise AssertionError
    assert there.changes()[-4] == "DROP DATABASE"


def test_a_backup_that_another_plan_has_replaced_since_is_not_measured(
    there: OneServer, tmp_path: Path
) -> None:
    made, plan = opened(tmp_path)
    there.kept("made by kneebench: " + json.dumps({"key": "sqlserver-16-5w-default-1"}))
    words = r"contains sqlserver-16-5w-default-1, not sqlserver-16-1w.*file in backup that no other"
    with pytest.raises(PlanError, match=words), made.restored(configurations(plan)[0], unwatched):
        raise AssertionError
    assert "RESTORE DATABASE" not in there.changes()


def entries(folder: Path) -> list[str]:
    return [json.loads(file.read_text())["what"] for file in folder.glob("*.json")]


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A load takes no time, and its rows are nowhere."""
    facts = {"warehouses": "1", "rows": "499000", "rows_s": "1.00", "keys_s": "1.00"}
    monkeypatch.setattr(images, "load", lambda *given: facts)


def test_a_database_that_is_backed_up_and_dropped_leaves_nothing_in_the_journal(
    there: OneServer, tmp_path: Path, loads: None
) -> None:
    made, _ = opened(tmp_path)
    assert made.prepare(unwatched)["reused"] == "no"
    assert [one for one in there.changes() if one.endswith("DATABASE") and one[0] in "CBD"] == [
        "CREATE DATABASE",
        "BACKUP DATABASE",
        "BACKUP DATABASE",
        "DROP DATABASE",
    ]
    assert entries(tmp_path) == []


def test_a_backup_that_cannot_be_written_is_found_before_the_load_and_what_remains_is_named(
    there: OneServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(*given: object) -> dict[str, str]:
        raise AssertionError

    monkeypatch.setattr(images, "load", load)
    words = "Cannot open backup device 'B:\\tpcc.bak'. Operating system error 5(Access is denied.)."
    there.answer("^BACKUP", SqlError(words, 3201))
    made, _ = opened(tmp_path)
    with pytest.raises(PlanError, match=r"Access is denied.*remove it now: sqlcmd .*DROP DATABASE"):
        made.prepare(unwatched)
    assert entries(tmp_path) == ["the database tpcc on db.example:1433"]
    assert made.remove_image(unwatched).startswith("dropped tpcc")
    assert entries(tmp_path) == []


def test_a_killed_load_is_in_the_journal(
    there: OneServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(*given: object) -> dict[str, str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(images, "load", load)
    made, _ = opened(tmp_path)
    events: list[Event] = []
    with pytest.raises(KeyboardInterrupt):
        made.prepare(events.append)
    assert entries(tmp_path) == ["the database tpcc on db.example:1433"]
    assert "DROP DATABASE [tpcc]" in events[-1].doing


def test_a_loaded_database_without_a_backup_is_in_the_journal_until_a_climb_drops_it(
    there: OneServer, tmp_path: Path, loads: None
) -> None:
    made, plan = opened(tmp_path, backup="")
    made.prepare(unwatched)
    assert entries(tmp_path) == ["the database tpcc on db.example:1433"]
    with made.restored(configurations(plan)[0], unwatched):
        pass
    assert entries(tmp_path) == []


def test_a_database_whose_backup_failed_is_backed_up_by_the_next_run_and_not_loaded_again(
    there: OneServer, tmp_path: Path
) -> None:
    made, _, known = staying(there, tmp_path, {})
    there.kept("made by kneebench: {}")
    facts = made.prepare(unwatched)
    assert (facts["key"], facts["reused"]) == (known["key"], "no")
    changes = [one for one in there.changes() if one.endswith("DATABASE")]
    assert changes == ["BACKUP DATABASE", "ALTER DATABASE", "DROP DATABASE"]


def test_a_database_that_a_killed_run_restored_from_the_backup_is_not_backed_up_again(
    there: OneServer, tmp_path: Path
) -> None:
    made, _, known = staying(there, tmp_path, {"rows_s": "2.00"})
    kept = {"key": known["key"], "rows_s": "2.00", "compressed": "no"}
    there.kept("made by kneebench: " + json.dumps(kept))
    assert made.prepare(unwatched)["reused"] == "yes"
    there.kept("made by kneebench: " + json.dumps({**kept, "rows_s": "1.00"}))
    assert made.prepare(unwatched)["reused"] == "no"
    assert there.changes().count("BACKUP DATABASE") == 1


def test_a_database_of_anothers_gets_no_command_that_drops_it(
    there: OneServer, tmp_path: Path
) -> None:
    there.answer("FROM sys.databases WHERE name = N'tpcc'", there.present)
    there.answer("FROM sys.tables", [(3, 0)])
    made, plan = backed_up(tmp_path)
    events: list[Event] = []
    for end in (lambda: made.prepare(events.append), lambda: made.remove_image(events.append)):
        with pytest.raises(Refused) as refused:
            end()
        assert "DROP" not in str(refused.value)
    with (
        pytest.raises(Refused, match="not created by kneebench") as refused,
        made.restored(configurations(plan)[0], events.append),
    ):
        raise AssertionError
    assert "DROP" not in str(refused.value)
    assert entries(tmp_path) == []


Staying = tuple[RemoteSqlServer, Plan, dict[str, str]]


def staying(there: OneServer, folder: Path, facts: dict[str, str], **database: Any) -> Staying:
    """A plan over a database with these facts of its load, which are the plan's where nothing else
    is given.
    """
    there.answer("FROM sys.databases WHERE name = N'tpcc'", there.present)
    made, plan = opened(folder / "journal", **database)
    shape = shape_of(plan.workload, plan.seed)
    known = {**shape, "key": image_of(made).key, "state": "whole", **facts}
    there.answer("name, value FROM dbo.kneebench_image", list(known.items()))
    return made, plan, known


def by_command(there: OneServer, folder: Path, **facts: str) -> Staying:
    """A plan whose command writes down what it is told."""
    command = f"env > {folder}/seen; exit $(cat {folder}/code)"
    (folder / "code").write_text("0")
    return staying(there, folder, facts, restore="command", restore_command=command)


def test_the_plans_command_restores_the_database_which_stays(
    there: OneServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SQLCMDPASSWORD", "hush")
    made, plan, known = by_command(there, tmp_path)
    assert [one.seen for one in made.findings() if "the database tpcc" in one.seen] == [
        "the database tpcc is kneebench's and is used, and stays at the end; restored by command"
    ]
    facts = made.prepare(unwatched)
    assert (facts["reused"], facts["restored_by"], facts["key"]) == ("yes", "command", known["key"])
    there.sent.clear()
    with made.restored(configurations(plan)[0], unwatched) as running:
        assert any("restored by the plan's command" in note for note in running.notes)
    seen = (tmp_path / "seen").read_text().splitlines()
    assert "SQLCMDSERVER=db.example,1433" in seen
    assert {"SQLCMDUSER=bench", "SQLCMDDBNAME=tpcc", "KNEEBENCH_STORAGE=drives"} <= set(seen)
    assert not any(line.startswith("SQLCMDPASSWORD") for line in seen)
    assert there.changes() == [*["EXEC sp_configure"] * 3, "CHECKPOINT", *["EXEC sp_configure"] * 3]


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"warehouses": "7"}, "the command left another load: warehouses = 7, "),
        ({"state": "loading"}, "the command left another load"),
    ],
)
def test_a_command_that_leaves_another_database_is_not_measured(
    there: OneServer, tmp_path: Path, facts: dict[str, str], words: str
) -> None:
    made, plan, _ = by_command(there, tmp_path, **facts)
    with pytest.raises(PlanError, match=words), made.restored(configurations(plan)[0], unwatched):
        raise AssertionError
    assert "DROP DATABASE" not in there.changes()


@pytest.mark.parametrize("restore", [{"restore": "none"}, {"restore": "command"}])
def test_a_database_that_stays_is_used_also_with_the_key_of_another_version_of_kneebench(
    there: OneServer, tmp_path: Path, restore: dict[str, str]
) -> None:
    command = {"restore_command": "true"} if restore["restore"] == "command" else {}
    made, plan, _ = staying(there, tmp_path, {"key": "older"}, **restore, **command)
    assert made.prepare(unwatched)["reused"] == "yes"
    with made.restored(configurations(plan)[0], unwatched):
        pass
    assert not {"DROP DATABASE", "CREATE DATABASE"} & {*there.changes()}


@pytest.mark.parametrize(
    ("facts", "files", "words"),
    [
        ({"warehouses": "7"}, [], r"a different load: warehouses = 7, .*drop this one"),
        ({}, [("kneebench_log", "C:\\tpcc_log.ldf", "LOG")], r"C:\\tpcc_log.ldf, not in L:"),
    ],
)
def test_another_database_of_ours_is_refused_and_not_dropped_for_a_plan_that_lets_it_stay(
    there: OneServer,
    tmp_path: Path,
    facts: dict[str, str],
    files: list[tuple[str, str, str]],
    words: str,
) -> None:
    made, plan, _ = staying(there, tmp_path, facts, restore="none")
    if files:
        there.answer(r"FROM .tpcc..sys.database_files", files)
    (refused,) = [one for one in made.findings() if one.level == "refused"]
    assert re.search(words, f"{refused.seen}; {refused.do}")
    with pytest.raises(Refused, match=words):
        made.prepare(unwatched)
    with pytest.raises(Refused, match=words), made.restored(configurations(plan)[0], unwatched):
        raise AssertionError
    assert not {"DROP DATABASE", "CREATE DATABASE"} & {*there.changes()}


def test_a_database_that_stays_with_other_options_than_the_plans_is_not_measured(
    there: OneServer, tmp_path: Path
) -> None:
    settings = {"recovery": "full", "page_verify": "checksum", "read_committed_snapshot": True}
    made, plan, _ = staying(there, tmp_path, {}, restore="none", settings=settings)
    words = r"recovery is simple, not full; ALTER DATABASE \[tpcc\] SET RECOVERY FULL, or correct"
    with pytest.raises(PlanError, match=words), made.restored(configurations(plan)[0], unwatched):
        raise AssertionError
    assert there.changes() == []


def test_another_load_may_be_there_before_the_command_restores_the_plans(
    there: OneServer, tmp_path: Path
) -> None:
    made, _, _ = by_command(there, tmp_path, warehouses="7")
    assert made.prepare(unwatched)["warehouses"] == "7"
    assert "DROP DATABASE" not in there.changes()


def test_each_storage_is_measured_on_its_own_files_where_the_database_is_loaded_again(
    there: OneServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _, _ = staying(there, tmp_path, {}, restore="load")
    loaded: list[str] = []
    monkeypatch.setattr(Image, "_load", lambda image, watch: loaded.append("again") or {})
    on_both = image_of(made)
    on_both.restore(unwatched)
    assert loaded == []
    fewer = on_both._replace(placement=on_both.placement._replace(data=("D:\\data",)))
    more = on_both._replace(placement=Placement(("D:\\data", "E:\\data", "F:\\"), "L:\\log"))
    for image in (fewer, more):
        with pytest.raises(PlanError, match="verify where the files are"):
            image.restore(unwatched)
    assert loaded == ["again", "again"]


def test_the_database_is_prepared_on_the_storage_that_is_measured_first(tmp_path: Path) -> None:
    url = {"url": "sqlserver://bench@other.example/tpcc"}
    storages = {"one": {}, "two": {}, "three": {}, "four": url, "five": url}
    given = {"database": DATABASE, "storages": storages, "baseline": "two"}
    made = RemoteSqlServer(Study(Plan.model_validate(given)).only_database, Journal(tmp_path))
    assert made._one_storage_per_url == ["two", "four"]


def test_a_command_that_fails_ends_the_climb_before_anything_is_changed(
    there: OneServer, tmp_path: Path
) -> None:
    made, plan, _ = by_command(there, tmp_path)
    (tmp_path / "code").write_text("3")
    there.sent.clear()
    with (
        pytest.raises(KneebenchError, match="exit code 3"),
        made.restored(configurations(plan)[0], unwatched),
    ):
        raise AssertionError
    assert there.sent == []


def test_a_server_that_the_command_restarted_is_waited_for(
    there: OneServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, plan, _ = by_command(there, tmp_path)
    starting = iter([True, True])

    def connect(*given: object, **limits: object) -> OneServer:
        if next(starting, False):
            raise PlanError("cannot connect", seen="the server is starting")
        return there

    monkeypatch.setattr(engine, "connect_to", connect)
    with made.restored(configurations(plan)[0], unwatched) as running:
        assert running.alive() == ""
    assert next(starting, None) is None
