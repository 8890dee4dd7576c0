"""Locks of somebody else's on the workload's tables: ours keep nobody waiting, and nobody waits for
theirs without a word.
"""

from __future__ import annotations

import contextlib
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

from kneebench.databases.engines.postgres.address import connect, parameters
from kneebench.databases.engines.postgres.server import PostgresServer
from kneebench.databases.server_sessions import Timeouts
from kneebench.errors import InvalidMeasurement
from kneebench.measurement import rung_runner
from kneebench.measurement.measure import measure
from kneebench.plan import Plan
from kneebench.records import Event, Order
from tests.loaded import Servers
from tests.only import rungs_of

PLAN = Plan.model_validate(
    {
        "meters": ["tables", "waits"],
        "workload": {"warehouses": 1, "load_generator_threads": 1},
        "ladder": {"window": "2s", "warm_up": "1s", "checkpoints": 0},
        "storages": {"disk": {"path": "."}},
    }
)
LONG = PLAN.model_copy(update={"ladder": PLAN.ladder.model_copy(update={"window": 600.0})})
SEARCH = Order(configuration="disk", phase="search", users=2)
WHO = (
    r"held by process \d+ \(application 'psql', idle in transaction for [\d.]+ m?s,"
    r" AccessExclusiveLock on public.district\); end those transactions"
)


@pytest.fixture(scope="module")
def server(servers: Servers) -> PostgresServer:
    """A real server with one warehouse."""
    return PostgresServer(servers(None).loaded(), 1, 0.0, timeouts=Timeouts(lock_s=0.5))


@contextlib.contextmanager
def lock_drive(server: PostgresServer, application: str = "psql") -> Iterator[None]:
    """A session of somebody else's has a table for itself alone."""
    with psycopg.connect(**parameters(server.address), application_name=application) as session:
        session.execute("SET lock_timeout = '10s'")
        session.execute("LOCK TABLE public.district IN ACCESS EXCLUSIVE MODE")
        yield
        session.rollback()


def locking(
    server: PostgresServer, stack: contextlib.ExitStack, left_s: float
) -> Callable[[Event], None]:
    """A watcher that has the table locked as soon as the window has at most so long left."""

    def watch(event: Event) -> None:
        measuring = event.kind == "progress" and event.doing.endswith("measuring")
        if measuring and (event.left_s or 0.0) <= left_s and not begun.is_set():
            begun.set()
            stack.enter_context(lock_drive(server))

    begun = threading.Event()
    return watch


def sessions_waiting(server: PostgresServer) -> int:
    with connect(server.address) as session:
        count = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        return (session.execute(count).fetchone() or (0,))[0]


def test_our_sessions_hold_no_lock_on_any_table_between_questions(server: PostgresServer) -> None:
    server.sum_next_order_ids()
    server.transaction_counts()
    server.checkpoint()
    for meter in server.measures:
        server.readings(meter)
    with connect(server.address) as session:
        held = (
            "SELECT relation::regclass FROM pg_locks WHERE locktype = 'relation' AND pid = ANY(%s)"
        )
        assert (
            session.execute(
                held, [[server._session.info.backend_pid, server._side.info.backend_pid]]
            ).fetchall()
            == []
        )
    with lock_drive(server):
        pass


def test_users_kept_waiting_by_the_lock_of_another_end_the_rung_and_the_words_say_who(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rung_runner, "STUCK_S", 1.0)
    with (
        contextlib.ExitStack() as stack,
        pytest.raises(
            InvalidMeasurement,
            match=r"measuring .*[12] users? waited up to [\d.]+ s for a lock " + WHO,
        ),
    ):
        try:
            measure(SEARCH, rungs_of(LONG), server, locking(server, stack, 600.0))
        finally:
            assert sessions_waiting(server) == 0, "nothing of ours happens once the lock is free"
    after = measure(SEARCH, rungs_of(PLAN), server, lambda event: None).rung
    assert after.tally.window.completed, "the next rung runs as ever"
    assert after.tally.lost_users == after.tally.whole.failed == 0


