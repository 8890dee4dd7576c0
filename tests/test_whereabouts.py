"""Where a server by URL runs: metered as our own where it is on this machine, whatever its URL
says.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from kneebench.databases.engine import Engine
from kneebench.databases.engines.postgres.address import address_of, connect
from kneebench.databases.engines.postgres.whereabouts import whereabouts
from kneebench.databases.several import engine_of
from kneebench.lab.journal import Journal
from kneebench.measurement.measure import measure
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Configuration, Order
from tests.loaded import DEBIAN, WITHOUT_DEBIAN, Databases, data_of, databases, unwatched, url_of
from tests.only import rungs_of

NEEDS_ROOT = pytest.mark.skipif(
    os.getuid() != 0, reason="a server in namespaces of its own is made by root"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Databases]:
    with databases(tmp_path_factory.mktemp("where"), None) as made:
        yield made


def plan(url: str) -> Plan:
    ladder = {"users": (1, 8), "window": "2s", "warm_up": "1s", "checkpoints": 0}
    return Plan.model_validate(
        {
            "database": {"url": url},
            "workload": {"warehouses": 1, "load_generator_threads": 1},
            "ladder": ladder,
            "storages": {"there": {}},
        }
    )


@pytest.fixture(scope="module")
def engine(made: Databases, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(
        Study(plan(url_of(made.address))).databases, Journal(tmp_path_factory.mktemp("journal"))
    )


def test_a_server_on_this_machine_is_known_by_its_process_and_its_directory(
    made: Databases,
) -> None:
    with connect(made.address) as session:
        found = whereabouts(session)
        assert found.process == psutil.Process(session.info.backend_pid).ppid()
    assert found.here
    assert found.cores == tuple(sorted(os.sched_getaffinity(0)))
    assert found.paths == (data_of(made.address),)
    assert found.roles == ("data",)


def test_such_a_server_is_metered_as_our_own(made: Databases, engine: Engine) -> None:
    assert any(
        "on this machine" in finding.seen for finding in engine.findings() if finding.level == "ok"
    )
    assert len(engine.where(Configuration(id="there", storage="there")).cores) == len(
        os.sched_getaffinity(0)
    )
    engine.prepare(unwatched)
    with engine.restored(Configuration(id="there", storage="there"), unwatched) as server:
        rung = measure(
            Order(configuration="there", phase="search", users=2),
            rungs_of(plan(url_of(made.address))),
            server,
            unwatched,
        ).rung
    assert rung.quantities["processes.cpu"].sources["server"] > 0
    assert {
        "server.cpu_per_transaction",
        "database.busy",
        "database.others",
    } <= rung.quantities.keys()
    assert [
        note for note in rung.notes if "elsewhere" in note or "not on this machine" in note
    ] == []
    assert "device.writes" in rung.quantities or any(
        "no block device is known" in note or "memory-backed" in note for note in rung.notes
    )


@pytest.fixture
def contained(tmp_path: Path) -> Iterator[int]:
    """A server with processes and mounts of its own, as in a container whose port is forwarded to
    localhost: the port.
    """
    tmp_path.chmod(0o755)
    hidden, port = Path("/mnt"), 5997
    start = f"""
        mount -t tmpfs tmpfs {hidden} && mkdir {hidden}/data && chown postgres {hidden}/data
        runuser -u postgres -- {DEBIAN}/initdb -D {hidden}/data -U boss -A trust >{tmp_path}/initdb
        exec runuser -u postgres -- {DEBIAN}/postgres -D {hidden}/data \\
            -p {port} -k {hidden}/data -c listen_addresses=localhost"""
    command = [
        "unshare",
        "--pid",
        "--mount",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "sh",
        "-ec",
        start,
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield port
        finally:
            process.kill()


@NEEDS_ROOT
@WITHOUT_DEBIAN
@pytest.mark.root
@pytest.mark.postgres15
def test_a_localhost_that_leads_to_a_container_is_taken_for_elsewhere(contained: int) -> None:
    address, until = (
        address_of(f"postgresql://boss@localhost:{contained}/postgres?sslmode=disable"),
        time.monotonic() + 60,
    )
    while True:
        try:
            with psycopg.connect(f"host=localhost port={contained} user=boss dbname=postgres"):
                break
        except psycopg.OperationalError:
            assert time.monotonic() < until
            time.sleep(0.1)
    with connect(address) as session:
        found = whereabouts(session)
    assert not found.here
    assert "not on this machine (forwarded port or container)" in found.seen
    assert found.cores == found.paths == ()
