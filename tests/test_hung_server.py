"""A PostgreSQL that hangs: every process of it frozen, as with a drive that no longer answers."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import psutil
import pytest

from kneebench.databases.engines.postgres.address import answers, connect
from kneebench.databases.engines.postgres.server import PostgresServer
from kneebench.databases.managed.server_process import Process
from kneebench.databases.server_sessions import Timeouts
from kneebench.errors import DatabaseLost
from kneebench.measurement.measure import measure
from kneebench.plan import Plan
from kneebench.records import Event, Order, Rung
from tests.loaded import databases
from tests.only import rungs_of

PLAN = Plan.model_validate(
    {
        "meters": ["log_writes"],
        "workload": {"warehouses": 1, "load_generator_threads": 1},
        "ladder": {"window": "600s", "warm_up": "1s", "checkpoints": 0},
        "storages": {"disk": {"path": "."}},
    }
)
SHORT = Timeouts(reading_s=2.5, idle_s=3.0, whole_s=3.5)
"""Longer than a server of a busy machine waits for its turn."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A real server with one warehouse."""
    with databases(tmp_path_factory.mktemp("hung"), None) as made:
        address = made.loaded()
        with connect(address) as session:
            postmaster = psutil.Process(session.info.backend_pid).parent()
        assert postmaster
        yield PostgresServer(
            address, 1, 0.0, process=Process(lambda: _family(postmaster)), timeouts=SHORT
        )


def _family(postmaster: psutil.Process) -> list[int]:
    return [postmaster.pid, *(child.pid for child in postmaster.children())]


@contextlib.contextmanager
def frozen(server: PostgresServer) -> Iterator[None]:
    """No process of the server runs within; all go on after it."""
    pids = server.processes()
    try:
        _tell(pids, signal.SIGSTOP)
        yield
    finally:
        _tell(pids, signal.SIGCONT)


def _tell(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # a session that was just closed
            os.kill(pid, number)


def again(server: PostgresServer) -> PostgresServer:
    """New sessions to the same server."""
    return PostgresServer(server.address, 1, 0.0, process=Process(server.processes), timeouts=SHORT)


def test_a_server_that_hangs_is_lost_and_the_words_say_what_was_asked_and_for_how_long(
    server: PostgresServer,
) -> None:
    asked = again(server)
    with (
        frozen(server),
        pytest.raises(
            DatabaseLost,
            match=(
                r"cannot read log_writes: no response from the server within 2\.5 s; it accepts no"
                r" connections"
            ),
        ),
    ):
        asked.readings("log_writes")
    asked = again(server)
    with (
        frozen(server),
        pytest.raises(
            DatabaseLost, match=r"cannot add up the orders: no response from the server within 3 s"
        ),
    ):
        asked.sum_next_order_ids()
    with (
        frozen(server),
        pytest.raises(
            DatabaseLost,
            match=r"cannot run a checkpoint: no response from the server within 3\.5 s",
        ),
    ):
        asked.checkpoint()


def test_a_server_that_hangs_in_mid_rung_ends_the_rung(server: PostgresServer) -> None:
    measured, frozen_now = again(server), contextlib.ExitStack()

    def freeze(event: Event) -> None:
        if event.kind == "progress":
            frozen_now.enter_context(frozen(server))

    with (
        frozen_now,
        pytest.raises(
            DatabaseLost, match=r"cannot read log_writes: no response from the server within 2\.5 s"
        ),
    ):
        measure(
            Order(configuration="disk", phase="search", users=2), rungs_of(PLAN), measured, freeze
        )
    assert answers(server.address), "and it goes on once it is thawed"


def stalled(server: PostgresServer, stall: Callable[[], None]) -> Rung:
    """A rung of 12 s in which something happens to the server for 5 s."""
    ladder = {"window": "12s", "warm_up": "1s", "checkpoints": 0}
    short = Plan.model_validate(
        {**PLAN.model_dump(), "meters": ["log_writes", "waits"], "ladder": ladder}
    )
    with connect(server.address) as session:  # a rung waits for sessions that are not its own
        session.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    measured = PostgresServer(server.address, 1, 0.0, process=Process(server.processes))
    started = threading.Event()

    def watch(event: Event) -> None:
        if ": measuring" in event.doing and not started.is_set():
            started.set()
            threading.Thread(target=stall).start()

    order = Order(configuration="disk", phase="search", users=2)
    rung = measure(order, rungs_of(short), measured, watch).rung
    measured.close()
    return rung


def test_a_server_that_stands_still_makes_the_rung_invalid_where_it_shows_no_wait(
    server: PostgresServer,
) -> None:
    def freeze() -> None:
        with frozen(server):
            time.sleep(5)

    rung = stalled(server, freeze)
    assert "no user got a response for" in rung.invalid
    assert "the server did not answer the meters either" in rung.invalid


def test_a_stall_that_the_database_shows_is_named_with_its_length_and_stays_valid(
    server: PostgresServer,
) -> None:
    def lock() -> None:
        with connect(server.address) as session:
            session.execute("BEGIN; LOCK TABLE warehouse; SELECT pg_sleep(5.5); COMMIT")

    rung = stalled(server, lock)
    assert not rung.invalid
    (words,) = [one.words for one in rung.remarks if one.kind == "stall"]
    assert re.search(r"no user got a response for [4-6]\.?\d* s .*, most in row locks", words)


def test_ctrl_c_ends_the_wait_for_a_server_that_hangs(server: PostgresServer) -> None:
    patient = PostgresServer(server.address, 1, 0.0, timeouts=Timeouts(reading_s=3600.0))
    main = threading.main_thread().ident
    assert main is not None
    with frozen(server):
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            threading.Timer(0.5, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
            patient.readings("log_writes")
        assert time.monotonic() - began < 600, "not after the limit of an hour"
