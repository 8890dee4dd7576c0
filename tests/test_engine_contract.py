"""The engine contract: what every engine on the shelf must do, real servers and models alike.

Each engine is measured once, briefly; most tests judge what was seen then. The faults (conflicts, a
server that is full, one that is killed) each get a restored database of their own, and one test
keeps two databases up side by side, as short rounds do.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kneebench.databases.engine import Engine, Server
from kneebench.databases.engines.postgres.address import connect
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.databases.innodb.server_address import InnodbAddress
from kneebench.databases.innodb.session import connect as session
from kneebench.databases.several import engine_of
from kneebench.errors import DatabaseLost, InvalidMeasurement
from kneebench.lab.journal import Journal
from kneebench.measurement.measure import measure
from kneebench.measurement.quantities import READ
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Check, Configuration, Event, Finding, Order, Rung, Tally, Watch
from kneebench.shelf import ENGINES
from kneebench.workload import generator_spec
from tests import mysql_build, tds_server
from tests.elsewhere import PASSWORD, Elsewhere, elsewhere  # noqa: F401
from tests.loaded import BUILDS, DEBIAN, WITHOUT_DEBIAN, shared_images, url_of
from tests.mariadb_elsewhere import PASSWORD as MARIADB_PASSWORD
from tests.mariadb_elsewhere import (  # noqa: F401
    SMALL_LOG,
    WITHOUT_MARIADB,
    MariadbElsewhere,
    another_server,
    mariadb_elsewhere,
)
from tests.only import rungs_of
from tests.toy_shelf import put_on_the_shelf

CONFIGURATION, SECOND = (Configuration(id=name, storage=name) for name in ("here", "there"))
USERS, TOO_MANY_USERS = 4, 64
LADDER = {"users": (1, TOO_MANY_USERS), "warm_up": "1s", "window": "1s", "checkpoints": 0}
SHORT_ROUNDS = {**LADDER, "rounds": "short", "repeats": 4}
SLOW_FIRST_CALLS = {"warm_up": "8s", "window": "4s"}
"""Of each session on Babelfish, which compiles T-SQL again for it."""
LONGEST_S = 20
"""How long a busy machine may take to show one transaction of a kind."""


def unwatched(event: Event) -> None:
    """Nobody looks."""


class Subject(NamedTuple):
    """An engine under the contract, and how a test brings its faults about.

    `tables`: the tables of its plan, with those that make a fault happen ("conflicts", "full",
    "killed") where the plan does it. `second`: the table of a storage for a second database beside
    the first. `conflicts`: makes transactions of a running server conflict for the block.
    `full`: leaves it few connections for the block. `kill`: ends it under its users. `slow`: its
    restores take long, so what another subject of its engine shows too is for --long. `ladder`:
    keys that it needs other values of.
    """

    engine: str
    journal: Journal
    tables: Callable[[str], dict[str, Any]]
    second: dict[str, Any]
    conflicts: Callable[[Server], contextlib.AbstractContextManager[None]] = lambda server: (
        contextlib.nullcontext()
    )
    full: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext
    kill: Callable[[Server], None] = lambda server: None
    slow: bool = False
    ladder: Mapping[str, str] = {}

    def plan(self, fault: str = "") -> Plan:
        given = {
            "workload": {"warehouses": 1},
            "ladder": {**LADDER, **self.ladder},
            "meters": ["log_writes", "checkpoints", "tables", "waits"],
        }
        return Plan.model_validate({**given, **self.tables(fault)})

    def plan_of_two(self) -> Plan:
        """A plan with two storages, whose servers are up side by side."""
        one = self.plan().model_dump(exclude_unset=True)
        storages = {**one["storages"], SECOND.storage: self.second}
        ladder = {**SHORT_ROUNDS, **self.ladder}
        return Plan.model_validate({**one, "ladder": ladder, "storages": storages})

    def opened(self, fault: str = "") -> Engine:
        return engine_of(Study(self.plan(fault)).databases, self.journal)

    def measured(
        self, server: Server, users: int = USERS, fault: str = "", watch: Watch = unwatched
    ) -> Rung:
        return measured(server, self.plan(fault), users=users, watch=watch)


def measured(
    server: Server,
    plan: Plan,
    configuration: Configuration = CONFIGURATION,
    users: int = USERS,
    watch: Watch = unwatched,
) -> Rung:
    order = Order(configuration=configuration.id, phase="search", users=users)
    return measure(order, rungs_of(plan), server, watch).rung


# --- the engines on the shelf ---------------------------------------------------------------------

CONFLICTS = (
    (
        "CREATE FUNCTION public.conflict() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF random()"
        " < 0.05 THEN RAISE EXCEPTION 'a conflict' USING ERRCODE = '40001'; END IF; RETURN NEW;"
        " END $$"
    ),
    (
        "CREATE TRIGGER conflicts BEFORE UPDATE ON public.warehouse FOR EACH ROW EXECUTE FUNCTION"
        " public.conflict()"
    ),
)


@contextlib.contextmanager
def with_conflicts(server: Server) -> Iterator[None]:
    with connect(server.address) as connection:
        for statement in CONFLICTS:
            connection.execute(statement.encode())
    yield


def simulated(folder: Path) -> Subject:
    faults = {
        "conflicts": {"deadlocks": 0.05},
        "full": {"full_after_users": 8},
        "killed": {"dies_after": "1s"},
    }

    def tables(fault: str) -> dict[str, Any]:
        return {
            "database": {"engine": "simulated"},
            "storages": {"here": {"simulated": faults.get(fault, {})}},
        }

    return Subject("simulated", Journal(folder / "journal"), tables, {"simulated": {}})


def toy(folder: Path) -> Subject:
    faults = {"conflicts": {"conflicts": 0.05}, "full": {"users": 8}}

    def tables(fault: str) -> dict[str, Any]:
        return {
            "database": {"engine": "toy", "settings": faults.get(fault, {})},
            "storages": {"here": {}},
        }

    def kill(server: Server) -> None:
        server.dead = "it was killed"

    return Subject("toy", Journal(folder / "journal"), tables, {}, kill=kill)


def managed(folder: Path, bin_dir: Path | None) -> Subject:
    for name in ("disk", "second"):
        (folder / name).mkdir()

    def tables(fault: str) -> dict[str, Any]:
        settings = {"max_connections": 16} if fault == "full" else {}
        database = {"bin_dir": bin_dir, "base_image_path": shared_images(), "settings": settings}
        return {"database": database, "storages": {"here": {"path": folder / "disk"}}}

    def kill(server: Server) -> None:
        os.kill(server.processes()[0], signal.SIGKILL)

    journal, second = Journal(folder / "journal"), {"path": folder / "second"}
    return Subject("postgres", journal, tables, second, with_conflicts, kill=kill)


def by_url(there: Elsewhere, second: PostgresAddress) -> Subject:
    def tables(fault: str) -> dict[str, Any]:
        return {"database": {"url": there.url()}, "storages": {"here": {}}}

    @contextlib.contextmanager
    def full() -> Iterator[None]:
        there.execute("ALTER ROLE tester CONNECTION LIMIT 16")
        try:
            yield
        finally:
            there.execute("ALTER ROLE tester CONNECTION LIMIT -1")

    def kill(server: Server) -> None:
        [(pid,)] = there.execute(
            "SELECT pid FROM pg_stat_activity WHERE usename = 'tester' LIMIT 1"
        )
        os.kill(pid, signal.SIGKILL)

    another = {"url": url_of(second)}
    return Subject(
        "postgres", there.journal, tables, another, with_conflicts, full, kill, slow=True
    )


WITH_MARIADB_CONFLICTS = """
CREATE TRIGGER conflicts BEFORE UPDATE ON warehouse FOR EACH ROW IF rand() < 0.05 THEN
    SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'a conflict'; END IF"""


@contextlib.contextmanager
def with_mariadb_conflicts(address: InnodbAddress) -> Iterator[None]:
    with session(address) as asking:
        asking.run(WITH_MARIADB_CONFLICTS)
    yield


def own_mysql(folder: Path) -> Subject:
    small = {"innodb_redo_log_capacity": "64M"}
    return own_mariadb(folder, small, engine="mysql", bin_dir=mysql_build.BIN)


def own_mariadb(folder: Path, small: Mapping[str, str] = SMALL_LOG, **keys: object) -> Subject:
    for name in ("disk", "second"):
        (folder / name).mkdir()

    def tables(fault: str) -> dict[str, Any]:
        settings = {**small, **({"max_connections": 16} if fault == "full" else {})}
        own = {"base_image_path": shared_images(), "settings": settings}
        database = {"engine": "mariadb", **own, **keys}
        return {"database": database, "storages": {"here": {"path": folder / "disk"}}}

    def kill(server: Server) -> None:
        os.kill(server.processes()[0], signal.SIGKILL)

    def conflicts(server: Server) -> contextlib.AbstractContextManager[None]:
        return with_mariadb_conflicts(server.address)

    journal, second = Journal(folder / "journal"), {"path": folder / "second"}
    engine = str(keys.get("engine", "mariadb"))
    return Subject(engine, journal, tables, second, conflicts, kill=kill)


def mariadb_by_url(there: MariadbElsewhere, second: str) -> Subject:
    def tables(fault: str) -> dict[str, Any]:
        return {
            "database": {"engine": "mariadb", "url": there.url()},
            "storages": {"here": {}},
        }

    @contextlib.contextmanager
    def full() -> Iterator[None]:
        there.execute("ALTER USER tester@'127.0.0.1' WITH MAX_USER_CONNECTIONS 16")
        try:
            yield
        finally:
            there.execute("ALTER USER tester@'127.0.0.1' WITH MAX_USER_CONNECTIONS 0")

    def conflicts(server: Server) -> contextlib.AbstractContextManager[None]:
        in_it = there.address.model_copy(update={"database": server.address.database})
        return with_mariadb_conflicts(in_it)

    def kill(server: Server) -> None:
        there.kill()

    another = {"url": second}
    return Subject("mariadb", there.journal, tables, another, conflicts, full, kill, slow=True)


MARIADB = pytest.param("mariadb", marks=[pytest.mark.mariadb, WITHOUT_MARIADB])
MARIADB_BY_URL = pytest.param(
    "mariadb-url",
    id="mariadb-url-tls",
    marks=[pytest.mark.long, pytest.mark.mariadb, WITHOUT_MARIADB],
)


def over_tds(folder: Path) -> Subject:
    def tables(fault: str) -> dict[str, Any]:
        return {"database": tds_server.database(), "storages": {"here": {}}}

    @contextlib.contextmanager
    def full() -> Iterator[None]:
        pytest.skip("its connections cannot be limited from here")
        yield

    name = f"{tds_server.DATABASE}_second"
    second = {"url": tds_server.url(name, other_name=True)}
    return Subject(
        "sqlserver",
        Journal(folder / "journal"),
        tables,
        second,
        lambda server: tds_server.conflicts(server.address),
        full,
        lambda server: tds_server.end_all_sessions(server.address),
        ladder=SLOW_FIRST_CALLS,
    )


BY_URL = pytest.param(
    "url", id="url-15-tls", marks=[pytest.mark.long, pytest.mark.postgres15, WITHOUT_DEBIAN]
)
OVER_TDS = pytest.param("tds", marks=tds_server.WITHOUT_SERVER)


MYSQL = pytest.param("mysql", marks=[pytest.mark.mariadb, mysql_build.WITHOUT])
ON_THE_SHELF = ["simulated", "toy", *BUILDS, BY_URL, MARIADB, MARIADB_BY_URL, MYSQL, OVER_TDS]


@pytest.fixture(scope="module", params=ON_THE_SHELF)
def subject(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Subject]:
    folder = tmp_path_factory.mktemp("contract")
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "toy":
            put_on_the_shelf(folder / "shelf", patch)
        if request.param == "url":
            patch.setenv("PGPASSWORD", PASSWORD)
            patch.setenv("PGPASSFILE", str(folder / "none"))
            second = request.getfixturevalue("servers")(None).empty()
            yield by_url(request.getfixturevalue("elsewhere"), second)
        elif request.param == "mariadb-url":
            patch.setenv("MYSQL_PWD", MARIADB_PASSWORD)
            there = request.getfixturevalue("mariadb_elsewhere")
            with contextlib.ExitStack() as stack:
                second_url = ""
                if request.config.getoption("--long"):
                    other = another_server(tmp_path_factory.mktemp("second"))
                    second_url = stack.enter_context(other).url()
                yield mariadb_by_url(there, second_url)
        elif request.param == "tds":
            patch.setenv("SQLCMDPASSWORD", tds_server.password())
            subject = over_tds(folder)
            yield subject
            tds_server.drop_databases()
        elif request.param in (None, DEBIAN):
            yield managed(folder, request.param)
        else:
            made = {"simulated": simulated, "toy": toy, "mariadb": own_mariadb, "mysql": own_mysql}
            yield made[request.param](folder)


def test_the_contract_runs_over_every_engine_on_the_shelf() -> None:
    here = {"simulated", "postgres", "mariadb", "mysql", "sqlserver"}
    by_driver = {"odbc", "oracle", "db2"}  # one engine with dialects: tests/test_odbc.py
    assert here | by_driver == {*ENGINES.names()}


def test_the_toy_engine_has_fewer_than_300_lines() -> None:
    assert len((Path(__file__).parent / "toy_engine.py").read_text().splitlines()) < 300


# --- what is seen of one short measurement --------------------------------------------------------


class Seen(NamedTuple):
    """One measurement, with what was asked before and after it."""

    findings: Sequence[Finding]
    facts: Mapping[str, str]
    again: Mapping[str, str]
    first_order_ids: int
    counts: Sequence[tuple[int, int] | None]
    before: Mapping[str, Mapping[str, float]]
    after: Mapping[str, Mapping[str, float]]
    rung: Rung
    with_rollbacks: Tally
    conditions: Sequence[Check]
    cycle_s: float


@pytest.fixture(scope="module")
def seen(subject: Subject) -> Seen:
    engine = subject.opened()
    findings, facts, again = engine.findings(), engine.prepare(unwatched), engine.prepare(unwatched)
    with engine.restored(CONFIGURATION, unwatched) as server:
        order_ids, before = server.sum_next_order_ids(), read(server)
        counts = [server.transaction_counts()]
        rung = subject.measured(server)
        with_rollbacks = loaded(subject, server, lambda tally: tally.whole.rolled_back > 0)
        counts += [server.transaction_counts()]
        after, conditions = read(server), server.conditions(unwatched)
        cycle_s = Study(subject.plan()).only_database.engine.checkpoint_cycle_s(server.settings)
        assert server.alive() == ""
    judged = (rung, with_rollbacks, conditions, cycle_s)
    return Seen(findings, facts, again, order_ids, counts, before, after, *judged)


def read(server: Server) -> dict[str, dict[str, float]]:
    return {meter: server.readings(meter) for meter in server.measures}


def test_an_engine_that_is_installed_finds_nothing_in_its_way(seen: Seen) -> None:
    assert [finding for finding in seen.findings if finding.level in ("error", "refused")] == []
    assert seen.findings


def test_a_database_is_loaded_once_and_says_how_large_it_is(seen: Seen) -> None:
    assert seen.facts["warehouses"] == "1"
    assert {**seen.again, "reused": ""} == {**seen.facts, "reused": ""}
    assert seen.again.get("reused", "yes") == "yes"
    assert seen.first_order_ids > 0


def test_a_run_commits_orders_and_its_counts_agree(seen: Seen) -> None:
    assert seen.rung.tally.nopm > 0
    checks = {check.name: check for check in seen.rung.checks}
    counted = {"identity", "new_orders"}
    if seen.counts[0]:
        counted |= {"rollbacks", "tpm_nopm"}
    assert counted <= set(checks)
    assert [checks[name].sentence for name in counted if not checks[name].passed] == []


def test_some_new_orders_and_nothing_else_roll_back_by_design(seen: Seen) -> None:
    before, after = seen.counts
    if before:
        assert [now > then for then, now in zip(before, after or before, strict=True)] == [True] * 2
    tally = seen.with_rollbacks
    counts = {kind: one.whole.rolled_back for kind, one in tally.transactions.items()}
    assert counts.pop("new_order") > 0
    assert set(counts.values()) == {0}


def test_the_twelve_conditions_are_asked_and_hold_after_a_run(subject: Subject, seen: Seen) -> None:
    assert [check.sentence for check in seen.conditions if not check.passed] == []
    numbers = {int(check.name.removeprefix("condition ")) for check in seen.conditions}
    assert numbers == set(range(1, 13)) or (
        subject.engine == "simulated" and numbers < set(range(1, 13))
    )


def test_every_reading_is_a_known_quantity_and_no_counter_falls(seen: Seen) -> None:
    assert seen.after
    for meter, readings in seen.after.items():
        assert readings, meter
        for name, later in readings.items():
            quantity = READ[name.partition("|")[0]]
            assert quantity.kind == "gauge" or later >= seen.before[meter].get(name, 0.0), name
    commits, before, after = "database.commits|database", seen.before, seen.after
    if seen.counts[0] is None:
        assert commits not in after["log_writes"], "it does not count the workload's apart"
    else:
        assert after["log_writes"][commits] > before["log_writes"][commits]


def test_the_log_and_its_flushes_are_shared_out_by_the_users_transactions(seen: Seen) -> None:
    found = seen.rung.quantities
    completed = found["load.transactions"].value
    if "log.bytes" in found:
        each = found["log.bytes"].value / completed
        assert found["log.bytes_per_transaction"].value == pytest.approx(each)
    if "log.flushes" in found:
        commits = completed / found["log.flushes"].value
        assert found["log.commits_per_flush"].value == pytest.approx(commits)


def test_an_engine_has_a_name_for_people_and_a_checkpoint_cycle(
    subject: Subject, seen: Seen
) -> None:
    assert Study(subject.plan()).only_database.engine.label
    assert seen.cycle_s > 0


# --- two databases side by side -------------------------------------------------------------------


@pytest.fixture
def all_of_it(subject: Subject, request: pytest.FixtureRequest) -> None:
    """Skips the slow subjects without --long."""
    if subject.slow and not request.config.getoption("--long"):
        pytest.skip("takes long: make test-long")


def orders_commit(server: Server, plan: Plan, configuration: Configuration) -> bool:
    """Whether its one user commits an order; measured again where the machine was too busy."""
    return any(
        measured(server, plan, configuration, users=1).tally.nopm > 0 for _ in range(LONGEST_S)
    )


@pytest.mark.usefixtures("all_of_it")
def test_two_databases_side_by_side_are_measured_in_turn_and_apart(subject: Subject) -> None:
    plan = subject.plan_of_two()
    engine = engine_of(Study(plan).databases, subject.journal)
    assert [one for one in engine.findings() if one.level in ("error", "refused")] == []
    engine.prepare(unwatched)
    with engine.restored(CONFIGURATION, unwatched, 1) as first:
        with engine.restored(SECOND, unwatched, 1) as second:
            assert [first.alive(), second.alive()] == ["", ""]
            loaded_ids = first.sum_next_order_ids()
            assert orders_commit(second, plan, SECOND)
            assert first.sum_next_order_ids() == loaded_ids
            used_ids = second.sum_next_order_ids()
            assert orders_commit(first, plan, CONFIGURATION)
            assert second.sum_next_order_ids() == used_ids > loaded_ids
        assert first.alive() == ""
        assert first.sum_next_order_ids() > loaded_ids
        assert [check.sentence for check in first.conditions(unwatched) if not check.passed] == []


# --- faults ---------------------------------------------------------------------------------------


def loaded(
    subject: Subject, server: Server, enough: Callable[[Tally], bool], fault: str = ""
) -> Tally:
    """The tally of the first load, of one second, then two, then four, ... that shows enough."""
    seconds = 1
    while True:
        plan = subject.plan(fault)
        spec = generator_spec(
            plan.workload,
            plan.seed,
            Order(configuration=CONFIGURATION.id, phase="search", users=USERS, repeat=seconds),
        )
        generator = server.load_generator(spec)
        generator.ready()
        generator.go()
        generator.mark("window")
        for _ in range(seconds):
            generator.tick()
        generator.mark("cool_down")
        tally = Tally.model_validate(generator.stop())
        if enough(tally) or seconds > LONGEST_S:
            return tally
        seconds *= 2


@pytest.mark.usefixtures("all_of_it")
def test_a_conflict_is_retried_until_the_transaction_commits(subject: Subject) -> None:
    with subject.opened("conflicts").restored(CONFIGURATION, unwatched) as server:
        with subject.conflicts(server):
            tally = loaded(subject, server, lambda tally: bool(retries(tally)), "conflicts")
        assert [check.sentence for check in server.conditions(unwatched) if not check.passed] == []
    assert {
        Study(subject.plan()).only_database.engine.error_class(code) for code in retries(tally)
    } == {"retry"}
    assert tally.whole.failed == 0


def retries(tally: Tally) -> set[str]:
    return {code for one in tally.transactions.values() for code in one.retried}


def test_a_server_without_room_for_all_users_refuses_with_words_and_a_remedy(
    subject: Subject,
) -> None:
    with subject.opened("full").restored(CONFIGURATION, unwatched) as server, subject.full():
        with pytest.raises(InvalidMeasurement) as refused:
            subject.measured(server, TOO_MANY_USERS, "full")
        assert server.alive() == ""
    assert refused.value.seen
    assert refused.value.do


@pytest.mark.usefixtures("all_of_it")
def test_a_server_killed_under_load_is_lost_and_the_next_restore_is_whole(
    subject: Subject, seen: Seen
) -> None:
    with subject.opened("killed").restored(CONFIGURATION, unwatched) as server:
        killing = iter([subject.kill])

        def kill(event: Event) -> None:
            for kill in killing:
                kill(server)

        with pytest.raises(DatabaseLost) as lost:
            subject.measured(server, fault="killed", watch=kill)
        assert lost.value.seen
    with subject.opened().restored(CONFIGURATION, unwatched) as server:
        assert server.alive() == ""
        assert server.sum_next_order_ids() == seen.first_order_ids
        assert [check.sentence for check in server.conditions(unwatched) if not check.passed] == []
    assert subject.journal.leftovers() == []
