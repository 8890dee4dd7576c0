"""A server by URL: a running PostgreSQL 15 with TLS and scram, which we neither start nor stop."""

# ruff: noqa: F811 (fixtures are imported, and arguments named after them)

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
from pydantic import SecretStr

from kneebench._core import GeneratorSpec, LoadGenerator, system_roots
from kneebench.core_errors import ConnectError
from kneebench.databases.engine import core_address
from kneebench.databases.engines.postgres.address import (
    address_of,
    answers,
    connect,
    explained,
    parameters,
)
from kneebench.databases.engines.postgres.remote import RemotePostgres
from kneebench.databases.engines.postgres.sql_schema import PostgresSchema
from kneebench.databases.several import engine_of
from kneebench.errors import KneebenchError, PlanError, Refused
from kneebench.lab.journal import Journal
from kneebench.lab.programs import wait_until
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Configuration, Event
from tests.elsewhere import (  # noqa: F401 (fixtures)
    PASSWORD,
    Elsewhere,
    await_answer,
    certify,
    databases,
    elsewhere,
    no_password_around,
)
from tests.loaded import WITHOUT_DEBIAN

pytestmark = [pytest.mark.postgres15, WITHOUT_DEBIAN]
CONFIGURATION = Configuration(id="there", storage="there")
ONE_USER = GeneratorSpec(
    users=1,
    warehouses=1,
    profile="spec",
    home="all",
    retries=1,
    seed=1,
    stream=1,
    drain_s=1.0,
    workers=1,
)


def unwatched(event: Event) -> None:
    """Nobody looks."""


@pytest.fixture
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)


@pytest.fixture(scope="module")
def other_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root certificate that did not sign the server's."""
    root, _, _ = certify(tmp_path_factory.mktemp("other"))
    return root


@pytest.mark.usefixtures("password")
def test_a_database_is_restored_from_a_template_over_tls_and_dropped_at_the_end(
    elsewhere: Elsewhere,
) -> None:
    engine = engine_of(Study(elsewhere.plan(elsewhere.url())).databases, elsewhere.journal)
    assert [finding for finding in engine.findings() if finding.level != "ok"] == []
    first = engine.prepare(unwatched)
    assert (first["warehouses"], first["reused"], first["restored_by"]) == ("1", "no", "template")
    assert engine.prepare(unwatched)["reused"] == "yes"
    for _ in range(2):
        with engine.restored(CONFIGURATION, unwatched) as server:
            assert server.sum_next_order_ids() == 30_010
            assert server.alive() == ""
            assert psutil.Process(server.processes()[0]).name() == "postgres"
            assert server.readings("log_writes")["log.flushes|database"] > 0
            server.checkpoint()
            with connect(server.address) as session:
                assert session.execute(
                    "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
                ).fetchone() == (True,)
                session.execute("UPDATE district SET d_next_o_id = 0")
            assert len(databases(elsewhere)) == 3
    assert len(databases(elsewhere)) == 2


@pytest.mark.usefixtures("password")
def test_virtual_users_come_in_over_tls_with_the_password(elsewhere: Elsewhere) -> None:
    engine = engine_of(Study(elsewhere.plan(elsewhere.url())).databases, elsewhere.journal)
    engine.prepare(unwatched)
    with engine.restored(CONFIGURATION, unwatched) as server:
        generator = server.load_generator(ONE_USER)
        generator.ready()
        generator.go()
        generator.tick()
        generator.stop()
        assert server.sum_next_order_ids() > 30_010


