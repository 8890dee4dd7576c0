"""MariaDB by URL: what is found on a server of somebody else, and what its refusals say."""

# ruff: noqa: F811 (fixtures are imported, and arguments named after them)

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
from pymysql.connections import Connection
from pymysql.constants import COMMAND

from kneebench._core import GeneratorSpec, LoadGenerator
from kneebench.core_errors import ConnectError
from kneebench.databases.engine import core_address
from kneebench.databases.innodb.address import address_of
from kneebench.databases.innodb.copies import Copies
from kneebench.databases.innodb.error_hints import error_hint
from kneebench.databases.innodb.remote import RemoteInnodb
from kneebench.databases.innodb.server import InnodbServer
from kneebench.databases.innodb.session import InnodbSession, connect
from kneebench.databases.innodb.settings_in_force import values
from kneebench.databases.innodb.sql_schema import InnodbSchema
from kneebench.databases.innodb.versions import Product, require_product
from kneebench.databases.innodb.waits import InnodbWaits
from kneebench.databases.innodb.whereabouts import whereabouts
from kneebench.databases.several import engine_of
from kneebench.databases.tproc_c.tables import LARGEST_FIRST
from kneebench.errors import KneebenchError, PlanError, Refused
from kneebench.lab.programs import wait_until
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Configuration, Event, Finding
from tests.mariadb_elsewhere import (  # noqa: F401
    PASSWORD,
    WITHOUT_MARIADB,
    MariadbElsewhere,
    another_server,
    mariadb_elsewhere,
    no_mysql_password_around,
)

pytestmark = [pytest.mark.mariadb, WITHOUT_MARIADB]
ONE_USER = GeneratorSpec(
    users=1, warehouses=1, profile="spec", home="all", seed=1, stream=0, workers=1
)


def unwatched(event: Event) -> None:
    """Nobody looks."""


def found(there: MariadbElsewhere, plan: Plan) -> Sequence[Finding]:
    return engine_of(Study(plan).databases, there.journal).findings()


def faults(there: MariadbElsewhere, url: str) -> list[tuple[str, str, str]]:
    return [
        (one.level, one.seen, one.do)
        for one in found(there, there.plan(url))
        if one.level in ("error", "refused")
    ]


@pytest.fixture
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYSQL_PWD", PASSWORD)


@pytest.mark.usefixtures("password")
def test_a_server_of_another_with_all_rights_has_nothing_in_the_way(
    mariadb_elsewhere: MariadbElsewhere,
) -> None:
    before = mariadb_elsewhere.databases()
    first, *others = found(mariadb_elsewhere, mariadb_elsewhere.plan(mariadb_elsewhere.url()))
    assert (first.level, "restored by template; on this machine" in first.seen) == ("ok", True)
    assert [one for one in others if one.level in ("error", "refused")] == []
    assert mariadb_elsewhere.databases() == before


def test_a_directory_of_the_server_on_a_drive_that_is_not_watched_is_a_note(
    mariadb_elsewhere: MariadbElsewhere,
) -> None:
    with connect(mariadb_elsewhere.address) as session:
        given = values(session)
        assert whereabouts(session, given).notes == ()
        moved = {**given, "innodb_undo_directory": "/dev/shm", "log_bin_basename": "/dev/shm/log"}
        notes = whereabouts(session, moved).notes
    ends = "is on another drive (/dev/shm), which is not watched"
    assert notes == (f"log_bin_basename {ends}", f"innodb_undo_directory {ends}")


def test_the_password_is_read_from_an_option_file(
    mariadb_elsewhere: MariadbElsewhere, tmp_path: Path
) -> None:
    (tmp_path / ".my.cnf").write_text(f'[client]\npassword = "{PASSWORD}"\n!includedir /nowhere\n')
    assert faults(mariadb_elsewhere, mariadb_elsewhere.url()) == []
    another = tmp_path / "another.cnf"
    another.write_text("[client]\npassword=wrong\n")
    [(_, seen, do)] = faults(mariadb_elsewhere, mariadb_elsewhere.url(passfile=another))
    assert "Access denied for user 'tester'" in seen
    assert "set MYSQL_PWD" in do and PASSWORD not in seen


