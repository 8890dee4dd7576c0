"""A schema that HammerDB built on SQL Server: it is measured only if the plan says that it may
change, and nothing of ours stays in it. On the TDS server that is not SQL Server, and by documented
answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from kneebench.databases.engines.sqlserver import adopted
from kneebench.databases.engines.sqlserver.conditions import Conditions
from kneebench.databases.engines.sqlserver.database import connect_to
from kneebench.databases.engines.sqlserver.engine import RemoteSqlServer
from kneebench.databases.engines.sqlserver.server_address import SqlServerAddress
from kneebench.databases.engines.sqlserver.session import connect, quoted
from kneebench.databases.engines.sqlserver.sql_files import install_procedures
from kneebench.databases.tproc_c.tables import LARGEST_FIRST
from kneebench.errors import PlanError
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Check, Configuration, Event, Finding
from tests import tds_server
from tests.documented_server import ADDRESS, DocumentedSession
from tests.short_load import short_load
from tests.tds_hammerdb import BROKEN, BY_BCP, rebuild

CONFIGURATION = Configuration(id="there", storage="there")
URL, WAREHOUSES = "sqlserver://bench@db.example/tpcc", {"warehouses": 10}
PROCEDURES = "SELECT COUNT(*) FROM sys.procedures WHERE schema_id = SCHEMA_ID('kneebench')"
ORDERS = "SELECT SUM(d_next_o_id) FROM dbo.district"
DELIVERED = """
SELECT DISTINCT TOP (2) o_c_id FROM dbo.orders
WHERE o_w_id = 1 AND o_d_id = 1 AND o_id < 2101 ORDER BY o_c_id DESC"""
"""Two customers whose balances were wrong before, and whom no check names."""


def unwatched(event: Event) -> None:
    """Nobody looks."""


def failed(checks: Sequence[Check] | None) -> set[int]:
    return {number for number, check in enumerate(checks or (), 1) if not check.passed}


def plan(warehouses: int = 1, **database: Any) -> Plan:
    given = {**tds_server.database(), "schema_from": "hammerdb", **database}
    workload = {"warehouses": warehouses, "profile": "hammerdb"}
    return Plan.model_validate({"database": given, "storages": {"there": {}}, "workload": workload})


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    return Journal(tmp_path_factory.mktemp("journal"))


@pytest.fixture(scope="module")
def theirs(
    journal: Journal, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SqlServerAddress]:
    """HammerDB's tables in a database on the TDS server; the journal of those that make it is
    another one.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SQLCMDPASSWORD", tds_server.password())
        makers = Journal(tmp_path_factory.mktemp("makers"))
        own = RemoteSqlServer(Study(plan(schema_from="kneebench")).only_database, makers)
        own.prepare(unwatched)
        address = own.address("there")
        try:
            rebuild(address)
            yield address
        finally:
            with connect(address) as session:
                session.execute(f"DROP DATABASE {quoted(address.database)}")
    assert journal.leftovers() == []


def findings(journal: Journal, **given: Any) -> list[Finding]:
    """What `check` finds of the tables."""
    every = RemoteSqlServer(Study(plan(**given)).only_database, journal).findings()
    return [one for one in every if "HammerDB" in f"{one.seen} {one.do}"]


@pytest.mark.parametrize(
    ("database", "words"),
    [
        ({"restore": "backup", "backup": "B:\\x.bak"}, '"command" or "none"'),
        ({"restore": "load"}, '"command" or "none"'),
        ({"backup": "B:\\x.bak"}, "is there already"),
        ({"data_files": 8}, "is there already"),
        ({"settings": {"recovery": "simple"}}, "keeps its options"),
    ],
)
def test_a_plan_cannot_replace_the_database_or_change_its_options(
    database: dict[str, Any], words: str
) -> None:
    given = {"engine": "sqlserver", "url": URL, "schema_from": "hammerdb", **database}
    with pytest.raises(ValueError, match=words):
        Plan.model_validate({"database": given})


def test_a_trial_has_a_schema_of_its_own_beside_hammerdbs() -> None:
    given = {"engine": "sqlserver", "url": URL, "schema_from": "hammerdb", "restore": "none"}
    table = Plan.model_validate({"database": given}).database
    assert (table.restored_by({}), table.for_trial().restored_by({})) == ("none", "load")
    assert table.for_trial().url == f"{URL}_try"


def test_the_plan_of_a_campaign_can_be_read_again_from_its_results() -> None:
    table = {"engine": "sqlserver", "url": URL, "schema_from": "hammerdb", "restore": "none"}
    given = Plan.model_validate({"database": table})
    assert Plan.model_validate(Study(given).document).database == given.database