def test_the_password_comes_from_the_environment_a_passfile_or_the_url(
    elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "passfile"
    escaped = PASSWORD.replace(":", "\\:")
    file.write_text(f"# comment\nother:*:*:*:wrong\n*:{elsewhere.port}:*:tester:{escaped}\n")
    file.chmod(0o600)
    quoted = PASSWORD.replace(":", "%3A").replace("@", "%40")
    with_password = elsewhere.url(user=f"tester:{quoted}")
    connect(address_of(with_password)).close()
    connect(address_of(elsewhere.url(passfile=file))).close()
    monkeypatch.setenv("PGPASSFILE", str(file))
    connect(address_of(elsewhere.url())).close()
    monkeypatch.delenv("PGPASSFILE")
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    connect(address_of(elsewhere.url())).close()
    assert PASSWORD not in repr(address_of(with_password))


def test_our_sessions_go_where_the_url_says_with_no_settings_of_the_environment(
    elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    address = address_of(elsewhere.url())
    monkeypatch.setenv("PGOPTIONS", "-c synchronous_commit=off")
    monkeypatch.setenv("PGTARGETSESSIONATTRS", "standby")
    monkeypatch.setenv("PGHOSTADDR", "192.0.2.1")
    assert answers(address)
    with connect(address) as session:
        assert session.execute("SHOW synchronous_commit").fetchone() == ("on",)
    monkeypatch.setenv("PGSERVICE", "nosuch")
    with pytest.raises(PlanError, match="PGSERVICE"):
        answers(address)


def test_a_passfile_that_others_may_read_is_not_used(elsewhere: Elsewhere, tmp_path: Path) -> None:
    file = tmp_path / "passfile"
    file.write_text("*:*:*:*:secret\n")
    file.chmod(0o644)
    assert address_of(elsewhere.url(passfile=file)).password is None


def test_a_passfile_names_a_socket_by_its_directory_as_libpq_does(tmp_path: Path) -> None:
    file = tmp_path / "passfile"
    file.write_text("localhost:*:*:*:of-tcp\n/srv/sockets:*:*:*:of-the-socket\n")
    file.chmod(0o600)
    found = {
        folder: address_of(f"postgresql://me@/shop?host={folder}&passfile={file}").password
        for folder in ("/srv/sockets", "/srv/others")
    }
    assert found == {"/srv/sockets": SecretStr("of-the-socket"), "/srv/others": None}


def test_looking_for_a_password_opens_no_connection(tmp_path: Path) -> None:
    file = tmp_path / "passfile"
    file.write_text("*:*:*:*:word\n")
    file.chmod(0o600)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        url = f"postgresql://me@localhost:{server.getsockname()[1]}/shop?passfile={file}"
        assert address_of(url).password == SecretStr("word")
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_wrong_password_is_told_without_being_shown(
    elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "wrong-horse")
    engine = engine_of(Study(elsewhere.plan(elsewhere.url())).databases, elsewhere.journal)
    [finding] = [finding for finding in engine.findings() if finding.level == "error"]
    assert "password authentication failed" in finding.seen
    assert "PGPASSWORD" in finding.do
    with pytest.raises(PlanError) as raised:
        engine.prepare(unwatched)
    assert "wrong-horse" not in str(raised.value)


def test_no_password_and_no_server_and_no_such_host_each_say_what_to_do(
    elsewhere: Elsewhere,
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = free.getsockname()[1]
    cases = {
        elsewhere.url(): "PGPASSWORD",
        f"postgresql://tester@localhost:{nobody}/postgres": "start the server",
        "postgresql://tester@no-such-host.invalid/postgres": "correct host",
        "postgresql://tester@/postgres?host=/no/such/directory": "start the server",
    }
    for url, error_hint in cases.items():
        with pytest.raises(PlanError) as raised:
            connect(address_of(url))
        assert error_hint in raised.value.do, raised.value


@pytest.mark.usefixtures("password")
def test_a_certificate_of_another_and_a_name_that_it_does_not_hold_are_refused(
    elsewhere: Elsewhere, other_root: Path
) -> None:
    for url in (
        elsewhere.url(sslrootcert=other_root),
        elsewhere.url().replace("@localhost", "@127.0.0.1"),
    ):
        with pytest.raises(PlanError) as raised:
            connect(address_of(url))
        assert "sslmode" in raised.value.do


def test_a_url_that_we_cannot_use_says_which_part() -> None:
    for url, words in (
        ("postgresql://a@b/c?sslcert=x", "unsupported parameters: sslcert"),
        ("postgresql://a:hush@b:port/c", "port"),
        ("postgresql://a@b/c?sslmode=maybe", "sslmode"),
        ("http://a:hush@b/c", "the URL"),
    ):
        with pytest.raises(PlanError) as raised:
            address_of(url)
        assert words in str(raised.value)
        assert "hush" not in str(raised.value)


def test_a_role_without_the_rights_is_told_which_it_needs(
    elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    findings = engine_of(
        Study(elsewhere.plan(elsewhere.url(user="poor"))).databases, elsewhere.journal
    ).findings()
    assert {
        (finding.level, finding.do.split()[1])
        for finding in findings
        if finding.level != "ok" and "belongs to" not in finding.seen
    } == {("error", "CREATEDB,"), ("warning", "pg_monitor")}


def test_a_copy_of_files_cannot_be_asked_of_a_server_by_url(elsewhere: Elsewhere) -> None:
    for how in ("copy", "clone"):
        with pytest.raises(PlanError, match="needs the server's files"):
            engine_of(
                Study(elsewhere.plan(elsewhere.url(), restore=how)).databases, elsewhere.journal
            )


@pytest.mark.usefixtures("password")
def test_a_database_that_is_not_ours_is_never_dropped_whatever_its_name(
    elsewhere: Elsewhere,
) -> None:
    engine = engine_of(Study(elsewhere.plan(elsewhere.url())).databases, elsewhere.journal)
    engine.prepare(unwatched)
    with engine.restored(CONFIGURATION, unwatched) as server:
        work = server.address.database
    elsewhere.execute(f"CREATE DATABASE {work}")
    with (
        pytest.raises(Refused, match="carries no kneebench mark"),
        engine.restored(CONFIGURATION, unwatched),
    ):
        pass
    assert work in databases(elsewhere)
    elsewhere.execute(f"DROP DATABASE {work}")


@pytest.mark.usefixtures("password")
def test_a_work_database_that_a_killed_run_left_is_replaced(elsewhere: Elsewhere) -> None:
    engine = engine_of(Study(elsewhere.plan(elsewhere.url())).databases, elsewhere.journal)
    engine.prepare(unwatched)
    with engine.restored(CONFIGURATION, unwatched) as server:
        work = server.address.database
    elsewhere.execute(
        f"CREATE DATABASE {work} OWNER tester",
        f"COMMENT ON DATABASE {work} IS 'made by kneebench: a restored database'",
    )
    with engine.restored(CONFIGURATION, unwatched) as server:
        assert server.address.database == work
        assert server.sum_next_order_ids() == 30_010


@pytest.mark.usefixtures("password")
def test_a_work_database_that_another_run_uses_is_not_dropped(elsewhere: Elsewhere) -> None:
    elsewhere.execute("CREATE DATABASE beside OWNER tester")
    first, second = (
        engine_of(Study(elsewhere.plan(elsewhere.url(name))).databases, elsewhere.journal)
        for name in ("postgres", "beside")
    )
    first.prepare(unwatched)
    with first.restored(CONFIGURATION, unwatched) as server:
        for engine in (first, second):
            with (
                pytest.raises(Refused, match="another kneebench"),
                engine.restored(CONFIGURATION, unwatched),
            ):
                pass
            with pytest.raises(Refused, match="another kneebench"):
                engine.prepare(unwatched)
        assert server.sum_next_order_ids() == 30_010
    with second.restored(CONFIGURATION, unwatched) as server:
        assert server.sum_next_order_ids() == 30_010
    elsewhere.execute("DROP DATABASE beside")


@pytest.mark.usefixtures("password")
def test_what_the_server_refuses_is_told_in_its_words(elsewhere: Elsewhere) -> None:
    engine = engine_of(
        Study(elsewhere.plan(elsewhere.url(user="poor"), restore="none")).databases,
        elsewhere.journal,
    )
    assert [
        "GRANT CREATE" in finding.do for finding in engine.findings() if finding.level == "error"
    ] == [True]
    with pytest.raises(PlanError, match=r"permission denied.*grant the role"):
        engine.prepare(unwatched)


def users(plan: Plan, given: int | tuple[int, int], **workload: int) -> Plan:
    """The plan with other users in its ladder."""
    changed = plan.model_dump(exclude_unset=True)
    return Plan.model_validate(
        changed | {"ladder": {"users": given}, "workload": {**changed["workload"], **workload}}
    )


@pytest.mark.usefixtures("password")
def test_fewer_connections_than_the_ladder_has_users_are_found_before_it_climbs(
    elsewhere: Elsewhere,
) -> None:
    def found(given: int | tuple[int, int], **workload: int) -> list[tuple[str, str]]:
        findings = engine_of(
            Study(users(elsewhere.plan(elsewhere.url()), given, **workload)).databases,
            elsewhere.journal,
        ).findings()
        return [
            (finding.level, f"{finding.seen}; {finding.do}")
            for finding in findings
            if finding.level != "ok"
        ]

    in_use = "SELECT sum(numbackends)::int - 1 FROM pg_stat_database"
    assert wait_until(lambda: elsewhere.execute(in_use) == [(0,)]), "sessions that were closed end"
    assert found((0, 90)) == found((0, 512), connections=90) == []
    [(level, told)] = found((0, 512))
    assert level == "warning"
    assert (
        "max_connections is 100, 3 of them reserved, 0 in use: 92 users can connect, the plan needs"
        " up to 512" in told
    )
    assert "the plan needs 517 free" in told
    assert "workload.connections to 92" in told
    assert [level for level, _ in found(601)] == ["error"]
    elsewhere.execute("ALTER ROLE tester CONNECTION LIMIT 20")
    try:
        assert ["15 users can connect" in told for _, told in found((0, 90))] == [True]
        [(level, told)] = found(8)
        assert level == "warning", "the climb has enough, the fixed rate may want more"
        assert "needs up to 64" in told and "set ladder.fixed_rate_share to 0" in told
    finally:
        elsewhere.execute("ALTER ROLE tester CONNECTION LIMIT -1")


@pytest.mark.usefixtures("password")
def test_each_refusal_gets_the_advice_that_helps(elsewhere: Elsewhere) -> None:
    for url, error_hint in (
        (elsewhere.url(user="tester:wrong", sslmode="prefer", sslrootcert=""), "PGPASSWORD"),
        (elsewhere.url("absent"), "create the database"),
        (elsewhere.url(sslmode="disable", sslrootcert=""), "pg_hba.conf"),
    ):
        with pytest.raises(PlanError) as raised:
            connect(address_of(url))
        assert error_hint in raised.value.do, raised.value
    address = address_of(elsewhere.url())
    for statement, kind, error_hint in (
        (
            "CREATE DATABASE postgres",
            KneebenchError,
            f'psql "postgresql://tester@localhost:{elsewhere.port}/postgres?sslmode=verify-full',
        ),
        ("CREATE ROLE another", PlanError, "grant the role"),
        ("CREATE DATABASE theirs TEMPLATE absent", PlanError, "create the database"),
    ):
        with pytest.raises(kind) as told, explained("asking", address), connect(address) as session:
            session.execute(statement.encode())
        assert error_hint in told.value.do, told.value
        assert PASSWORD not in str(told.value)
    elsewhere.execute("ALTER ROLE tester CONNECTION LIMIT 0")
    try:
        with pytest.raises(PlanError, match="max_connections"):
            connect(address)
    finally:
        elsewhere.execute("ALTER ROLE tester CONNECTION LIMIT -1")


@pytest.mark.usefixtures("password")
def test_limits_of_the_server_on_sessions_do_not_end_ours(elsewhere: Elsewhere) -> None:
    timeouts = (
        "statement_timeout = '1s'",
        "idle_session_timeout = '1s'",
        "idle_in_transaction_session_timeout = '1s'",
    )
    engine = engine_of(Study(elsewhere.plan(elsewhere.url())).databases, elsewhere.journal)
    engine.prepare(unwatched)
    elsewhere.execute(*(f"ALTER ROLE tester SET {limit}" for limit in timeouts))
    try:
        with engine.restored(CONFIGURATION, unwatched) as server:
            time.sleep(1.3)
            with server.asking("sleeping") as session:
                session.execute("SELECT pg_sleep(1.3)")
        assert server.address.database not in databases(elsewhere)
    finally:
        elsewhere.execute("ALTER ROLE tester RESET ALL")


def test_without_a_root_certificate_libpq_gets_the_systems_file() -> None:
    roots = {
        mode: parameters(address_of(f"postgresql://a@b/c?sslmode={mode}")).get("sslrootcert")
        for mode in ("prefer", "require", "verify-full")
    }
    assert roots == {"prefer": None, "require": None, "verify-full": system_roots()}


@pytest.mark.usefixtures("password")
@pytest.mark.parametrize("sslmode", ["verify-ca", "verify-full"])
@pytest.mark.parametrize("named", ["", "system"])
def test_without_a_root_certificate_both_clients_trust_the_systems(
    elsewhere: Elsewhere,
    other_root: Path,
    sslmode: str,
    named: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = address_of(elsewhere.url(sslmode=sslmode, sslrootcert=named))
    for roots, refused in (
        (other_root, "certificate|CERTIFICATE"),
        (elsewhere.root, "statement|function|schema"),
    ):
        monkeypatch.setenv("SSL_CERT_FILE", str(roots))
        with pytest.raises(ConnectError, match=refused):
            LoadGenerator(ONE_USER, core_address(address)).ready()
    connect(address).close()
    monkeypatch.setenv("SSL_CERT_FILE", str(other_root))
    with pytest.raises(PlanError, match="certificate"):
        connect(address)


@pytest.fixture
def passfile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The password where a plan's command finds it."""
    (file := tmp_path / "passfile").write_text(f"*:*:*:*:{PASSWORD.replace(':', chr(92) + ':')}\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))


@pytest.mark.usefixtures("password", "passfile")
def test_a_command_of_the_plan_puts_the_database_back(elsewhere: Elsewhere, tmp_path: Path) -> None:
    elsewhere.execute("CREATE DATABASE theirs OWNER tester")
    url = elsewhere.url("theirs")
    back = (
        "psql -qc 'UPDATE district SET d_next_o_id = 3001' && test -z \"$PGPASSWORD\" && touch"
        f" {tmp_path}/ran"
    )
    engine = engine_of(
        Study(elsewhere.plan(url, restore="command", restore_command=back)).databases,
        elsewhere.journal,
    )
    engine.prepare(unwatched)
    with connect(address_of(url)) as session:
        session.execute("UPDATE district SET d_next_o_id = 5000")
    assert engine.prepare(unwatched)["reused"] == "yes"
    with engine.restored(CONFIGURATION, unwatched) as server:
        assert server.sum_next_order_ids() == 30_010
    assert (tmp_path / "ran").exists()
    with connect(address_of(url)) as session:
        PostgresSchema(session).note({"warehouses": "7"})
    with (
        pytest.raises(PlanError, match="the command left another load: warehouses = 7"),
        engine.restored(CONFIGURATION, unwatched),
    ):
        raise AssertionError
    with pytest.raises(Exception, match="exit code 3: no such snapshot"):
        broken = elsewhere.plan(
            url, restore="command", restore_command="echo no such snapshot >&2; exit 3"
        )
        with engine_of(Study(broken).databases, elsewhere.journal).restored(
            CONFIGURATION, unwatched
        ):
            pass
    elsewhere.execute("DROP DATABASE theirs WITH (FORCE)")


@pytest.mark.usefixtures("password", "passfile")
def test_the_documented_command_dumps_a_fresh_database_once_and_restores_it_from_then_on(
    elsewhere: Elsewhere, tmp_path: Path
) -> None:
    [script] = re.findall(r"```sh\n(.*?)```", Path("docs/server.md").read_text(), re.DOTALL)
    (command := tmp_path / "restore-bench").write_text(
        script.replace("/var/backups/bench.dump", f"{tmp_path}/dump").replace(
            "--format=custom", "--format=custom --compress=1"
        )
    )
    command.chmod(0o700)
    elsewhere.execute("CREATE DATABASE theirs OWNER tester")
    plan = elsewhere.plan(elsewhere.url("theirs"), restore="command", restore_command=str(command))
    engine = engine_of(Study(plan).databases, elsewhere.journal)
    try:
        engine.prepare(unwatched)
        for restored in (False, True):
            with engine.restored(CONFIGURATION, unwatched) as server:
                assert (tmp_path / "dump").stat().st_size > 1_000_000
                assert server.sum_next_order_ids() == 30_010
                if restored:
                    assert all(check.passed for check in server.conditions(unwatched))
            with connect(server.address) as session:
                session.execute("UPDATE district SET d_next_o_id = 5000")
    finally:
        elsewhere.execute("DROP DATABASE theirs WITH (FORCE)")


@pytest.mark.usefixtures("password")
def test_tables_of_another_are_neither_filled_nor_dropped(elsewhere: Elsewhere) -> None:
    elsewhere.execute("CREATE DATABASE shop OWNER tester")
    elsewhere.execute("CREATE TABLE orders (id int)", database="shop")
    engine = engine_of(
        Study(elsewhere.plan(elsewhere.url("shop"), restore="none")).databases, elsewhere.journal
    )
    with pytest.raises(Refused, match="did not create"):
        engine.prepare(unwatched)
    assert elsewhere.execute("SELECT count(*) FROM orders", database="shop") == [(0,)]
    elsewhere.execute("DROP DATABASE shop WITH (FORCE)")


PARTITIONED = """
ALTER TABLE order_line RENAME TO ol_before;
CREATE TABLE order_line (LIKE ol_before) PARTITION BY HASH (ol_w_id);
CREATE TABLE ol_0 PARTITION OF order_line FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE ol_1 PARTITION OF order_line FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO order_line SELECT * FROM ol_before;
DROP TABLE ol_before;
ALTER TABLE order_line
    ADD CONSTRAINT order_line_i1 PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number);
ANALYZE order_line"""
"""As HammerDB makes order_line of 200 warehouses and more."""


def replace_by_a_load(elsewhere: Elsewhere, database: str) -> None:
    """A copy of the base image in its place."""
    plan = elsewhere.plan(elsewhere.url())
    engine_of(Study(plan).databases, elsewhere.journal).prepare(unwatched)
    [(image,)] = elsewhere.execute("SELECT datname FROM pg_database WHERE datname LIKE '%_image_%'")
    made = f"CREATE DATABASE {database} OWNER tester TEMPLATE {image}"
    elsewhere.execute(f"DROP DATABASE {database}", made)


@pytest.mark.usefixtures("password")
def test_a_schema_of_hammerdb_is_used_as_it_stands(elsewhere: Elsewhere) -> None:
    """The tables of a load are HammerDB's; what marks them as ours is taken off, and the
    functions.
    """
    elsewhere.execute("CREATE DATABASE tpcc OWNER tester")
    url = elsewhere.url("tpcc")
    plan = elsewhere.plan(url, schema_from="hammerdb", restore="none")
    with pytest.raises(PlanError, match="no table order_line"):
        engine_of(Study(plan).databases, elsewhere.journal).prepare(unwatched)
    replace_by_a_load(elsewhere, "tpcc")
    with connect(address_of(url)) as session:
        session.execute("DROP SCHEMA kneebench CASCADE")
        session.execute(
            "UPDATE customer SET c_balance = c_balance + 1 WHERE c_w_id = 1 AND c_d_id = 1 AND"
            " c_id = 1"
        )  # as HammerDB's, conditions 10 and 12 fail
        session.execute(PARTITIONED)
    engine = engine_of(Study(plan).databases, elsewhere.journal)
    assert engine.prepare(unwatched)["schema_from"] == "hammerdb"
    with engine.restored(CONFIGURATION, unwatched) as server:
        assert server.address.database == "tpcc"
        assert any("not restored" in note for note in server.notes)
        scanned = {
            key.partition("|")[2]
            for key in server.readings("tables")
            if key.startswith("tables.sequential_scans|")
        }
        assert "order_line" in scanned
        assert not {"ol_0", "ol_1"} & scanned
        assert [check.sentence for check in server.conditions(unwatched) if not check.passed] == []
    with pytest.raises(PlanError, match="has 1 warehouse;"):
        engine_of(
            Study(
                plan.model_copy(
                    update={"workload": plan.workload.model_copy(update={"warehouses": 2})}
                )
            ).databases,
            elsewhere.journal,
        ).prepare(unwatched)
    elsewhere.execute("DROP DATABASE tpcc WITH (FORCE)")


@pytest.mark.usefixtures("password")
def test_a_work_database_that_a_killed_run_left_is_told_with_the_command_that_drops_it(
    elsewhere: Elsewhere, tmp_path: Path
) -> None:
    journal, told = Journal(tmp_path / "journal"), []
    plan = elsewhere.plan(elsewhere.url())
    engine_of(Study(plan).databases, journal).prepare(unwatched)
    work = left_by_a_killed_run(plan, tmp_path)
    assert journal.clean(lambda event: told.append(event.doing)) == []
    assert work in databases(elsewhere)
    [file] = journal.folder.glob("*.json")
    assert PASSWORD not in told[-1] + file.read_text()
    subprocess.run(
        ["sh", "-c", told[-1].partition("to remove it now: ")[2]], check=True, capture_output=True
    )
    assert work not in databases(elsewhere)
    assert journal.clean(unwatched) == journal.leftovers() == []


@pytest.mark.usefixtures("password")
def test_the_next_run_drops_the_work_database_of_a_killed_one_and_its_entry(
    elsewhere: Elsewhere, tmp_path: Path
) -> None:
    journal, plan = Journal(tmp_path / "journal"), elsewhere.plan(elsewhere.url())
    engine = engine_of(Study(plan).databases, journal)
    engine.prepare(unwatched)
    work = left_by_a_killed_run(plan, tmp_path)
    assert [work in entry.what for entry in journal.leftovers()] == [True]
    ending = contextlib.ExitStack()
    assert isinstance(engine, RemotePostgres)
    ending.enter_context(engine.image_at(engine.address("there")).alone())
    threading.Timer(0.5, ending.close).start()  # its session ends later
    with engine.restored(CONFIGURATION, unwatched):
        assert journal.leftovers() == []
    assert list(journal.folder.glob("*.json")) == []
    assert work not in databases(elsewhere)


def left_by_a_killed_run(plan: Plan, tmp_path: Path) -> str:
    """The work database of a process that ended in mid-climb without a word."""
    (tmp_path / "plan.json").write_text(plan.model_dump_json(exclude_unset=True))
    done = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path / "plan.json", tmp_path / "journal"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 9, done.stderr
    return done.stdout.strip()


KILLED = """
import os, sys
from pathlib import Path
from kneebench.databases.several import engine_of
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Configuration
plan = Plan.model_validate_json(Path(sys.argv[1]).read_text())
engine = engine_of(Study(plan).databases, Journal(Path(sys.argv[2])))
with engine.restored(Configuration(id="there", storage="there"), lambda event: None) as server:
    print(server.address.database, flush=True)
    os._exit(9)
"""


def test_nothing_of_a_server_by_url_stays_journalled(elsewhere: Elsewhere) -> None:
    assert [entry.what for entry in elsewhere.journal.leftovers()] == []
    assert os.environ.get("PGPASSWORD") is None
