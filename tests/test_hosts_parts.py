"""What machines tell each other, and how: calls with plain data, the network between them, the
plan's table, the address where a server listens.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import psycopg
import pymysql
import pytest

from kneebench._core import Address, LoadGenerator
from kneebench.brief import drawing
from kneebench.brief.sections import load_hosts
from kneebench.brief.sections.load_hosts import MOST_DRAWN, topology
from kneebench.brief.view_model import ViewModel
from kneebench.campaign.machines.machine import DatabaseMachine
from kneebench.campaign.machines.opening import Users
from kneebench.campaign.machines.other_machine import PROGRAM as AGENT
from kneebench.campaign.machines.other_machine import OtherMachine
from kneebench.campaign.machines.remote import DatabaseHostLost
from kneebench.databases.engine import AdmitsUsers, ReachedByUsers
from kneebench.databases.managed.listening import USERS, free_port
from kneebench.databases.several import engine_of
from kneebench.errors import DatabaseLost, KneebenchError, PlanError, Refused
from kneebench.hosts.bandwidth import measured, sending
from kneebench.hosts.connection import Connection, here
from kneebench.hosts.interfaces import carried, line_rate, way_to
from kneebench.hosts.load_agent import with_certificates
from kneebench.hosts.load_hosts import PROGRAM
from kneebench.hosts.package import NOTHING, database_package
from kneebench.hosts.pipe import Pipe
from kneebench.hosts.typed_calls import (
    packed_error,
    packed_event,
    unpacked_error,
    unpacked_event,
)
from kneebench.lab.host import host
from kneebench.lab.journal import Journal
from kneebench.measurement.meters.meter import MeterContext
from kneebench.plan import Plan
from kneebench.plan.configurations import configurations
from kneebench.plan.hosts import DatabaseHost
from kneebench.plan.study import Study
from kneebench.records import Event, Finding, HostTally, Link, Order, Setting, unwatched
from kneebench.workload import generator_spec
from tests import mysql_build
from tests.loaded import DEBIAN, WITHOUT_DEBIAN, shared_images
from tests.mariadb_elsewhere import SMALL_LOG, WITHOUT_MARIADB
from tests.recordings import recorded
from tests.simulated_campaign import plan as simulated_plan


@contextlib.contextmanager
def other_machine(folder: Path) -> Iterator[OtherMachine]:
    """The agent of a database host in a process of this machine, which a pipe reaches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        connection = Connection("db", here(), AGENT, NOTHING)
    with connection:
        yield OtherMachine(connection)


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OtherMachine]:
    with other_machine(tmp_path_factory.mktemp("there")) as machine:
        yield machine


def test_what_is_done_on_a_database_host_gives_what_it_gives_here(there: OtherMachine) -> None:
    study = Study(simulated_plan())
    machine = cast(DatabaseMachine, there)
    assert machine.room().cores == DatabaseMachine().room().cores
    assert machine.interface("127.0.0.1") == DatabaseMachine().interface("127.0.0.1")
    assert machine.host([Path("/")], whole=False).kernel == host([Path("/")]).kernel
    own, events = DatabaseMachine().engine(study.databases), list[Event]()
    engine = machine.engine(study.databases)
    assert [*engine.findings()] == [*own.findings()]
    assert engine.prepare(events.append) == own.prepare(unwatched)
    first = study.configurations[0]
    assert engine.where(first) == own.where(first)
    with engine.restored(first, events.append, restore=1) as server:
        with own.restored(first, unwatched, restore=1) as same:
            assert [*server.settings] == [*same.settings]
            assert server.measures == same.measures
            assert server.paths == tuple(same.paths)
            assert server.sum_next_order_ids() == same.sum_next_order_ids()
            assert server.transaction_counts() == same.transaction_counts()
            assert [*server.conditions(events.append)] == [*same.conditions(unwatched)]
        assert any("restoring" in one.doing for one in events)
        assert server.alive() == ""
        with there.instruments.log_trace(server):
            context = MeterContext(server, server.paths)
            with closing(there.instruments.samples(["cores"], context, real=True)) as samples:
                assert samples.sample() == samples.last == 1
        assert samples.raw_series[0].at_s == sorted(samples.raw_series[0].at_s)
    engine.close()
    engine.close()  # nothing was kept


