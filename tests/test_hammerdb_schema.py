"""A schema that HammerDB built: nothing of it changes unless the plan says that it may, and nothing
of ours stays in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kneebench.databases.engine import Engine
from kneebench.databases.engines.postgres.address import connect
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.databases.several import engine_of
from kneebench.errors import PlanError
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Configuration, Event, Finding
from tests.loaded import Databases, Servers, unwatched, url_of

CONFIGURATION = Configuration(id="there", storage="there")


class Theirs(NamedTuple):
    """Tables as HammerDB leaves them: no mark of ours, no functions."""

    address: PostgresAddress
    journal: Journal

    def engine(self, warehouses: int = 1, **database: Any) -> Engine:
        given = {"url": url_of(self.address), "schema_from": "hammerdb", **database}
        users = {"users": (1, 8)}
        plan = {
            "database": given,
            "workload": {"warehouses": warehouses},
            "ladder": users,
            "storages": {"there": {}},
        }
        return engine_of(Study(Plan.model_validate(plan)).databases, self.journal)

    def found(self, **database: Any) -> list[Finding]:
        return [
            finding
            for finding in self.engine(**database).findings()
            if "HammerDB" in finding.seen or "a copy of" in finding.seen
        ]

    def ours(self) -> list[str]:
        """What of ours is in the database."""
        with connect(self.address) as session:
            functions = (
                "SELECT proname FROM pg_proc WHERE pronamespace::regnamespace::text = 'kneebench'"
            )
            return [
                name
                for (name,) in session.execute(
                    "SELECT nspname FROM pg_namespace WHERE nspname = 'kneebench' UNION ALL"
                    f" {functions}".encode()
                )
            ]

    def orders(self) -> int:
        with connect(self.address) as session:
            return (
                session.execute("SELECT sum(d_next_o_id) FROM public.district").fetchone() or (0,)
            )[0]


@pytest.fixture(scope="module")
def made(servers: Servers) -> Databases:
    return servers(None)


@pytest.fixture
def theirs(made: Databases, tmp_path: Path) -> Theirs:
    address = made.loaded()
    with connect(address) as session:
        session.execute("DROP SCHEMA kneebench CASCADE")
    return Theirs(address, Journal(tmp_path / "journal"))


def change(address: PostgresAddress) -> None:
    with connect(address) as session:
        session.execute("SELECT kneebench.new_order(1, 1, 1, '{1}', '{1}', '{1}')")


def test_a_plan_that_does_not_say_what_may_become_of_the_tables_is_refused(theirs: Theirs) -> None:
    [finding] = theirs.found()
    assert finding.level == "refused"
    assert "adds orders, payments and history to HammerDB's tables" in finding.seen
    assert 'restore = "template"' in finding.do
    assert 'restore = "none"' in finding.do
    assert [
        (finding.level, 'restore = "template"' in finding.do)
        for finding in theirs.found(restore="none")
    ] == [("warning", True)]
    assert [
        finding.level for finding in theirs.found(restore="command", restore_command="true")
    ] == ["note"]
    assert [finding.level for finding in theirs.found(restore="template")] == ["ok"]


def test_check_reports_what_is_not_such_a_schema(theirs: Theirs) -> None:
    [wrong] = [
        finding
        for finding in theirs.engine(warehouses=2, restore="template").findings()
        if finding.level == "error"
    ]
    assert (wrong.seen, wrong.do) == ("it has 1 warehouse", "set workload.warehouses = 1")
    with connect(theirs.address) as session:
        session.execute("DROP TABLE public.order_line, public.stock")
    [missing] = [
        finding
        for finding in theirs.engine(restore="template").findings()
        if finding.level == "error"
    ]
    assert missing.seen == "no table order_line, stock"


def test_a_run_that_ends_before_it_measures_leaves_nothing_in_the_database(theirs: Theirs) -> None:
    with pytest.raises(PlanError, match="has 1 warehouse;"):
        theirs.engine(warehouses=2, restore="none").prepare(unwatched)
    theirs.engine(restore="none").prepare(unwatched)
    assert theirs.ours() == []


def test_with_consent_the_tables_are_measured_and_the_functions_go_at_the_end(
    theirs: Theirs,
) -> None:
    engine = theirs.engine(restore="none")
    before = theirs.orders()
    with engine.restored(CONFIGURATION, unwatched) as server:
        assert "new_order" in theirs.ours()
        [noted] = theirs.journal.folder.glob("*.json")
        assert "DROP FUNCTION IF EXISTS kneebench.new_order" in noted.read_text()
        change(server.address)
    assert theirs.orders() == before + 1
    assert theirs.ours() == list(theirs.journal.folder.glob("*.json")) == []


def test_what_else_is_in_a_schema_of_our_name_stays(theirs: Theirs) -> None:
    with connect(theirs.address) as session:
        session.execute("CREATE SCHEMA kneebench; CREATE TABLE kneebench.diary (day date)")
    with theirs.engine(restore="none").restored(CONFIGURATION, unwatched):
        pass
    assert theirs.ours() == ["kneebench"]
    with connect(theirs.address) as session:
        session.execute("TABLE kneebench.diary")


def test_by_template_a_copy_is_measured_and_the_original_stays_as_it_is(theirs: Theirs) -> None:
    engine = theirs.engine(restore="template")
    engine.prepare(unwatched)
    before = theirs.orders()
    with engine.restored(CONFIGURATION, unwatched) as server:
        assert server.address.database != theirs.address.database
        change(server.address)
        assert theirs.ours() == []
    assert theirs.orders() == before
    assert theirs.ours() == []


def test_a_command_that_leaves_a_schema_of_another_size_is_not_measured(theirs: Theirs) -> None:
    engine = theirs.engine(2, restore="command", restore_command="true")
    with (
        pytest.raises(PlanError, match="it has 1 warehouse"),
        engine.restored(CONFIGURATION, unwatched),
    ):
        raise AssertionError
    assert theirs.ours() == []


def test_functions_that_could_not_be_removed_are_told_with_the_command_that_does(
    theirs: Theirs,
) -> None:
    told: list[str] = []

    def watch(event: Event) -> None:
        if event.kind == "warning":
            told.append(event.doing)

    with (
        theirs.engine(restore="none").restored(CONFIGURATION, watch),
        connect(theirs.address) as session,
    ):
        session.execute("CREATE VIEW public.uses AS SELECT kneebench.payment(1, 1, 1, 1, 1, '', 1)")
    assert "kneebench's functions in the database" in told[0]
    assert "could not be removed" in told[0]
    assert "DROP FUNCTION IF EXISTS kneebench.new_order" in told[0]
