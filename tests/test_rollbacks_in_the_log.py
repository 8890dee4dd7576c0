"""Rollbacks by design and the log of a server that is somebody else's: kept out where the role may,
told where it may not.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import psycopg
import pytest

from kneebench.databases.engine import Engine
from kneebench.databases.engines.postgres.address import connect
from kneebench.databases.several import engine_of
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Configuration
from tests.loaded import BUILDS, Databases, data_of, databases, unwatched, url_of

CONFIGURATION = Configuration(id="there", storage="there")
WRONG_ITEM = "SELECT kneebench.new_order(1, 1, 1, '{1,100001}', '{1,1}', '{1,1}')"
GRANT = "GRANT SET ON PARAMETER log_min_messages TO me"


@pytest.fixture(scope="module", params=BUILDS)
def made(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Databases]:
    with databases(tmp_path_factory.mktemp("log"), request.param) as made:
        with (data_of(made.address) / "pg_hba.conf").open("a") as hba:
            hba.write("local all me trust\n")
        with connect(made.address) as session:
            session.execute("CREATE ROLE me LOGIN CREATEDB; GRANT pg_monitor, pg_checkpoint TO me")
            session.execute("SELECT pg_reload_conf()")
        yield made


@pytest.fixture(scope="module")
def engine(made: Databases, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    database = {"url": url_of(made.address, "me")}
    plan = Plan.model_validate(
        {
            "database": database,
            "workload": {"warehouses": 1},
            "ladder": {"users": (1, 8)},
            "storages": {"there": {}},
        }
    )
    return engine_of(Study(plan).databases, Journal(tmp_path_factory.mktemp("journal")))


def logged(made: Databases, engine: Engine) -> tuple[str, list[str]]:
    """What the server's log gains by a rollback by design and another error, and the notes of what
    is measured there.
    """
    log = data_of(made.address).parent / "server.log"
    before = log.stat().st_size
    engine.prepare(unwatched)
    with engine.restored(CONFIGURATION, unwatched) as server:
        with connect(server.address) as session:
            for statement in (WRONG_ITEM, "SELECT 1 / 0"):
                with contextlib.suppress(psycopg.Error):
                    session.execute(statement.encode())
        assert server.transaction_counts()[1] == 2
        return log.read_text()[before:], list(server.notes)


def test_a_role_that_may_keeps_them_out_of_the_log_and_no_other_error(
    made: Databases, engine: Engine
) -> None:
    with connect(made.address) as session:
        session.execute(GRANT)
    text, notes = logged(made, engine)
    assert "division by zero" in text
    assert "item number" not in text
    assert [note for note in notes if "server's log" in note] == []
    assert [finding.do for finding in engine.findings() if "server's log" in finding.seen] == []
    with connect(made.address) as session:
        session.execute(GRANT.replace("GRANT", "REVOKE").replace(" TO ", " FROM "))


def test_where_the_role_may_not_check_and_notes_say_so_and_what_to_grant(
    made: Databases, engine: Engine
) -> None:
    text, notes = logged(made, engine)
    assert "item number is not valid" in text
    assert ["by design" in note for note in notes if "server's log" in note] == [True]
    assert [
        (finding.level, finding.do)
        for finding in engine.findings()
        if "server's log" in finding.seen
    ] == [("note", GRANT)]
