"""What `check` says of a server by URL is what `run` finds: both go ahead, or both refuse, for the
same reason. One server for each product, whose state is changed and put back.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

import psycopg
import pytest
from pydantic import SecretStr

from kneebench._core import LoadGenerator
from kneebench.campaign.preflight import preflight_checks
from kneebench.core_errors import ConnectError
from kneebench.databases.engine import LOG_HISTOGRAM, Server, core_address
from kneebench.databases.engines.postgres.builds import find_build
from kneebench.databases.engines.postgres.engine import server_account
from kneebench.databases.engines.postgres.footprint import climb_bytes, data_bytes
from kneebench.databases.engines.postgres.launcher import SOCKET, Launch, make_cluster, program
from kneebench.databases.innodb import remote
from kneebench.databases.innodb.address import address_of
from kneebench.databases.innodb.error_hints import CERTIFY, error_hint
from kneebench.databases.innodb.server_address import InnodbAddress
from kneebench.databases.innodb.session import connect as mariadb_session
from kneebench.databases.managed.ownership import home
from kneebench.databases.managed.runtime import runtime_directory, socket_folder
from kneebench.databases.several import engine_of
from kneebench.errors import InvalidMeasurement, KneebenchError
from kneebench.lab.journal import Journal
from kneebench.lab.programs import wait_until
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Configuration, Event, Finding, Order
from kneebench.screen.tables import readiness
from kneebench.workload import generator_spec, running_load
from tests.loaded import DEBIAN, WITHOUT_DEBIAN
from tests.mariadb_elsewhere import PASSWORD, WITHOUT_MARIADB, another_server

CONFIGURATION = Configuration(id="there", storage="there")
MYSQL_URL = os.environ.get("KNEEBENCH_MYSQL_URL", "")
WITHOUT_MYSQL = pytest.mark.skipif(not MYSQL_URL, reason="KNEEBENCH_MYSQL_URL names no MySQL 8")
Words = Sequence[str]


def unwatched(event: Event) -> None:
    """Nobody looks."""


class There(Protocol):
    """A server that somebody else runs."""

    journal: Journal

    def plan(self, database: str = "", **more: Any) -> Plan: ...

    def execute(self, *statements: str, database: str = "") -> list[tuple[Any, ...]]: ...


class State(NamedTuple):
    """A state of a server. `refused`: what both say of it; empty where it can be measured. `seen`:
    what `check` says of it all the same. `held`: what lasts as long as the state.
    """

    change: Words = ()
    back: Words = ()
    refused: str = ""
    seen: str = ""
    database: str = ""
    plan: Mapping[str, Any] = {}
    held: Callable[[Any], contextlib.AbstractContextManager[None]] = lambda there: (
        contextlib.nullcontext()
    )


def checked(there: There, plan: Plan) -> Sequence[Finding]:
    return engine_of(Study(plan).databases, there.journal).findings()


def run(there: There, plan: Plan) -> str:
    """Load, restore and put a short load on, whatever `check` says; why that failed."""
    engine = engine_of(Study(plan).databases, there.journal)
    try:
        engine.prepare(unwatched)
        with engine.restored(CONFIGURATION, unwatched) as server:
            loaded(server, plan)
    except KneebenchError as error:
        return str(error)
    return ""


def loaded(server: Server, plan: Plan) -> None:
    """Two users for a moment, of which nothing fails."""
    order = Order(configuration="there", phase="search", users=2)
    generator = server.load_generator(generator_spec(plan.workload, plan.seed, order))
    try:
        generator.ready()
    except ConnectError as error:
        do = server.connection_hint(error.code, error.message)
        raise KneebenchError("cannot connect", seen=error.message, do=do) from error
    with running_load(generator) as load:
        load.mark("window")
        time.sleep(0.4)
        load.mark("cool_down")
        tally = load.stop()
    assert tally.errors == () and tally.whole.completed > 0


def agree(there: There, state: State) -> None:
    """Both under this state, then put back; what is looked at first cannot change it."""
    there.execute(*state.change)
    try:
        with state.held(there):
            plan = there.plan(state.database, **state.plan)
            found = checked(there, plan)
            said = [f"{one.seen}; {one.do}" for one in found if one.level in ("error", "refused")]
            why = run(there, plan)
    finally:
        there.execute(*state.back)
    assert state.seen in " ".join(one.seen for one in found)
    if not state.refused:
        assert (said, why) == ([], "")
    for words in (" ".join(said), why):
        assert state.refused in words, (said, why)


# --- PostgreSQL -----------------------------------------------------------------------------------

ACCESS = """
local all kneebench trust
local replication kneebench trust
host all all 127.0.0.1/32 trust
"""
SETTINGS = """
listen_addresses = '127.0.0.1'
track_wal_io_timing = on
max_connections = 40
fsync = off
"""
ROLES = (
    "CREATE ROLE tester LOGIN CREATEDB",
    "CREATE ROLE another CREATEDB",
    "GRANT pg_monitor TO tester",
    "CREATE DATABASE mine OWNER tester",
    "CREATE DATABASE theirs OWNER tester",
)


class Postgres:
    """A PostgreSQL on a port of its own, which is started again in another state."""

    def __init__(self, launch: Launch, data: Path, port: int, journal: Journal) -> None:
        self.launch, self.data, self.port, self.journal = launch, data, port, journal
        self.start()

    def start(self) -> None:
        place = ("-D", self.data, "-k", socket_folder(self.launch.runtime), "-p", str(self.port))
        command, more = self.launch.command(
            program(self.launch, "postgres"), *map(str, place), reach=()
        )
        with (self.launch.runtime / "log").open("a") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, **more)
        assert wait_until(self._answers, 30)

    def _answers(self) -> bool:
        try:
            self.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)

    @property
    def socket(self) -> str:
        return f"host={socket_folder(self.launch.runtime)} port={self.port} user=kneebench"

    def execute(self, *statements: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        given = f"{self.socket} dbname={database} options='-c {READ_ONLY}=off'"
        with psycopg.connect(given, autocommit=True) as session:
            cursors = [session.execute(one.encode()) for one in statements]
            return cursors[-1].fetchall() if cursors and cursors[-1].description else []

    def plan(self, database: str = "", **more: Any) -> Plan:
        url = f"postgresql://tester@127.0.0.1:{self.port}/{database or 'postgres'}?sslmode=disable"
        return small_plan({"url": url, **more})


def small_plan(database: dict[str, Any]) -> Plan:
    ladder = {"users": (1, 4), "fixed_rate_share": 0}
    given = {"workload": {"warehouses": 1}, "ladder": ladder, "storages": {"there": {}}}
    return Plan.model_validate({"database": database, **given})


@contextlib.contextmanager
def attached_standby(there: Postgres) -> Iterator[None]:
    """A program that gets the log as a standby does, and that each commit waits for."""
    folder = there.launch.runtime / "received"
    folder.mkdir()
    receiver = str(there.launch.build.bin_dir / "pg_receivewal")
    command = [receiver, "--synchronous", "-D", str(folder), "-d", there.socket]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    attached = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
    wanted = "ALTER SYSTEM SET synchronous_standby_names = '*'"
    try:
        assert wait_until(lambda: there.execute(attached) == [(1,)], 20)
        there.execute(wanted, "SELECT pg_reload_conf()")
        sync = "SELECT sync_state FROM pg_stat_replication"
        assert wait_until(lambda: there.execute(sync) == [("sync",)], 20)
        yield
    finally:
        there.execute("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
        process.terminate()
        process.wait(20)
        shutil.rmtree(folder)


@contextlib.contextmanager
def hot_standby(there: Postgres) -> Iterator[None]:
    """The server in recovery: it answers, and waits for a log that never comes."""
    signal_file = there.data / "standby.signal"
    there.stop()
    signal_file.touch()
    there.start()
    try:
        yield
    finally:
        there.stop()
        signal_file.unlink()
        there.start()


@contextlib.contextmanager
def image_of_another(there: Postgres) -> Iterator[None]:
    engine_of(Study(there.plan()).databases, there.journal).prepare(unwatched)
    [(name,)] = there.execute("SELECT datname FROM pg_database WHERE datname LIKE '%_image_%'")
    there.execute(f"ALTER DATABASE {name} OWNER TO another")
    yield
    there.execute(f"ALTER DATABASE {name} OWNER TO tester")


@contextlib.contextmanager
def tables_of_another(there: There) -> Iterator[None]:
    there.execute("CREATE TABLE orders (id int)", database="theirs")
    yield
    there.execute("DROP TABLE orders", database="theirs")


READ_ONLY = "default_transaction_read_only"
ROLE_AT_ODDS = ("TimeZone = 'Asia/Kathmandu'", "default_transaction_isolation = 'serializable'")
POSTGRES_STATES = {
    "as it is": State(),
    "a serializable role in another time zone": State(
        [f"ALTER ROLE tester SET {one}" for one in ROLE_AT_ODDS],
        ["ALTER ROLE tester RESET ALL"],
    ),
    "a role that only reads": State(
        [f"ALTER ROLE tester SET {READ_ONLY} = on"],
        [f"ALTER ROLE tester RESET {READ_ONLY}"],
        refused="read-only",
    ),
    "a database that only reads": State(
        [f"ALTER DATABASE postgres SET {READ_ONLY} = on"],
        [f"ALTER DATABASE postgres RESET {READ_ONLY}"],
        refused="read-only",
    ),
    "a database with two connections": State(
        ["ALTER DATABASE mine CONNECTION LIMIT 2"],
        ["ALTER DATABASE mine CONNECTION LIMIT -1"],
        refused="CONNECTION LIMIT",
        database="mine",
        plan={"restore": "none"},
    ),
    "an image of another owner": State(refused="copy", held=image_of_another),
    "tables of another": State(
        refused="did not create: orders",
        database="theirs",
        plan={"restore": "none"},
        held=tables_of_another,
    ),
    "an attached standby": State(seen="as a synchronous standby", held=attached_standby),
    "a hot standby": State(refused="standby", held=hot_standby),
}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(None, id="embedded-18"),
        pytest.param(
            DEBIAN, id="debian-15", marks=[pytest.mark.postgres15, pytest.mark.long, WITHOUT_DEBIAN]
        ),
    ],
)
def postgres(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Postgres]:
    journal, account = Journal(tmp_path_factory.mktemp("postgres") / "journal"), server_account()
    with runtime_directory(journal, account, SOCKET) as runtime, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        data = home(runtime, "data", account)
        launch = Launch(find_build(request.param), account, runtime)
        make_cluster(launch, data, [])
        (data / "pg_hba.conf").write_text(ACCESS)
        with (data / "postgresql.conf").open("a") as file:
            file.write(SETTINGS)
        there = Postgres(launch, data, port, journal)
        try:
            there.execute(*ROLES)
            yield there
        finally:
            there.process.kill()
            there.process.wait(30)


@pytest.mark.parametrize("name", POSTGRES_STATES)
def test_check_and_run_agree_on_postgres(postgres: Postgres, name: str) -> None:
    agree(postgres, POSTGRES_STATES[name])


@pytest.mark.root
def test_a_tablespace_that_is_full_ends_a_run_as_the_exit_codes_say(postgres: Postgres) -> None:
    place = postgres.launch.runtime / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "kneebench-test", place]
    subprocess.run(mount, check=True)
    if account := postgres.launch.account:
        os.chown(place, *account.owner)
    made = f"CREATE TABLESPACE small LOCATION '{place}'"
    try:
        postgres.execute(made, "CREATE DATABASE full_one OWNER tester TABLESPACE small")
        full = r"(No space left on device|wrote only).*free disk space"
        with pytest.raises(InvalidMeasurement, match=full):
            plan = postgres.plan("full_one", restore="none")
            engine_of(Study(plan).databases, postgres.journal).prepare(unwatched)
        postgres.execute("DROP DATABASE full_one WITH (FORCE)", "DROP TABLESPACE small")
    finally:
        subprocess.run(["umount", place], check=True)


def test_what_stays_on_a_server_is_named_with_its_size_and_how_it_is_removed(
    postgres: Postgres,
) -> None:
    plan = postgres.plan()
    engine_of(Study(plan).databases, postgres.journal).prepare(unwatched)
    found = checked(postgres, plan)
    [image] = [one for one in found if one.subject.endswith(": base image")]
    [copy] = [one for one in found if one.writes_bytes]
    assert re.search(rf"kneebench_image_\w+ in {postgres.data}: 1\d\d MiB, reused, and", image.seen)
    assert image.keeps_bytes == 0 and copy.writes_bytes == climb_bytes(1)
    done = image.do.removeprefix("to remove it: ")
    client = f"{postgres.launch.build.bin_dir}/psql "
    subprocess.run(["sh", "-c", done.replace("psql ", client, 1)], check=True, capture_output=True)
    [image] = [one for one in checked(postgres, plan) if one.subject.endswith(": base image")]
    assert (image.keeps_bytes, "to be loaded, and kept" in image.seen) == (data_bytes(1), True)
    assert "writes up to 467 MiB per server, removed afterwards; keeps" in readiness(
        checked(postgres, plan)
    )


def test_settings_that_buy_speed_with_safety_are_warned_of(postgres: Postgres) -> None:
    """Those of the server, which runs without fsync, and of the role."""
    postgres.execute("ALTER ROLE tester SET synchronous_commit = off")
    found = checked(postgres, postgres.plan())
    postgres.execute("ALTER ROLE tester RESET synchronous_commit")
    warned = [one.seen.partition(":")[0] for one in found if one.level == "warning"]
    assert warned == ["fsync is off", "synchronous_commit is off"]


# --- MariaDB and MySQL ----------------------------------------------------------------------------

TESTER = "tester@'127.0.0.1'"
CREATE = (
    f"CREATE USER {TESTER} IDENTIFIED BY '{PASSWORD}'",
    rf"GRANT ALL PRIVILEGES ON `kneebench\_%`.* TO {TESTER}",
    f"GRANT PROCESS ON *.* TO {TESTER}",
    f"GRANT SELECT ON performance_schema.* TO {TESTER}",
    "SET GLOBAL local_infile = ON",
)
REMOVE = ("DROP DATABASE IF EXISTS kneebench_theirs", f"DROP USER IF EXISTS {TESTER}")
AT_ODDS = {
    "sql_mode": "'ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH'",
    "autocommit": "0",
    "completion_type": "'CHAIN'",
    "time_zone": "'+05:45'",
    "{isolation}": "'SERIALIZABLE'",
    "{reads_only}": "ON",
    "character_set_server": "utf16",
    "collation_connection": "latin1_swedish_ci",
    "character_set_client": "latin1",
    "sql_safe_updates": "1",
    "sql_select_limit": "1",
    "sql_quote_show_create": "0",
}
"""What a server may set for all new sessions."""


class Mysql:
    """A MariaDB or MySQL 8 that somebody else runs, by an account that may do all there."""

    def __init__(self, address: InnodbAddress, port: int, engine: str, journal: Journal) -> None:
        self.address, self.port, self.engine, self.journal = address, port, engine, journal
        self.execute(*REMOVE, *CREATE)
        with mariadb_session(self.address) as session:
            names = {str(name) for (name, _) in session.rows("SHOW GLOBAL VARIABLES")}
        self.names = {
            "isolation": "transaction_isolation"
            if "transaction_isolation" in names
            else "tx_isolation",
            "reads_only": "transaction_read_only"
            if "transaction_read_only" in names
            else "tx_read_only",
            "keys": "sql_require_primary_key"
            if "sql_require_primary_key" in names
            else "innodb_force_primary_key",
        }

    def execute(self, *statements: str, database: str = "") -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        with mariadb_session(self.address, f"kneebench_{database}" if database else "") as session:
            for one in statements:
                rows = session.rows(one)
        return rows

    def plan(self, database: str = "", **more: Any) -> Plan:
        name = f"kneebench_{database}" if database else ""
        mode = "disable" if self.engine == "mariadb" else "require"
        url = f"{self.engine}://tester@127.0.0.1:{self.port}/{name}?sslmode={mode}"
        return small_plan({"engine": self.engine, "url": url, **more})

    @contextlib.contextmanager
    def set_globally(self, **given: str) -> Iterator[None]:
        names = {name.format(**self.names): value for name, value in given.items()}
        with mariadb_session(self.address) as session:
            before = {name: session.value(f"SELECT @@GLOBAL.{name}") for name in names}
            try:
                for name, value in names.items():
                    session.run(f"SET GLOBAL {name} = {value}")
                yield
            finally:
                for name, value in before.items():
                    session.run(f"SET GLOBAL {name} = %s", value)


def globally(**given: str) -> Callable[[Mysql], contextlib.AbstractContextManager[None]]:
    return lambda there: there.set_globally(**given)


def with_database_of_another(there: Mysql) -> contextlib.AbstractContextManager[None]:
    return tables_of_another(there)


@contextlib.contextmanager
def image_without_mark(there: Mysql) -> Iterator[None]:
    """An image's name, and a table of somebody else in it."""
    found = "SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE '%_image_%'"
    [(name,)] = there.execute(found)
    there.execute(f"DROP DATABASE {name}", f"CREATE DATABASE {name}")
    there.execute(f"CREATE TABLE {name}.theirs (x int)")
    yield
    there.execute(f"DROP DATABASE {name}")