def documented(monkeypatch: pytest.MonkeyPatch, *, in_memory: bool = False) -> DocumentedSession:
    """A server with HammerDB's tables, on which the login is not db_owner."""
    session = DocumentedSession()
    tables = [(table, in_memory and table == "stock") for table in LARGEST_FIRST]
    session.answer("is_memory_optimized", [*tables, ("theirs", True)])
    session.answer(r"COUNT\(\*\) FROM dbo.warehouse", [(10,)])
    session.answer("JOIN dbo.orders ON o_w_id = no_w_id", [(0,)])
    session.answer(r"HAS_PERMS_BY_NAME\(QUOTENAME\(DB_NAME\(\)\)", [(0,)])
    monkeypatch.setattr(adopted, "connect_to", lambda address, *_: session)
    return session


def test_tables_in_memory_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    session = documented(monkeypatch, in_memory=True)
    with pytest.raises(PlanError, match=r"stock: in memory, .* mssqls_imdb = false"):
        adopted.facts(session, 10)


def test_the_rights_that_a_login_lacks_in_the_database_are_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    documented(monkeypatch)
    table = {"engine": "sqlserver", "url": URL, "schema_from": "hammerdb", "restore": "none"}
    given = Plan.model_validate({"database": table, "workload": WAREHOUSES})
    _, lacking = adopted.findings(ADDRESS, "server", Study(given).only_database)
    assert lacking.level == "error"
    assert lacking.do == "in [tpcc]: ALTER ROLE db_owner ADD MEMBER [bench]"


@pytest.mark.parametrize(("how", "found"), [("none", 2), ("command", 0)])
def test_files_that_no_command_can_move_must_be_where_the_plan_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str, found: int
) -> None:
    session = documented(monkeypatch)
    by = {"restore": how, **({"restore_command": "true"} if how == "command" else {})}
    table = {"engine": "sqlserver", "url": URL, "schema_from": "hammerdb", "data_dirs": ["X:\\"]}
    given = {"database": {**table, **by}, "storages": {"there": {}}, "workload": WAREHOUSES}
    engine = RemoteSqlServer(Study(Plan.model_validate(given)).only_database, Journal(tmp_path))
    findings = [*engine.found(session, "there", ADDRESS, "server")]
    misplaced = [one for one in findings if "not in X:" in one.seen]
    assert [one.level for one in misplaced] == ["error"] * found


@tds_server.WITHOUT_SERVER
def test_check_says_what_becomes_of_the_tables_and_changes_nothing(
    theirs: SqlServerAddress, journal: Journal
) -> None:
    [refused] = findings(journal)
    assert refused.level == "refused"
    assert "adds orders, payments and history to HammerDB's tables in" in refused.seen
    assert 'set restore = "command": restore_command restores them' in refused.do
    assert 'or set restore = "none"' in refused.do
    [warning] = findings(journal, restore="none")
    assert (warning.level, "nothing restores them" in warning.seen) == ("warning", True)
    [note] = findings(journal, restore="command", restore_command="true")
    assert (note.level, "before each climb" in note.seen) == ("note", True)
    with connect_to(theirs) as inside:
        assert inside.value(PROCEDURES) == 0


@tds_server.WITHOUT_SERVER
def test_check_reports_what_is_not_such_a_schema(
    theirs: SqlServerAddress, journal: Journal
) -> None:
    engine = RemoteSqlServer(Study(plan(7, restore="none")).only_database, journal)
    [wrong] = [one for one in engine.findings() if one.level == "error"]
    assert (wrong.seen, wrong.do) == ("it has 1 warehouse", "set workload.warehouses = 1")
    empty = f"{tds_server.DATABASE}_empty"
    with connect(theirs) as session:
        session.execute(f"CREATE DATABASE {empty}")
        elsewhere = RemoteSqlServer(
            Study(plan(restore="none", url=tds_server.url(empty))).only_database, journal
        )
        [nothing] = [one for one in elsewhere.findings() if one.level == "error"]
        session.execute(f"DROP DATABASE {empty}")
    assert "no table order_line" in nothing.seen
    with pytest.raises(PlanError, match=f"{empty}"):
        elsewhere.prepare(unwatched)


