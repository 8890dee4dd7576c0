"""A schema that HammerDB built on MariaDB: nothing of it changes unless the plan says that it may,
and nothing of ours stays in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pytest

from kneebench.databases.innodb.remote import RemoteInnodb
from kneebench.databases.innodb.session import connect
from kneebench.databases.innodb.sql_schema import InnodbSchema
from kneebench.databases.innodb.versions import Product
from kneebench.databases.tproc_c.tables import LARGEST_FIRST
from kneebench.errors import PlanError, Refused
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Check, Configuration, Event, Finding
from tests import mysql_build
from tests.mariadb_elsewhere import (  # noqa: F401
    PASSWORD,
    WITHOUT_MARIADB,
    MariadbElsewhere,
    another_server,
    mariadb_elsewhere,
    no_mysql_password_around,
)
from tests.mariadb_hammerdb import BROKEN, make
from tests.short_load import short_load

pytestmark = [pytest.mark.mariadb, pytest.mark.usefixtures("password")]
PRODUCTS = {one.engine: one for one in Product}
CONFIGURATION = Configuration(id="there", storage="there")
DELIVERED = """
SELECT DISTINCT o_c_id FROM orders
WHERE o_w_id = 1 AND o_d_id = 1 AND o_id < 2101 ORDER BY o_c_id DESC LIMIT 2"""
"""Two customers whose balances were wrong before, and whom no check names."""
PROCEDURES = "SELECT routine_name FROM information_schema.routines WHERE routine_schema = '{}'"


def unwatched(event: Event) -> None:
    """Nobody looks."""


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYSQL_PWD", PASSWORD)


class Theirs(NamedTuple):
    """HammerDB's databases on a server of somebody else: tpcc, and with --long tpcc_options with a
    key of history and partitions.
    """

    there: MariadbElsewhere
    image: str

    def plan(self, database: str = "tpcc", warehouses: int = 1, **given: Any) -> Plan:
        plan = self.there.plan(self.there.url(database), schema_from="hammerdb", **given)
        workload = plan.workload.model_copy(
            update={"warehouses": warehouses, "profile": "hammerdb"}
        )
        return plan.model_copy(update={"workload": workload})

    def engine(self, database: str = "tpcc", warehouses: int = 1, **given: Any) -> RemoteInnodb:
        plan = Study(self.plan(database, warehouses, **given)).only_database
        return RemoteInnodb(plan, self.there.journal, PRODUCTS[self.there.product.engine])

    def found(self, database: str = "tpcc", **given: Any) -> list[Finding]:
        """What `check` finds, but for the server's place and version, and what stays there."""
        found = [*self.engine(database, **given).findings()][1:]
        written = re.compile("a copy for each climb|nothing removes that")
        return [one for one in found if not written.search(one.seen)]

    def contents(self, database: str = "tpcc") -> list[int]:
        """A checksum of each table."""
        names = ", ".join(f"{database}.{table}" for table in LARGEST_FIRST)
        return [checksum for _, checksum in self.there.execute(f"CHECKSUM TABLE {names}")]

    def procedures(self, database: str = "tpcc") -> set[str]:
        return {str(name) for (name,) in self.there.execute(PROCEDURES.format(database))}

    def noted(self) -> list[str]:
        """The journal's entries about procedures."""
        entries = [file.read_text() for file in self.there.journal.folder.glob("*.json")]
        return [entry for entry in entries if "procedures in the database tpcc" in entry]