MYSQL_STATES = {
    "as it is": State(),
    "all settings of sessions at odds": State(held=globally(**AT_ODDS)),
    "read-only": State(held=globally(read_only="ON"), refused="read_only"),
    "no local files for what is loaded": State(held=globally(local_infile="OFF")),
    "no local files": State(
        ["CREATE DATABASE kneebench_theirs"],
        ["DROP DATABASE kneebench_theirs"],
        refused="SET GLOBAL local_infile",
        database="theirs",
        plan={"restore": "none"},
        held=globally(local_infile="OFF"),
    ),
    "primary keys required": State(refused="primary key", held=globally(**{"{keys}": "ON"})),
    "an account with two connections": State(
        [f"ALTER USER {TESTER} WITH MAX_USER_CONNECTIONS 2"],
        [f"ALTER USER {TESTER} WITH MAX_USER_CONNECTIONS 0"],
        refused="max_user_connections",
    ),
    "tables of another": State(
        ["CREATE DATABASE kneebench_theirs"],
        ["DROP DATABASE kneebench_theirs"],
        refused="did not create: orders",
        database="theirs",
        plan={"restore": "none"},
        held=with_database_of_another,
    ),
    "an image without a mark": State(refused="no kneebench mark", held=image_without_mark),
}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("mariadb", marks=[pytest.mark.mariadb, WITHOUT_MARIADB]),
        pytest.param("mysql", marks=WITHOUT_MYSQL),
    ],
)
def mysql(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mysql]:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "mysql":
        parts = urlsplit(MYSQL_URL)
        password = SecretStr(unquote(parts.password or ""))
        given = {"host": parts.hostname, "port": parts.port or 3306, "user": parts.username}
        address = InnodbAddress(**given, password=password, sslmode="require", client="mysql")
        there = Mysql(address, address.port, "mysql", Journal(folder / "journal"))
        yield there
        there.execute(*REMOVE)
        return
    with another_server(folder, ssl="OFF", debug_no_sync="ON") as own:
        yield Mysql(own.address, own.port, "mariadb", own.journal)