def test_an_engine_of_a_database_host_can_what_it_can_there(
    there: OtherMachine, tmp_path: Path
) -> None:
    listens = there.engine(Study(listening(tmp_path, "postgres")).databases)
    assert isinstance(listens, AdmitsUsers)
    assert not isinstance(there.engine(Study(simulated_plan()).databases), AdmitsUsers)


def test_what_is_opened_there_ends_with_its_block(there: OtherMachine) -> None:
    with there.sending("127.0.0.1", 0) as port:
        assert measured("127.0.0.1", port)["bytes_per_s"] > 1e6
    with pytest.raises(OSError, match=r"refused|reset"):
        socket.create_connection(("127.0.0.1", port), 1)


def test_what_is_no_order_is_refused(there: OtherMachine) -> None:
    for name in ("__class__", "_kept", "journal", "absent"):
        with pytest.raises(RuntimeError, match="AttributeError"):
            there.line.order(name, there.number, {})
    with pytest.raises(RuntimeError, match="KeyError"):
        there.line.order("alive", 99, {})
    with pytest.raises(RuntimeError, match="ValidationError"):
        there.line.order("host", there.number, {"paths": [1.0], "whole": True})
    with pytest.raises(TypeError):
        there.interface()
    with pytest.raises(PlanError, match="nosuch"):
        there.drives((), ("nosuch",))


def test_a_start_that_took_long_is_no_silence_of_the_controller() -> None:
    read, write = os.pipe()
    pipe = Pipe(os.fdopen(read, "rb"), BytesIO())
    pipe.heard_at -= 60.0  # modules were imported meanwhile
    began = time.monotonic()
    pipe.await_silence(0.3)
    assert time.monotonic() - began >= 0.3
    os.close(write)
    pipe.await_silence(60.0)


def test_a_database_host_that_is_lost_is_lost_for_every_order(tmp_path: Path) -> None:
    with other_machine(tmp_path) as machine:
        engine = machine.engine(Study(simulated_plan()).databases)
        os.kill(machine.connection.facts["pid"], signal.SIGKILL)
        for _ in range(2):
            with pytest.raises(DatabaseHostLost, match="database host db was lost"):
                machine.room()
        with pytest.raises(DatabaseHostLost):
            engine.findings()
        engine.close()


@pytest.mark.parametrize("kind", [KneebenchError, PlanError, Refused, DatabaseLost])
def test_an_error_travels_with_its_parts(kind: type[KneebenchError]) -> None:
    error = kind("cannot start", seen="no space", do="make some")
    error.also("look")
    found = unpacked_error(json.loads(json.dumps(packed_error(error))))
    assert type(found) is kind
    assert (str(found), getattr(found, "alone", "")) == (str(error), error.alone)


def test_other_errors_say_what_they_were_and_where() -> None:
    found = unpacked_error(packed_error(KeyError("five")))
    assert isinstance(found, RuntimeError)
    assert "KeyError" in str(found)
    assert "On the database host" in found.__notes__[0]
    assert isinstance(unpacked_error(packed_error(BrokenPipeError("gone"))), ConnectionError)


def test_an_event_keeps_the_records_in_its_data() -> None:
    settings = (Setting(name="scheduler", value="none", source="sysfs"),)
    written = Finding(level="ok", subject="drive", seen="written")
    data: dict[str, object] = {"settings": settings, "written": written, "rows": {"item": 3}}
    event = Event(kind="end", doing="setting up", share=1.0, data=data)
    assert unpacked_event(json.loads(json.dumps(packed_event(event)))) == event