@pytest.fixture(scope="module")
def mysql_elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariadbElsewhere]:
    folder, own = tmp_path_factory.mktemp("mysql"), {"local_infile": "ON", "skip_log_bin": ""}
    with another_server(folder, mysql_build.mysql(), **own) as there:
        yield there


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("mariadb_elsewhere", marks=WITHOUT_MARIADB),
        pytest.param("mysql_elsewhere", marks=[pytest.mark.long, mysql_build.WITHOUT]),
    ],
)
def theirs(request: pytest.FixtureRequest) -> Iterator[Theirs]:
    elsewhere = request.getfixturevalue(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MYSQL_PWD", PASSWORD)
        plan = Study(elsewhere.plan(elsewhere.url())).only_database
        engine = RemoteInnodb(plan, elsewhere.journal, PRODUCTS[elsewhere.product.engine])
        engine.prepare(unwatched)
        image = engine.image_at(engine.address("there")).image
    make(elsewhere, "tpcc", image)
    if request.config.getoption("--long"):
        make(elsewhere, "tpcc_options", image, options=True)
    yield Theirs(elsewhere, image)
    assert elsewhere.journal.leftovers() == []


def failed(checks: Sequence[Check] | None) -> set[int]:
    return {number for number, check in enumerate(checks or (), 1) if not check.passed}


def test_a_plan_needs_a_url_for_it_and_must_say_what_may_become_of_the_tables(
    theirs: Theirs,
) -> None:
    managed = {"engine": theirs.there.product.engine, "schema_from": "hammerdb"}
    with pytest.raises(ValueError, match='"hammerdb" needs a url'):
        Plan.model_validate({"database": managed, "storages": {"here": {"path": "/srv"}}})
    assert Study(theirs.plan()).only_database.restore == "none"
    assert Study(theirs.there.plan(theirs.there.url())).only_database.restore == "template"


def test_check_says_what_becomes_of_the_tables_and_changes_nothing(theirs: Theirs) -> None:
    before = theirs.there.databases()
    [refused] = theirs.found()
    assert refused.level == "refused"
    assert "adds orders, payments and history to HammerDB's tables in tpcc" in refused.seen
    assert 'set restore = "template": a copy of' in refused.do
    assert 'or set restore = "none"' in refused.do
    [warning] = theirs.found(restore="none")
    assert (warning.level, "nothing restores them" in warning.seen) == ("warning", True)
    [copied] = theirs.found(restore="template")
    assert copied.level == "ok"
    assert "is measured and dropped; tpcc is not changed" in copied.seen
    assert theirs.there.databases() == before
    assert theirs.procedures() == set()


def test_check_reports_what_is_not_such_a_schema(theirs: Theirs) -> None:
    [wrong] = theirs.found(restore="template", warehouses=7)
    assert (wrong.level, wrong.seen, wrong.do) == (
        *("error", "it has 1 warehouse"),
        "set workload.warehouses = 1",
    )
    [unnamed] = theirs.engine("", restore="template").findings()
    assert "names no database, which contains the schema" in unnamed.seen
    theirs.there.execute("CREATE DATABASE kneebench_empty")
    try:
        [empty] = theirs.found("kneebench_empty", restore="template")
        assert (empty.level, "no table order_line" in empty.seen) == ("error", True)
        theirs.there.execute("CREATE TABLE kneebench_empty.stock (s_i_id int) ENGINE = MyISAM")
        [other] = theirs.found("kneebench_empty", restore="template")
        assert "storage engine MyISAM" in other.seen
        with pytest.raises(PlanError, match="storage engine innodb"):
            theirs.engine("kneebench_empty", restore="template").prepare(unwatched)
    finally:
        theirs.there.execute("DROP DATABASE kneebench_empty")


@pytest.mark.parametrize("database", ["tpcc", pytest.param("tpcc_options", marks=pytest.mark.long)])
def test_by_template_a_copy_is_measured_and_the_original_stays_as_it_is(
    theirs: Theirs, database: str
) -> None:
    engine = theirs.engine(database, restore="template")
    before, databases = theirs.contents(database), theirs.there.databases()
    assert engine.prepare(unwatched) == {
        **{"reused": "yes", "schema_from": "hammerdb"},
        **{"warehouses": "1", "restored_by": "template"},
    }
    with engine.restored(CONFIGURATION, unwatched) as server:
        assert server.address.database.startswith("kneebench_work_")
        assert theirs.contents(server.address.database) == before
        assert failed(server._before) == BROKEN
        ids = server.sum_next_order_ids()
        tally = short_load(server, engine.plan, CONFIGURATION.id)
        assert (tally.whole.failed, tally.errors) == (0, ())
        orders = tally.transactions["new_order"].whole.committed
        assert server.sum_next_order_ids() - ids == orders > 0
        assert all(one.whole.committed for one in tally.transactions.values())
        assert [check.sentence for check in server.conditions(unwatched) if not check.passed] == []
        assert theirs.procedures(database) == set()
    assert theirs.contents(database) == before
    assert theirs.there.databases() == databases


def test_what_was_broken_before_passes_while_it_stays_as_it_was(theirs: Theirs) -> None:
    with (
        theirs.engine(restore="template").restored(CONFIGURATION, unwatched) as server,
        connect(server.address) as session,
    ):
        session.run("CALL kneebench_payment(1, 1, 1, 1, 5, '', 700)")
        session.run("CALL kneebench_delivery(1, 2)")
        assert failed(server.conditions(unwatched)) == set()
        for sign, (customer,) in zip("+-", session.rows(DELIVERED), strict=True):
            session.run(
                f"UPDATE customer SET c_balance = c_balance {sign} 1"
                f" WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = {customer}"
            )
        changed = server.conditions(unwatched)
    assert failed(changed) == {10, 12}, "also where the errors add up to nothing"
    assert "no change since the start" in changed[9].limit


@pytest.mark.long
def test_a_look_up_by_name_reads_its_customers_only_and_may_find_no_order(theirs: Theirs) -> None:
    reads = "SHOW SESSION STATUS LIKE 'Handler_read_%'"
    with (
        theirs.engine(restore="template").restored(CONFIGURATION, unwatched) as server,
        connect(server.address) as session,
    ):
        assert session.rows("CALL kneebench_order_status(1, 1, 2, '')") == []
        assert session.rows("CALL kneebench_order_status(1, 1, 1, '')")
        before = sum(int(count) for _, count in session.rows(reads))
        session.run("CALL kneebench_payment(1, 1, 1, 1, 0, 'BARBARBAR', 700)")
        after = sum(int(count) for _, count in session.rows(reads))
    assert 0 < after - before < 300


def test_with_consent_the_tables_are_measured_and_the_procedures_go_at_the_end(
    theirs: Theirs,
) -> None:
    engine = theirs.engine(restore="none")
    assert engine.prepare(unwatched)["restored_by"] == "none"
    databases = theirs.there.databases()
    with engine.restored(CONFIGURATION, unwatched) as server:
        assert server.address.database == "tpcc"
        assert any("was not restored" in note for note in server.notes)
        assert "kneebench_new_order" in theirs.procedures()
        [noted] = theirs.noted()
        assert "--database=tpcc" in noted
        assert "DROP PROCEDURE IF EXISTS kneebench_new_order; DROP" in noted
        ids = server.sum_next_order_ids()
        assert short_load(server, engine.plan, CONFIGURATION.id).whole.failed == 0
        assert failed(server.conditions(unwatched)) == set()
        used = server.sum_next_order_ids()
    assert used > ids
    [(kept,)] = theirs.there.execute("SELECT sum(d_next_o_id) FROM tpcc.district")
    assert kept == used
    assert (theirs.procedures(), theirs.noted()) == (set(), [])
    assert theirs.there.databases() == databases


def test_a_command_that_leaves_a_schema_of_another_size_is_not_measured(theirs: Theirs) -> None:
    engine = theirs.engine(warehouses=2, restore="command", restore_command="true")
    with (
        pytest.raises(PlanError, match="it has 1 warehouse"),
        engine.restored(CONFIGURATION, unwatched),
    ):
        raise AssertionError
    assert (theirs.procedures(), theirs.noted()) == (set(), [])


def test_the_procedures_go_too_where_the_server_was_killed(theirs: Theirs) -> None:
    with theirs.engine(restore="none").restored(CONFIGURATION, unwatched):
        theirs.there.kill()
        assert theirs.procedures() != set()
    assert (theirs.procedures(), theirs.noted()) == (set(), [])


def test_a_database_that_others_use_is_not_copied(
    theirs: Theirs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kneebench.databases.innodb.copies.IDLE_LIMIT_S", 0.5)
    with (
        connect(theirs.there.address, "tpcc"),
        pytest.raises(PlanError, match="sessions that use it: 1; end them"),
        theirs.engine(restore="template").restored(CONFIGURATION, unwatched),
    ):
        pass


@pytest.mark.long
def test_a_copy_that_a_killed_run_left_is_dropped_by_the_next_one(theirs: Theirs) -> None:
    """Its tables carry no mark: they are as HammerDB's are."""
    engine = theirs.engine(restore="template")
    copies = engine.image_at(engine.address("there"))
    theirs.there.execute(f"CREATE DATABASE {copies.work_database}")
    with connect(theirs.there.address, copies.work_database) as session:
        InnodbSchema(session).note({"state": "loading", "copy_of": "tpcc"})
        session.run("CREATE TABLE stock LIKE tpcc.stock")
        session.run("CREATE TABLE theirs (x int)")
        with (
            pytest.raises(Refused, match="has tables that kneebench did not create"),
            engine.restored(CONFIGURATION, unwatched),
        ):
            pass
        session.run("DROP TABLE theirs")
    with engine.restored(CONFIGURATION, unwatched) as server:
        assert server.sum_next_order_ids() > 0
    assert copies.work_database not in theirs.there.databases()