@pytest.fixture
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYSQL_PWD", PASSWORD)


@pytest.mark.usefixtures("password")
@pytest.mark.parametrize("name", MYSQL_STATES)
def test_check_and_run_agree_on_mariadb_and_mysql(mysql: Mysql, name: str) -> None:
    agree(mysql, MYSQL_STATES[name])


@pytest.mark.usefixtures("password")
def test_a_log_beside_the_data_is_said_to_have_no_histogram_before_the_run(
    mysql: Mysql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the server's default is; this one has a directory for its log."""
    plan = mysql.plan()
    engine = engine_of(Study(plan).databases, mysql.journal)
    assert [one for one in engine.findings() if one.subject.endswith(LOG_HISTOGRAM)] == []
    monkeypatch.setattr(
        remote, "log_directory", lambda settings: Path(settings["datadir"]).resolve()
    )
    every = preflight_checks(Study(plan), engine, mysql.journal)
    found = [one for one in every if one.subject.endswith(LOG_HISTOGRAM)]
    assert [one.level for one in found if "shares its directory" in one.seen] == ["note"]
    assert [one for one in found if one.level == "ok"] == []


@pytest.mark.long
@pytest.mark.usefixtures("password")
def test_each_setting_of_sessions_at_odds_alone_changes_nothing(mysql: Mysql) -> None:
    """On one restored database: those that users find in it, and those that `check` does."""
    plan = mysql.plan()
    engine = engine_of(Study(plan).databases, mysql.journal)
    engine.prepare(unwatched)
    before = [one.seen for one in engine.findings() if one.level != "ok"]
    with engine.restored(CONFIGURATION, unwatched) as server:
        for name, value in AT_ODDS.items():
            with mysql.set_globally(**{name: value}):
                assert [one.seen for one in engine.findings() if one.level != "ok"] == before, name
                loaded(server, plan)


@pytest.mark.usefixtures("password")
def test_an_account_that_requires_tls_of_a_server_without_a_certificate_is_told_both_ways_out(
    mysql: Mysql,
) -> None:
    if mysql.engine == "mysql":
        pytest.skip("MySQL 8 makes its own certificate")
    mysql.execute(f"ALTER USER {TESTER} REQUIRE SSL")
    try:
        plan = mysql.plan()
        [error] = [one for one in checked(mysql, plan) if one.level == "error"]
        with pytest.raises(ConnectError) as refused:
            spec = generator_spec(
                plan.workload, plan.seed, Order(configuration="there", users=1, phase="search")
            )
            LoadGenerator(spec, core_address(address_of(plan.database.url))).ready()
        required = plan.database.url.replace("=disable", "=require")
        there = plan.model_copy(
            update={"database": plan.database.model_copy(update={"url": required})}
        )
        [none] = [one for one in checked(mysql, there) if one.level == "error"]
    finally:
        mysql.execute(f"ALTER USER {TESTER} REQUIRE NONE")
    assert error.seen.endswith("the connection had no TLS: the server has no certificate")
    assert CERTIFY in error.do
    assert error_hint(refused.value.code, refused.value.message, None) == error.do
    assert none.do.startswith("the server offers no TLS: give it a certificate")
