"""The work database on a server by URL, when that server or one of its sessions is killed: dropped,
or told with what removes it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from kneebench.databases.engine import Engine, Server
from kneebench.databases.engines.postgres.address import connect
from kneebench.databases.several import engine_of
from kneebench.errors import DatabaseLost
from kneebench.lab.journal import Journal
from kneebench.lab.processes import family, runs, started
from kneebench.lab.programs import wait_until
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Configuration, Event
from tests.loaded import Cluster, Databases, cluster, unwatched, url_of

CONFIGURATION = Configuration(id="there", storage="there")


class There(NamedTuple):
    """A server by URL, and an engine over it with a journal of its own."""

    made: Databases
    engine: Engine
    journal: Journal

    def databases(self) -> set[str]:
        with connect(self.made.address) as session:
            return {
                name
                for (name,) in session.execute(
                    "SELECT datname FROM pg_database WHERE datname LIKE 'kneebench_work_%'"
                )
            }

    def kill(self) -> None:
        """End the server's first process, and wait for the end of the others."""
        with connect(self.made.address) as session:
            postmaster = psutil.Process(session.info.backend_pid).parent()
        assert postmaster
        began = {pid: started(pid) for pid in family(postmaster.pid)}
        postmaster.kill()
        assert wait_until(lambda: not any(runs(pid, since) for pid, since in began.items()))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """What stays of the servers that tests kill: the first test's base image serves them all."""
    with cluster(tmp_path_factory.mktemp("cluster"), None) as kept:
        yield kept


@pytest.fixture
def there(kept: Cluster, tmp_path: Path) -> Iterator[There]:
    with kept.databases() as made:
        journal = Journal(tmp_path / "own-journal")
        given = {
            "database": {"url": url_of(made.address)},
            "workload": {"warehouses": 1},
            "ladder": {"users": (1, 8)},
            "storages": {"there": {}},
        }
        engine = engine_of(Study(Plan.model_validate(given)).databases, journal)
        engine.prepare(unwatched)
        yield There(made, engine, journal)


def asked_of(server: Server) -> None:
    """Until it fails, at most for a minute."""
    until_s = time.monotonic() + 60
    while time.monotonic() < until_s:
        server.sum_next_order_ids()


def test_a_killed_session_leaves_no_work_database_once_the_server_has_recovered(
    there: There,
) -> None:
    with (
        pytest.raises(DatabaseLost) as lost,
        there.engine.restored(CONFIGURATION, unwatched) as server,
    ):
        with connect(server.address) as session:
            os.kill(session.info.backend_pid, signal.SIGKILL)
        asked_of(server)
    assert there.databases() == set()
    assert there.journal.leftovers() == list(there.journal.folder.glob("*.json")) == []
    assert "removed" not in str(lost.value)


def test_a_server_that_is_gone_is_told_with_the_work_database_that_stays_there_and_what_removes_it(
    there: There,
) -> None:
    with (
        pytest.raises(DatabaseLost) as lost,
        there.engine.restored(CONFIGURATION, unwatched) as server,
    ):
        name = server.address.database
        there.kill()
        asked_of(server)
    assert f"the database {name} on " in str(lost.value)
    assert "The next run of this plan removes it; to remove it now: psql " in str(lost.value)
    assert f"DROP DATABASE IF EXISTS {name} WITH (FORCE)" in str(lost.value)
    assert list(there.journal.folder.glob("*.json")) != []


def test_a_run_that_is_stopped_on_such_a_server_warns_of_it(there: There) -> None:
    told: list[Event] = []
    with contextlib.suppress(KeyboardInterrupt), there.engine.restored(CONFIGURATION, told.append):
        there.kill()
        raise KeyboardInterrupt
    assert ["could not be removed" in event.doing for event in told if event.kind == "warning"] == [
        True
    ]