def test_a_database_host_gets_what_its_engines_need_and_no_more() -> None:
    one, other = database_package(["psycopg"]), database_package(["pymysql"])
    assert one.name != other.name
    assert one.size_bytes > 10_000_000
    assert one.python is not None


def test_compiled_files_go_to_their_own_python_only() -> None:
    with pytest.raises(PlanError, match=r"it has Python 3\.\d+\.\d+, and kneebench here 3\.99"):
        Connection("db", here(), PROGRAM, NOTHING._replace(python=(3, 99)))


# --- the network ----------------------------------------------------------------------------------


def test_bytes_are_counted_and_the_port_is_closed_afterwards() -> None:
    with sending("127.0.0.1", 0) as port:
        found = measured("127.0.0.1", port)
    assert found["bytes_per_s"] > 1e6
    with pytest.raises(OSError, match=r"refused|reset"):
        socket.create_connection(("127.0.0.1", port), 1)


def test_the_way_to_an_address_is_the_most_specific_route(tmp_path: Path) -> None:
    routes = tmp_path / "route"
    routes.write_text(
        "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
        "eth0 00000000 010200C0 0003 0 0 0 00000000 0 0 0\n"
        "eth1 000200C0 00000000 0001 0 0 0 00FFFFFF 0 0 0\n"
    )
    assert way_to("192.0.2.9", routes) == "eth1"
    assert way_to("198.51.100.1", routes) == "eth0"
    assert way_to("192.0.2.9", tmp_path / "absent") == ""


def test_what_an_interface_has_carried_grows() -> None:
    before = carried("lo")
    with sending("127.0.0.1", 0) as port:
        measured("127.0.0.1", port)
    after = carried("lo")
    assert after["received"] > before["received"] + 1_000_000
    assert after["packets"] > before["packets"]
    assert carried("none0") == {}
    assert line_rate("lo") is None


def test_a_link_carries_its_line_rate_or_what_was_measured_where_that_is_less() -> None:
    link = Link(address="192.0.2.1", interface="eth0", line_bytes_per_s=100.0)
    assert link.carries == 100.0
    assert link.model_copy(update={"measured": {"a": 30.0, "b": 40.0}}).carries == 70.0
    unknown = Link(address="192.0.2.1", interface="eth0")
    assert unknown.carries is None


def test_the_link_of_this_machine_is_measured_where_users_are_elsewhere() -> None:
    assert Users(DatabaseHost(), None).link(DatabaseMachine()) is None
    link = Users(DatabaseHost(address="127.0.0.1"), None).link(DatabaseMachine())
    assert link is not None
    assert (link.interface, [*link.measured]) == ("lo", ["this machine"])
    with pytest.raises(KneebenchError, match="cannot listen"):
        Users(DatabaseHost(address="192.0.2.77"), None).link(DatabaseMachine())


# --- the brief ------------------------------------------------------------------------------------

LINK = Link(
    address="192.0.2.1",
    interface="eth0",
    line_bytes_per_s=1.25e9,
    measured={f"load{n}": 1e8 for n in range(9)},
)


def test_the_hosts_are_drawn_and_many_load_hosts_are_one_box() -> None:
    hosts = [
        HostTally(
            name=f"load{n}", users=8, cores=4, threads=4, new_orders=9, cpu_s=1.0, window_s=9.0
        )
        for n in range(9)
    ]
    host = recorded("plateau").campaign.host
    figure = topology("db1", host, LINK, hosts)
    text = drawing.svg(figure)
    assert all(word in text for word in ("db1", "load0", "4 more load hosts", "3.2 Gbit/s"))
    assert "load7" not in text
    assert len(figure.spec["layer"][0]["data"]["values"]) == MOST_DRAWN