def test_users_kept_waiting_at_the_end_of_their_rung_end_it_too(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a slow machine the lock may come after the last user's response: then once more."""
    monkeypatch.setattr(rung_runner, "STUCK_S", 1.0)
    for _ in range(4):
        ended = ended_by_a_late_lock(server, monkeypatch)
        if not ended.startswith("cannot add up the orders"):
            break
    assert re.search(r"waiting for the last responses: .*" + WHO, ended)


def ended_by_a_late_lock(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(rung_runner, "EVERY_S", 1000)
    with contextlib.ExitStack() as stack, pytest.raises(InvalidMeasurement) as ended:
        watch = locking(server, stack, 1.5)

        def quicken(event: Event) -> None:
            monkeypatch.setattr(rung_runner, "EVERY_S", 1)
            watch(event)

        measure(SEARCH, rungs_of(PLAN), server, quicken)
    return str(ended.value)


def test_a_question_of_ours_waits_for_a_lock_no_longer_than_its_limit_and_says_who_has_it(
    server: PostgresServer,
) -> None:
    with lock_drive(server):
        with pytest.raises(
            InvalidMeasurement,
            match=r"cannot add up the orders: .*lock timeout.*process \d+ \(application 'psql'",
        ):
            server.sum_next_order_ids()
        with pytest.raises(
            InvalidMeasurement,
            match=r"cannot check the conditions: .*lock timeout.*process \d+ \(application 'psql'",
        ):
            server.conditions(lambda event: None)
    with lock_drive(server, "pgbench"), pytest.raises(InvalidMeasurement, match=r"'pgbench', idle"):
        server.sum_next_order_ids()
    assert server.sum_next_order_ids() >= 30_010


@contextlib.contextmanager
def waiting(server: PostgresServer, application: str, statement: str) -> Iterator[None]:
    """A session waits for a lock that the statement needs; it goes with the block."""
    session = psycopg.connect(**parameters(server.address), application_name=application)

    def run() -> None:
        with contextlib.suppress(psycopg.Error):
            session.execute(statement)

    thread, before = threading.Thread(target=run), sessions_waiting(server)
    thread.start()
    while sessions_waiting(server) == before:
        time.sleep(0.01)
    yield
    session.cancel()
    thread.join()
    session.close()


ROW = "UPDATE public.district SET d_name = d_name WHERE d_w_id = 1 AND d_id = 1"


def test_a_user_that_waits_for_another_user_is_the_workload_itself(server: PostgresServer) -> None:
    with psycopg.connect(**parameters(server.address), application_name="kneebench") as user:
        user.execute(ROW)
        with waiting(server, "kneebench", ROW):
            assert server.end_stuck(0.0) == ""
        user.rollback()


def test_a_request_for_a_table_that_waits_itself_is_told_with_whom_it_waits_for(
    server: PostgresServer,
) -> None:
    with psycopg.connect(**parameters(server.address), application_name="reader") as reader:
        reader.execute("SELECT count(*) FROM public.district")
        with (
            waiting(server, "ddl", "LOCK TABLE public.district IN ACCESS EXCLUSIVE MODE"),
            waiting(server, "kneebench", ROW),
        ):
            seen = server.end_stuck(0.0)
        reader.rollback()
    assert re.match(
        r"1 user waited up to [\d.]+ m?s for a lock held by process \d+ \(application '", seen
    )
    assert re.search(
        r"process (\d+) \(application 'reader', idle in transaction for .*, AccessShareLock on"
        r" public.district\)",
        seen,
    )
    assert re.search(
        r"application 'ddl', active for .*, waits for AccessExclusiveLock on public.district,"
        r" blocked by process \d+\)",
        seen,
    )
    assert "SELECT" not in seen


def test_ctrl_c_ends_a_rung_whose_users_wait_for_a_lock(server: PostgresServer) -> None:
    main = threading.main_thread().ident
    assert main is not None
    with contextlib.ExitStack() as stack, pytest.raises(KeyboardInterrupt):
        lock = locking(server, stack, 600.0)

        def watch(event: Event) -> None:
            lock(event)
            if "measuring" in event.doing:
                threading.Timer(0.5, lambda: signal.pthread_kill(main, signal.SIGINT)).start()

        measure(SEARCH, rungs_of(LONG), server, watch)