@pytest.mark.usefixtures("password")
def test_a_user_without_rights_is_told_what_to_grant(mariadb_elsewhere: MariadbElsewhere) -> None:
    given = faults(mariadb_elsewhere, mariadb_elsewhere.url(user="poor"))
    assert [do for _, _, do in given] == [
        r"GRANT ALL PRIVILEGES ON `kneebench\_%`.* TO 'poor'@'127.0.0.1'",
        "GRANT PROCESS ON *.* TO 'poor'@'127.0.0.1'",
    ]


@pytest.mark.usefixtures("password")
def test_a_certificate_that_nobody_trusts_and_a_missing_tls_are_told_apart(
    mariadb_elsewhere: MariadbElsewhere,
) -> None:
    [(_, seen, do)] = faults(mariadb_elsewhere, mariadb_elsewhere.url(sslrootcert="system"))
    assert "certificate" in seen and "sslrootcert in the URL" in do
    nowhere = mariadb_elsewhere.url(sslrootcert="/nowhere.pem")
    [(_, seen, do)] = faults(mariadb_elsewhere, nowhere)
    assert "No such file" in seen and "sslrootcert" in do
    assert faults(mariadb_elsewhere, mariadb_elsewhere.url(sslmode="require")) == []
    assert faults(mariadb_elsewhere, mariadb_elsewhere.url(sslmode="prefer")) == []


@pytest.mark.usefixtures("password")
def test_an_account_that_requires_tls_is_told_which_setting_adds_it(
    mariadb_elsewhere: MariadbElsewhere,
) -> None:
    plain = mariadb_elsewhere.url(sslmode="disable", sslrootcert="")
    [(_, seen, do)] = faults(mariadb_elsewhere, plain)
    assert seen.startswith("Access denied for user 'tester'")  # all that the server says of it
    assert seen.endswith("; the connection had no TLS, which the server offers")
    assert do.startswith("if the account requires TLS (REQUIRE SSL), set sslmode=require")
    with pytest.raises(ConnectError) as refused:
        LoadGenerator(ONE_USER, core_address(address_of(plain))).ready()
    assert refused.value.code == "1045"
    assert refused.value.message.endswith("; the connection had no TLS, which the server offers")
    assert error_hint(refused.value.code, refused.value.message, None) == do