@tds_server.WITHOUT_SERVER
def test_with_consent_the_tables_are_measured_and_the_procedures_go_at_the_end(
    theirs: SqlServerAddress, journal: Journal
) -> None:
    engine = RemoteSqlServer(Study(plan(restore="none")).only_database, journal)
    facts = engine.prepare(unwatched)
    assert (facts["schema_from"], facts["restored_by"]) == ("hammerdb", "none")
    with engine.restored(CONFIGURATION, unwatched) as server, connect_to(theirs) as inside:
        assert any("was not restored" in note for note in server.notes)
        assert inside.value(PROCEDURES) == 5
        [noted] = [file.read_text() for file in journal.folder.glob("*.json")]
        assert "DROP PROCEDURE IF EXISTS kneebench.new_order; DROP" in noted
        ids = server.sum_next_order_ids()
        tally = short_load(server, engine.plan, CONFIGURATION.id)
        assert (tally.whole.failed, tally.errors) == (0, ())
        orders = tally.transactions["new_order"].whole.committed
        assert server.sum_next_order_ids() - ids == orders > 0
        checks = server.conditions(unwatched)
        assert [check.sentence for check in checks if not check.passed] == []
        assert "was already broken in the same" in checks[9].sentence
    with connect_to(theirs) as inside:
        assert inside.value(ORDERS) == ids + orders
        assert inside.value("SELECT SCHEMA_ID('kneebench')") is None


@tds_server.WITHOUT_SERVER
def test_the_procedures_go_too_where_all_sessions_were_ended_and_by_hand(
    theirs: SqlServerAddress, journal: Journal
) -> None:
    with RemoteSqlServer(Study(plan(restore="none")).only_database, journal).restored(
        CONFIGURATION, unwatched
    ):
        tds_server.end_all_sessions(theirs)
    with connect_to(theirs) as inside:
        assert inside.value("SELECT SCHEMA_ID('kneebench')") is None
        install_procedures(inside)
        inside.execute("; ".join(adopted.removal()))
        assert inside.value("SELECT SCHEMA_ID('kneebench')") is None


@tds_server.WITHOUT_SERVER
def test_what_was_broken_before_passes_only_while_it_stays_as_it_was(
    theirs: SqlServerAddress, journal: Journal
) -> None:
    engine = RemoteSqlServer(Study(plan(restore="none")).only_database, journal)
    with engine.restored(CONFIGURATION, unwatched) as server, connect_to(theirs) as inside:
        assert failed(Conditions(1).checks(inside)) == BROKEN
        inside.execute("EXEC kneebench.payment 1, 1, 1, 1, 5, '', 700")
        inside.execute("EXEC kneebench.delivery 1, 2")
        assert inside.execute("EXEC kneebench.order_status 1, 1, 2, ''") == []
        assert failed(server.conditions(unwatched)) == set()
        for sign, (customer,) in zip("+-", inside.execute(DELIVERED), strict=True):
            inside.execute(
                f"UPDATE dbo.customer SET c_balance = c_balance {sign} 1"
                f" WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = {customer}"
            )
        assert failed(server.conditions(unwatched)) == {10, 12}, "the errors add up to nothing"


@tds_server.WITHOUT_SERVER
def test_a_command_restores_the_tables_which_must_be_the_plans(
    theirs: SqlServerAddress, journal: Journal, tmp_path: Path
) -> None:
    by_command = {"restore": "command", "restore_command": f"touch {tmp_path}/restored"}
    with RemoteSqlServer(Study(plan(**by_command)).only_database, journal).restored(
        CONFIGURATION, unwatched
    ) as server:
        assert failed(server.conditions(unwatched)) == set()
    assert (tmp_path / "restored").exists()
    other = RemoteSqlServer(Study(plan(2, **by_command)).only_database, journal)
    with (
        pytest.raises(PlanError, match="it has 1 warehouse"),
        other.restored(CONFIGURATION, unwatched),
    ):
        raise AssertionError


@tds_server.WITHOUT_SERVER
def test_orders_of_the_bulk_load_are_left_out_until_they_are_delivered(
    theirs: SqlServerAddress, journal: Journal
) -> None:
    with connect_to(theirs) as inside:
        inside.execute(BY_BCP)
    assert [one.level for one in findings(journal, restore="none")] == ["warning", "note"]
    engine = RemoteSqlServer(Study(plan(restore="none")).only_database, journal)
    with engine.restored(CONFIGURATION, unwatched) as server:
        assert short_load(server, engine.plan, CONFIGURATION.id).whole.failed == 0
        checks = server.conditions(unwatched)
    assert failed(checks) == set()
    assert "except undelivered loaded orders" in checks[4].sentence
    assert checks[4].seen == checks[6].seen == "holds"