def test_the_section_of_hosts_is_there_with_other_machines_only() -> None:
    results = recorded("plateau")
    assert load_hosts.section(ViewModel(results)) is None
    campaign = results.campaign.model_copy(update={"link": LINK})
    found = load_hosts.section(ViewModel(results.model_copy(update={"campaign": campaign})))
    assert found is not None
    assert found.tables[0].rows[0].cells[3:6] == ("eth0, 192.0.2.1", "10 Gbit/s", "7.2 Gbit/s")


# --- the plan, and a server that listens ----------------------------------------------------------


def plan_of(hosts: dict[str, Any], **database: Any) -> Plan:
    """A plan with this table."""
    storages = {"disk": {"path": "."}}
    return Plan.model_validate({"hosts": hosts, "database": database, "storages": storages})


@pytest.mark.parametrize(
    ("hosts", "database", "words"),
    [
        ({"database": {"address": "192.0.2.1"}}, {}, "needs users elsewhere"),
        ({"database": {"ssh": "root@db"}}, {}, "need hosts.database.address"),
        ({"load": [{"here": True}]}, {}, "need hosts.database.address"),
        ({"database": {"ssh": "-oProxyCommand=x", "address": "192.0.2.1"}}, {}, "does not begin"),
        ({"database": {"ssh": "db", "address": "db"}}, {}, "an IP address"),
        ({"database": {"ssh": "db", "address": "0.0.0.0"}}, {}, "an IP address"),
        ({"database": {"ssh": "db", "address": "192.0.2.1"}}, {"engine": "simulated"}, "by data"),
        (
            {"database": {"ssh": "db", "address": "192.0.2.1", "tls": False}},
            {"engine": "mysql"},
            "whose users log in by TLS",
        ),
    ],
)
def test_hosts_that_cannot_be_are_refused(
    hosts: dict[str, Any], database: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        plan_of(hosts, **database)


def test_a_port_is_free_or_the_next_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        if port < 65_000:
            assert port < free_port("127.0.0.1", port) < port + 64
    with pytest.raises(KneebenchError, match="cannot listen"):
        free_port("192.0.2.77")


def listening(tmp_path: Path, engine: str, **more: object) -> Plan:
    """A plan whose server listens here, for users elsewhere."""
    host = {"database": {"address": "127.0.0.1"}, "load": [{"here": True}]}
    storage = {"disk": {"path": str(tmp_path)}}
    return Plan.model_validate(
        {
            "hosts": host,
            "database": {
                "engine": engine,
                "base_image_path": str(shared_images()),
                **more,
            },
            "workload": {"warehouses": 1},
            "storages": storage,
        }
    )


@pytest.mark.parametrize(
    ("engine", "given"),
    [
        pytest.param("mariadb", {"settings": SMALL_LOG}, marks=WITHOUT_MARIADB),
        pytest.param("mysql", mysql_build.SMALL, marks=[pytest.mark.long, mysql_build.WITHOUT]),
    ],
)
def test_a_mariadb_or_mysql_listens_for_the_hosts_of_the_plan_only(
    engine: str, given: dict[str, Any], tmp_path: Path
) -> None:
    plan = listening(tmp_path, engine, **given)
    servers = engine_of(Study(plan).databases, Journal(tmp_path / "journal"))
    assert isinstance(servers, AdmitsUsers)
    for admitted in (["127.0.0.1"], ["192.0.2.9"]):
        servers.admit(admitted)
        with servers.restored(configurations(plan)[0], unwatched) as server:
            assert isinstance(server, ReachedByUsers)
            names = ("host", "port", "user", "password", "database")
            address: dict[str, Any] = {**server.users_address()}
            given = {name: address[name] for name in names}
            if admitted == ["192.0.2.9"]:
                with pytest.raises(pymysql.OperationalError, match="not allowed to connect"):
                    pymysql.connect(**given)
                continue
            unencrypted = (pymysql.OperationalError, RuntimeError)
            with pytest.raises(unencrypted, match=r"Access denied|caching_sha2_password"):
                pymysql.connect(**given, ssl_disabled=True)
            authority = tmp_path / "authority.pem"
            authority.write_text(str(address["sslrootcert"]))
            encrypted = pymysql.connect(**given, ssl_ca=str(authority), ssl_verify_cert=True)
            with encrypted as session, session.cursor() as cursor:
                cursor.execute("SELECT count(*) FROM warehouse")
                assert cursor.fetchone() == (1,)
                with pytest.raises(pymysql.OperationalError, match="DROP command denied"):
                    cursor.execute("DROP TABLE warehouse")
    servers.close()


@WITHOUT_DEBIAN
def test_a_server_whose_build_has_tls_lets_nobody_in_without_it(tmp_path: Path) -> None:
    plan = listening(tmp_path, "postgres", bin_dir=str(DEBIAN))
    study = Study(plan)
    engine = DatabaseMachine().engine(study.databases)
    (told,) = (
        one
        for one in DatabaseMachine().findings(study, engine, (), unwatched)
        if one.subject == "hosts.database.address"
    )
    assert "encrypted (TLS)" in told.seen
    engine = engine_of(study.databases, Journal(tmp_path / "journal"))
    assert isinstance(engine, AdmitsUsers)
    engine.admit(["127.0.0.1"])
    with engine.restored(study.configurations[0], unwatched) as server:
        assert isinstance(server, ReachedByUsers)
        address: dict[str, Any] = {**server.users_address()}
        given = {name: address[name] for name in ("host", "port", "user", "password")}
        given["dbname"] = address["database"]
        with pytest.raises(psycopg.OperationalError, match="no encryption"):
            psycopg.connect(**given, sslmode="disable")
        authority = tmp_path / "authority.pem"
        authority.write_text(address["sslrootcert"])
        whole = {"sslmode": address["sslmode"], "sslrootcert": str(authority)}
        with psycopg.connect(**given, **whole) as session:
            assert session.pgconn.ssl_in_use
        generator = LoadGenerator(
            generator_spec(plan.workload, 1, Order(configuration="a", phase="search", users=2)),
            Address(**{**address, "sslrootcert": str(authority)}),
        )
        generator.ready()
    engine.close()


def test_certificates_for_users_are_a_file_that_ends_with_its_process() -> None:
    with with_certificates({"host": "db"}, "-----BEGIN") as address:
        file = Path(address["sslrootcert"])
        assert file.read_text() == "-----BEGIN"
        assert file.is_relative_to("/proc"), "a killed agent would leave it in a folder"
    assert not file.exists()


def test_a_server_listens_for_the_hosts_of_the_plan_only(tmp_path: Path) -> None:
    plan = listening(tmp_path, "postgres")
    engine = engine_of(Study(plan).databases, Journal(tmp_path / "journal"))
    assert isinstance(engine, AdmitsUsers)
    for admitted in (["127.0.0.1"], ["192.0.2.9"]):
        engine.admit(admitted)
        with engine.restored(configurations(plan)[0], unwatched) as server:
            assert isinstance(server, ReachedByUsers)
            assert not {one.name for one in server.settings} & {"port", "hba_file"}
            address = server.users_address()
            given = {
                "host": address["host"],
                "port": address["port"],
                "user": address["user"],
                "dbname": address["database"],
                "password": address["password"],
            }
            if admitted == ["192.0.2.9"]:
                with pytest.raises(psycopg.OperationalError, match=r"no pg_hba\.conf entry"):
                    psycopg.connect(**given)
                continue
            with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
                psycopg.connect(**{**given, "password": "guess"})
            with psycopg.connect(**given) as session:
                assert session.execute("SELECT count(*) FROM warehouse").fetchone() == (1,)
                row = session.execute(
                    "SELECT rolsuper, current_user FROM pg_roles WHERE rolname = current_user"
                ).fetchone()
                assert row == (False, USERS)
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    session.execute("DROP TABLE warehouse")
    engine.close()