def test_a_wrong_password_over_tls_is_not_taken_for_missing_tls(
    mariadb_elsewhere: MariadbElsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MYSQL_PWD", "wrong")
    url = mariadb_elsewhere.url(sslmode="require")
    [(_, seen, do)] = faults(mariadb_elsewhere, url)
    with pytest.raises(ConnectError) as refused:
        LoadGenerator(ONE_USER, core_address(address_of(url))).ready()
    assert all("TLS" not in words for words in (seen, do, refused.value.message))


@pytest.mark.usefixtures("password")
def test_a_server_that_cannot_be_loaded_says_why_and_what_to_set(
    mariadb_elsewhere: MariadbElsewhere,
) -> None:
    url = mariadb_elsewhere.url()
    with mariadb_elsewhere.with_setting("read_only", "1"):
        [(_, seen, do)] = faults(mariadb_elsewhere, url)
        assert "read-only" in seen and "SET GLOBAL read_only = OFF" in do
    with mariadb_elsewhere.with_setting("local_infile", "0"):
        [(_, seen, do)] = faults(mariadb_elsewhere, url)
        assert "LOAD DATA LOCAL" in seen and do == "SET GLOBAL local_infile = ON"


@pytest.mark.usefixtures("password")
def test_a_server_whose_replicas_would_repeat_the_load_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with another_server(tmp_path, log_bin="binlog", server_id="1") as there:
        url = there.url()
        assert faults(there, url) == []
        with there.with_setting("binlog_format", "'STATEMENT'"):
            [(_, seen, do)] = faults(there, url)
        assert "binlog_format is STATEMENT" in seen and do == "SET GLOBAL binlog_format = 'ROW'"
        replica = Connection(unix_socket=there.address.socket, user=there.address.user)
        replica.query("SET @master_binlog_checksum = @@GLOBAL.binlog_checksum")
        first, own_number = (4).to_bytes(4, "little"), (2).to_bytes(4, "little")
        dumped = first + bytes(2) + own_number + b"binlog.000001"
        replica._execute_command(COMMAND.COM_BINLOG_DUMP, dumped)
        replica._read_packet()  # type: ignore[no-untyped-call]
        [(_, seen, do)] = faults(there, url)
        assert "a replica is attached" in seen and "use a server without replicas" in do
        replica.close()


@pytest.mark.usefixtures("password")
def test_a_server_that_requires_primary_keys_is_named_with_what_to_set(
    mariadb_elsewhere: MariadbElsewhere,
) -> None:
    with mariadb_elsewhere.with_setting("innodb_force_primary_key", "1"):
        [(_, seen, do)] = faults(mariadb_elsewhere, mariadb_elsewhere.url())
    assert "innodb_force_primary_key is on" in seen and "= OFF" in do


@pytest.mark.usefixtures("password")
def test_too_few_connections_are_a_warning_with_the_number_that_fits(
    mariadb_elsewhere: MariadbElsewhere,
) -> None:
    with mariadb_elsewhere.with_setting("max_connections", "40"):
        plan = mariadb_elsewhere.plan(mariadb_elsewhere.url())
        [warning] = [one for one in found(mariadb_elsewhere, plan) if one.level == "warning"]
    assert "max_connections is 40" in warning.seen and "the plan needs up to 64" in warning.seen
    assert "raise max_connections" in warning.do


@pytest.mark.usefixtures("password")
def test_a_server_with_mounts_of_its_own_is_on_this_machine(
    mariadb_elsewhere: MariadbElsewhere,
) -> None:
    """As systemd starts it."""
    mariadb_elsewhere.kill("unshare", "--user", "--mount")
    try:
        namespaces = [
            Path(f"/proc/{who}/ns/mnt").readlink()
            for who in ("self", mariadb_elsewhere.process.pid)
        ]
        assert namespaces[0] != namespaces[1]
        first, *_ = found(mariadb_elsewhere, mariadb_elsewhere.plan(mariadb_elsewhere.url()))
        assert "restored by template; on this machine" in first.seen
    finally:
        mariadb_elsewhere.kill()


@pytest.mark.usefixtures("password")
def test_a_server_whose_process_this_account_may_not_see_is_not_said_to_be_elsewhere(
    mariadb_elsewhere: MariadbElsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(process: psutil.Process) -> str:
        raise psutil.AccessDenied(process.pid)

    monkeypatch.setattr(psutil.Process, "cwd", denied)
    first, *_ = found(mariadb_elsewhere, mariadb_elsewhere.plan(mariadb_elsewhere.url()))
    assert "run kneebench as root or as the server's account" in first.seen


@pytest.mark.usefixtures("password")
def test_transactions_are_not_counted_while_others_are_connected(
    mariadb_elsewhere: MariadbElsewhere,
) -> None:
    mariadb_elsewhere.execute("CREATE DATABASE kneebench_counted")
    address = address_of(mariadb_elsewhere.url("kneebench_counted"))
    server = InnodbServer(address, 1, 0.0)
    try:
        assert server.transaction_counts() is not None
        with connect(mariadb_elsewhere.address):
            assert server.transaction_counts() is None
        assert server.transaction_counts() is not None
    finally:
        server.close()
        mariadb_elsewhere.execute("DROP DATABASE kneebench_counted")


METADATA_LOCK = "waits.lock|Waiting for table metadata lock"
CONSUMER = "performance_schema.setup_consumers SET enabled = '{}' WHERE name = '{}'"


@pytest.mark.usefixtures("password")
def test_reads_that_the_performance_schema_does_not_show_are_a_warning_with_what_to_set(
    mariadb_elsewhere: MariadbElsewhere,
) -> None:
    plan = mariadb_elsewhere.plan(mariadb_elsewhere.url())
    on, off = (f"UPDATE {CONSUMER.format(to, 'events_waits_current')}" for to in ("YES", "NO"))
    mariadb_elsewhere.execute(off)
    try:
        [warning] = [one for one in found(mariadb_elsewhere, plan) if one.level == "warning"]
        with connect(mariadb_elsewhere.address, "mysql") as session:
            assert InnodbWaits(session, [session.id]).read()["waits.reads_unseen|database"] == 1.0
    finally:
        mariadb_elsewhere.execute(on)
    assert "does not record events_waits_current" in warning.seen
    assert warning.do == on
    poor = mariadb_elsewhere.plan(mariadb_elsewhere.url(user="poor"))
    [warning] = [one for one in found(mariadb_elsewhere, poor) if one.level == "warning"]
    assert warning.do == "GRANT SELECT ON performance_schema.* TO 'poor'@'127.0.0.1'"
    assert [one for one in found(mariadb_elsewhere, plan) if one.level == "warning"] == []


def test_a_wait_for_a_table_is_a_lock_although_the_performance_schema_records_all(
    mariadb_elsewhere: MariadbElsewhere,
) -> None:
    """It then shows waits that are no file's: the state of the session says what they are."""
    instruments = "UPDATE performance_schema.setup_instruments SET enabled = '{}' WHERE name "
    every = f"{instruments} LIKE 'wait/%'"
    recorded = mariadb_elsewhere.execute(
        "SELECT name FROM performance_schema.setup_instruments"
        " WHERE name LIKE 'wait/%' AND enabled = 'YES'"
    )
    names = ", ".join(f"'{name}'" for (name,) in recorded)
    mariadb_elsewhere.execute(
        every.format("YES"),
        "CREATE DATABASE kneebench_rows",
        "CREATE TABLE kneebench_rows.rows (x int PRIMARY KEY)",
        "INSERT INTO kneebench_rows.rows VALUES (1)",
    )
    address = mariadb_elsewhere.address.model_copy(update={"database": "kneebench_rows"})
    try:
        with connect(mariadb_elsewhere.address) as holder, connect(address) as waiting:
            holder.run("START TRANSACTION")
            holder.run("SELECT * FROM kneebench_rows.rows")
            thread = threading.Thread(target=waiting.run, args=("DROP TABLE kneebench_rows.rows",))
            thread.start()
            with connect(address) as asking:
                waits, expected = InnodbWaits(asking, [asking.id]), {METADATA_LOCK: 1.0}
                assert wait_until(lambda: waits.read().items() >= expected.items())
                seen = waits.read()
            holder.run("ROLLBACK")
            thread.join(20)
    finally:
        mariadb_elsewhere.execute(
            every.format("NO"),
            f"{instruments.format('YES')} IN ({names})",
            "DROP DATABASE kneebench_rows",
        )
    assert {name: count for name, count in seen.items() if count} == expected


@pytest.mark.usefixtures("password")
def test_a_server_that_is_not_there_or_of_the_other_product_is_named(
    mariadb_elsewhere: MariadbElsewhere,
) -> None:
    gone = mariadb_elsewhere.url().replace(str(mariadb_elsewhere.port), "1")
    [(_, seen, do)] = faults(mariadb_elsewhere, gone)
    assert "refused" in seen and "start the server" in do
    other = mariadb_elsewhere.url().replace("mariadb://", "mysql://")
    given = {"database": {"engine": "mysql", "url": other}, "storages": {"there": {}}}
    [finding] = found(mariadb_elsewhere, Plan.model_validate(given))
    assert "it is MariaDB 10." in finding.seen and 'database.engine = "mariadb"' in finding.do


def test_versions_that_are_too_old_are_refused() -> None:
    for product, version in ((Product.MARIADB, "10.5.1-MariaDB"), (Product.MYSQL, "5.7.44-log")):
        with pytest.raises(PlanError, match="is too old; use version"):
            require_product(product, version, "db:3306")
    require_product(Product.MARIADB, "5.5.5-10.11.19-MariaDB-log", "db:3306")
    require_product(Product.MYSQL, "8.0.36", "db:3306")


def test_what_a_url_may_not_hold_is_refused_with_what_it_may() -> None:
    with pytest.raises(PlanError, match="unsupported parameters: charset; use host, passfile"):
        address_of("mariadb://me@db/x?charset=utf8")
    with pytest.raises(PlanError, match="sslmode"):
        address_of("mariadb://me@db/x?sslmode=maybe")
    assert address_of("mariadb://me@db").port == 3306


@pytest.mark.usefixtures("password")
def test_a_database_that_is_not_ours_is_refused_and_nothing_of_it_is_dropped(
    mariadb_elsewhere: MariadbElsewhere,
) -> None:
    plan = mariadb_elsewhere.plan(mariadb_elsewhere.url("kneebench_theirs"), restore="none")
    mariadb_elsewhere.execute(
        "CREATE DATABASE kneebench_theirs", "CREATE TABLE kneebench_theirs.stock (s_i_id int)"
    )
    try:
        with pytest.raises(Refused, match="did not create: stock; use an empty database"):
            engine_of(Study(plan).databases, mariadb_elsewhere.journal).prepare(unwatched)
        assert mariadb_elsewhere.execute("SHOW TABLES IN kneebench_theirs") == [("stock",)]
    finally:
        mariadb_elsewhere.execute("DROP DATABASE kneebench_theirs")


@pytest.mark.usefixtures("password")
def test_the_base_image_has_the_version_of_the_server_without_what_old_replicas_are_told(
    mariadb_elsewhere: MariadbElsewhere,
) -> None:
    plan = Study(mariadb_elsewhere.plan(mariadb_elsewhere.url())).only_database
    engine = RemoteInnodb(plan, mariadb_elsewhere.journal)
    [(version,)] = mariadb_elsewhere.execute("SELECT VERSION()")
    recipe = engine.image_at(engine.address("there")).recipe
    assert version.startswith(f"{recipe.version}-MariaDB")


def test_a_url_of_mysql_names_mysql() -> None:
    database = {"engine": "mysql", "url": "mariadb://me@db/x"}
    with pytest.raises(ValueError, match="mysql://user@host"):
        Plan.model_validate({"database": database, "storages": {"here": {}}})


@pytest.mark.usefixtures("password")
def test_what_a_killed_run_left_on_the_server_is_named_and_dropped_by_the_next_one(
    mariadb_elsewhere: MariadbElsewhere,
) -> None:
    plan = mariadb_elsewhere.plan(mariadb_elsewhere.url())
    engine = RemoteInnodb(Study(plan).only_database, mariadb_elsewhere.journal)
    copies = engine.image_at(engine.address("there"))
    name = copies.work_database
    mariadb_elsewhere.execute(f"CREATE DATABASE {name}")  # as killed right after
    with connect(mariadb_elsewhere.address, name) as session:
        InnodbSchema(session).note({"state": "loading"})
    with copies.alone() as alone, pytest.raises(Refused, match="another kneebench run uses it"):
        assert alone.id
        with copies.alone():
            pass
    ending = contextlib.ExitStack()
    ending.enter_context(copies.alone())  # as the killed run, whose session ends later
    threading.Timer(0.5, ending.close).start()
    engine.prepare(unwatched)
    with engine.restored(Configuration(id="there", storage="there"), unwatched) as server:
        assert name in mariadb_elsewhere.databases()
        assert server.sum_next_order_ids() == 30010
    assert name not in mariadb_elsewhere.databases()
    assert mariadb_elsewhere.journal.leftovers() == []


@pytest.mark.usefixtures("password")
def test_a_database_with_the_name_of_ours_and_another_table_is_not_dropped(
    mariadb_elsewhere: MariadbElsewhere,
) -> None:
    plan = mariadb_elsewhere.plan(mariadb_elsewhere.url())
    engine = RemoteInnodb(Study(plan).only_database, mariadb_elsewhere.journal)
    name = engine.image_at(engine.address("there")).work_database
    mariadb_elsewhere.execute(f"CREATE DATABASE {name}", f"CREATE TABLE {name}.theirs (x int)")
    try:
        with (
            pytest.raises(Refused, match="it carries no kneebench mark"),
            engine.restored(Configuration(id="there", storage="there"), unwatched),
        ):
            pass
        assert mariadb_elsewhere.execute(f"SHOW TABLES IN {name}") == [("theirs",)]
    finally:
        mariadb_elsewhere.execute(f"DROP DATABASE {name}")


class Source(NamedTuple):
    """A database of somebody else with nine small tables, and its copies."""

    there: MariadbElsewhere
    copies: Copies

    def lock_drive(self, table: str) -> InnodbSession:
        """A session that keeps others from reading a table."""
        holder = connect(self.there.address)
        holder.run(f"LOCK TABLES kneebench_source.{table} WRITE")
        return holder


@pytest.fixture
def source(mariadb_elsewhere: MariadbElsewhere, password: None) -> Iterator[Source]:
    plan = mariadb_elsewhere.plan(mariadb_elsewhere.url())
    copies = RemoteInnodb(Study(plan).only_database, mariadb_elsewhere.journal)
    mariadb_elsewhere.execute("CREATE DATABASE kneebench_source")
    for table in LARGEST_FIRST:
        mariadb_elsewhere.execute(f"CREATE TABLE kneebench_source.{table} (x int)")
    own = copies.image_at(copies.address("there"))
    foreign = Copies(own.address, "kneebench_source", own.recipe, own.journal)
    yield Source(mariadb_elsewhere, foreign)
    mariadb_elsewhere.execute("DROP DATABASE kneebench_source")


def test_a_copy_that_fails_ends_its_other_statements_and_begins_no_more(source: Source) -> None:
    source.there.execute("DROP TABLE kneebench_source.order_line")
    with source.lock_drive("stock") as holder:
        late = threading.Timer(20, holder.close)
        late.start()
        began = time.monotonic()
        with pytest.raises(KneebenchError, match="order_line"), source.copies.work(unwatched):
            raise AssertionError
        late.cancel()
    assert time.monotonic() - began < 10
    assert source.copies.work_database not in source.there.databases()
    assert source.there.journal.leftovers() == []


def test_a_copy_that_somebody_uses_is_reported_and_not_waited_for(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kneebench.databases.innodb.copies.REMOVAL_LIMIT_S", 1.0)
    monkeypatch.setattr(InnodbSchema, "finish", lambda *given: {})
    events: list[Event] = []
    with connect(source.there.address) as user:
        late = threading.Timer(20, user.close)
        with source.copies.work(events.append) as address:
            user.run("START TRANSACTION")
            user.run(f"SELECT * FROM {address.database}.stock")
            late.start()
            began = time.monotonic()
        assert time.monotonic() - began < 10
        late.cancel()
    assert "Lock wait timeout" in str(events[-1])
    assert source.copies.work_database in source.there.databases()
    with source.copies.work(unwatched):
        pass
    assert source.copies.work_database not in source.there.databases()


@pytest.mark.usefixtures("password")
def test_a_command_of_the_plan_restores_the_urls_database(
    mariadb_elsewhere: MariadbElsewhere, tmp_path: Path
) -> None:
    """The command is a client of MariaDB's; the user's password is in its option file."""
    options = tmp_path / "options.cnf"
    options.write_text(f'[client]\npassword = "{PASSWORD}"\nssl-ca = {mariadb_elsewhere.root}\n')
    back = (
        f'mariadb --defaults-extra-file={options} --protocol=tcp -u "$MYSQL_USER"'
        ' -e "UPDATE district SET d_next_o_id = 3001" "$MYSQL_DATABASE"'
        f' && test -z "$MYSQL_PWD" && touch {tmp_path}/ran'
    )
    mariadb_elsewhere.execute("CREATE DATABASE kneebench_back")
    url = mariadb_elsewhere.url("kneebench_back")
    plan = mariadb_elsewhere.plan(url, restore="command", restore_command=back)
    engine, configuration = (
        engine_of(Study(plan).databases, mariadb_elsewhere.journal),
        Configuration(id="there", storage="there"),
    )
    try:
        assert engine.prepare(unwatched)["reused"] == "no"
        with connect(address_of(url)) as session:
            session.run("UPDATE district SET d_next_o_id = 5000")
        assert engine.prepare(unwatched)["reused"] == "yes"
        with engine.restored(configuration, unwatched) as server:
            assert server.sum_next_order_ids() == 30_010
        assert (tmp_path / "ran").exists()
        with connect(address_of(url)) as session:
            InnodbSchema(session).note({"warehouses": "7"})
        with (
            pytest.raises(PlanError, match="the command left another load: warehouses = 7"),
            engine.restored(configuration, unwatched),
        ):
            raise AssertionError
    finally:
        mariadb_elsewhere.execute("DROP DATABASE kneebench_back")
