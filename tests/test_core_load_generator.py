"""The load generator against a real PostgreSQL 15 whose five functions are stand-ins: what is
tested is the load generator.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from kneebench._core import GeneratorSpec, LoadGenerator, merge_histograms
from kneebench.core_errors import ConnectError
from kneebench.lab.programs import wait_until
from kneebench.records import TRANSACTIONS, Tally, Tick
from tests import leftovers
from tests.stand_in import BIN, FUNCTIONS, Postgres

pytestmark = [
    pytest.mark.postgres15,
    pytest.mark.skipif(not BIN.exists(), reason="needs Debian's PostgreSQL 15"),
]

PAYMENT = """
CREATE OR REPLACE FUNCTION kneebench.payment(
    w int4, d int4, c_w int4, c_d int4, c int4, c_last text, amount_cents int4)
    RETURNS int4 LANGUAGE sql"""
DELIVERY = """
CREATE OR REPLACE FUNCTION kneebench.delivery(w int4, carrier int4)
    RETURNS int4 LANGUAGE plpgsql"""
"""Two of the stand-ins, to be replaced: their bodies follow."""
OUTCOMES = ("committed", "rolled_back", "failed", "unknown")
LONGEST_S = 60
"""Ticks until a slow machine has done what a test needs."""
SESSIONS = "FROM pg_stat_activity WHERE application_name = 'kneebench'"
TERMINATE = f"SELECT pg_terminate_backend(pid) FROM (SELECT pid {SESSIONS} LIMIT {{}}) those"


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    folder = Path(leftovers.folder("load"))
    folder.chmod(0o755)
    server = Postgres(folder)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


@pytest.fixture
def fresh(postgres: Postgres) -> Postgres:
    if subprocess.run(
        [BIN / "pg_ctl", "-D", postgres.data, "status"], capture_output=True, **postgres.account
    ).returncode:
        postgres.start()
    assert wait_until(lambda: is_free(postgres)), "it may be in recovery, or full"
    postgres.sql(TERMINATE.format("ALL"))
    assert wait_until(lambda: sessions(postgres) == 0), "those of the test before have ended"
    postgres.sql("SET client_min_messages = error;" + FUNCTIONS)
    return postgres


def completed(ticks: Iterable[Tick]) -> int:
    return sum(s.committed + s.rolled_back for tick in ticks for s in tick.seconds)


def ticked(
    generator: LoadGenerator, seconds: int, until: Callable[[list[Tick]], bool] = bool
) -> list[Tick]:
    """So many seconds, and more on a machine that is slow until it is so."""
    ticks = [Tick.model_validate(generator.tick()) for _ in range(seconds)]
    while not until(ticks) and len(ticks) < LONGEST_S:
        ticks.append(Tick.model_validate(generator.tick()))
    return ticks


def rung(
    generator: LoadGenerator,
    seconds: int = 2,
    midway: Callable[[], object] = lambda: None,
    least: int = 500,
    alive: int | None = None,
) -> tuple[Tally, list[Tick]]:
    """Ready, one second of warm-up, a window, stop. `least`: transactions that complete in the
    window; `alive`: users that there are at its end instead.
    """

    def enough(ticks: list[Tick]) -> bool:
        return completed(ticks) >= least if alive is None else ticks[-1].alive == alive

    generator.ready()
    generator.go()
    ticks = [Tick.model_validate(generator.tick())]
    generator.mark("window")
    midway()
    ticks += ticked(generator, seconds, enough)
    generator.mark("cool_down")
    return Tally.model_validate(generator.stop()), ticks


def sessions(postgres: Postgres) -> int:
    """Of load generators."""
    return int(postgres.sql(f"SELECT count(*) {SESSIONS}"))


def is_free(postgres: Postgres) -> bool:
    """Whether another connection can be had."""
    with contextlib.suppress(AssertionError):
        return postgres.sql("SELECT 1") == "1"
    return False


def resident_bytes() -> int:
    return psutil.Process().memory_info().rss


def adds_up(tally: Tally) -> bool:
    return all(
        t.whole.started
        == t.whole.committed + t.whole.rolled_back + t.whole.failed + t.whole.unknown
        for t in tally.transactions.values()
    )


def test_a_closed_loop_counts_exactly_what_the_server_did(fresh: Postgres) -> None:
    tally, _ = rung(fresh.load_generator(), least=2_000)
    orders = tally.transactions["new_order"].whole
    assert tuple(tally.transactions) and set(tally.transactions) == set(TRANSACTIONS)
    assert adds_up(tally) and tally.whole.failed == tally.whole.unknown == 0 and not tally.errors
    assert orders.committed == int(fresh.sql("SELECT count(*) FROM kneebench.orders"))
    assert tally.whole.started > 2_000
    assert orders.started / tally.whole.started == pytest.approx(0.45, abs=0.02)
    assert orders.rolled_back / orders.started == pytest.approx(0.01, abs=0.007)


def test_littles_law_holds_between_throughput_and_latency_with_the_load_generators_delay(
    fresh: Postgres,
) -> None:
    tally, ticks = rung(fresh.load_generator(users=8), seconds=3)
    assert tally.latency is not None and tally.delay is not None and tally.wait is None
    assert tally.edges_s is not None
    within_s = sum(one.n * one.mean_s for one in (tally.latency, tally.delay)) + tally.edges_s
    # of each thread one user may have been between two transactions while it stalled
    lost_s = tally.load_generator_threads * sum(tick.late_s for tick in ticks)
    users_s = tally.users * tally.window_s
    assert 0.98 * users_s - lost_s <= within_s <= 1.02 * users_s
    assert abs(tally.window.completed - tally.latency.n) <= tally.users
    each_s, at_most_s = (one / tally.latency.n for one in (within_s, within_s + lost_s))
    assert 0.95 * each_s <= tally.users / tally.throughput_per_s <= 1.05 * at_most_s
    assert tally.latency.p50_s <= tally.latency.p99_s <= tally.latency.p999_s <= tally.latency.max_s
    assert tally.latency.p999_low_s <= tally.latency.p999_s <= tally.latency.p999_high_s


def test_ticks_hold_every_second_once_and_add_up_to_the_tally(fresh: Postgres) -> None:
    generator = fresh.load_generator()
    generator.ready()
    generator.go()
    opened_s = generator.mark("window")
    ticks = ticked(generator, 3, lambda ticks: any(is_prompt(tick) for tick in ticks))
    closed_s = generator.mark("cool_down")
    assert all(tick.alive == 4 for tick in ticks)
    fresh.sql(TERMINATE.format("ALL"))
    ticks += ticked(generator, 1, lambda ticks: ticks[-1].alive == 0)
    ticks += ticked(generator, 1)
    tally = Tally.model_validate(generator.stop())
    seconds = [s for tick in ticks for s in tick.seconds]
    assert [s.at_s for s in seconds if s.transaction == "payment"] == [*range(len(seconds) // 5)]
    assert all(len(tick.seconds) % 5 == 0 for tick in ticks)
    assert any(is_prompt(tick) for tick in ticks) and not any(is_early(tick) for tick in ticks)
    for name, transaction in tally.transactions.items():
        ended = [s for s in seconds if s.transaction == name]
        counts = {kind: sum(getattr(s, kind) for s in ended) for kind in OUTCOMES}
        assert counts == transaction.whole.model_dump(include=set(OUTCOMES))
    inside = sum(s.committed + s.rolled_back for s in seconds if opened_s <= s.at_s < closed_s - 1)
    assert inside - tally.users <= tally.window.completed <= tally.whole.completed
    assert merge_histograms([s.histogram for s in ticks[1].seconds])["n"] == completed([ticks[1]])


def is_early(tick: Tick) -> bool:
    return tick.now_s < tick.seconds[-1].at_s + 1


def is_prompt(tick: Tick) -> bool:
    """It has one second, and came before half of the next one was over."""
    return len(tick.seconds) == 5 and tick.now_s < tick.seconds[-1].at_s + 1.5


def test_the_clients_core_time_is_of_the_window_only(fresh: Postgres) -> None:
    generator = fresh.load_generator()
    generator.ready()
    generator.go()
    ticked(generator, 2, lambda ticks: completed(ticks) >= 2_000)
    before_s, opened_s = time.process_time(), generator.mark("window")
    ticked(generator, 2, lambda ticks: completed(ticks) >= 2_000)
    closed_s, used_s = generator.mark("cool_down"), time.process_time() - before_s
    ticked(generator, 1)
    tally = Tally.model_validate(generator.stop())
    assert tally.load_generator_threads == 2
    assert 0.01 < tally.load_generator_cpu_s < used_s
    assert tally.window_s == pytest.approx(closed_s - opened_s)


def test_an_open_loop_keeps_its_rate_and_measures_from_the_schedule(fresh: Postgres) -> None:
    tries = (rung(fresh.load_generator(rate_per_s=500.0, users=16), seconds=4) for _ in range(5))
    for tally, _ in tries:
        assert tally.latency is not None and tally.wait is not None and tally.unstarted == 0
        assert tally.latency.n / tally.window_s == pytest.approx(500, rel=0.1)
        assert tally.wait.mean_s <= tally.latency.mean_s
        if tally.wait.p50_s < 0.000_5:  # users may be short while the server stands still
            break
    else:
        pytest.fail("users waited although there are more than enough")


def test_an_overloaded_open_loop_makes_up_for_what_it_can_and_counts_the_rest(
    fresh: Postgres,
) -> None:
    fresh.sql(f"{PAYMENT} AS 'SELECT 1 FROM pg_sleep(0.02)'")
    generator = fresh.load_generator(rate_per_s=400.0, users=2, drain_s=1.0)
    generator.ready()
    generator.go()
    generator.mark("window")
    ticked(generator, 3)
    tally = Tally.model_validate(generator.stop())
    assert tally.latency is not None and tally.wait is not None
    scheduled = tally.unstarted + tally.latency.n
    assert scheduled == pytest.approx(400 * tally.window_s, rel=0.15) and tally.unstarted > 50
    assert tally.wait.max_s > 0.5
    assert adds_up(tally)


def test_a_stall_shows_in_the_latency_of_an_open_loop(fresh: Postgres) -> None:
    def stall() -> None:
        os.kill(fresh.postmaster(), 0)
        fresh.sql("BEGIN; LOCK TABLE kneebench.orders; SELECT pg_sleep(1); COMMIT")

    tally, _ = rung(fresh.load_generator(rate_per_s=400.0, users=4), midway=stall)
    assert tally.latency is not None and tally.latency.p90_s > 0.1 and tally.latency.max_s > 0.9


@pytest.mark.parametrize("code", ["40001", "40P01"])
def test_what_the_database_asks_to_try_again_is_tried_again_and_counted_by_class(
    fresh: Postgres, code: str
) -> None:
    fresh.sql(
        f"""{DELIVERY} AS $$BEGIN
            IF nextval('kneebench.tries') % 2 = 0
            THEN RAISE EXCEPTION 'again' USING ERRCODE = '{code}'; END IF;
            RETURN 1;
        END $$"""
    )
    tally, _ = rung(fresh.load_generator(), seconds=1, least=1_000)
    deliveries = tally.transactions["delivery"]
    assert deliveries.retried[code] > 10 and deliveries.whole.failed == 0 and adds_up(tally)


def test_real_deadlocks_are_retried(fresh: Postgres) -> None:
    second = "(SELECT count(pg_sleep(0.002)) + (CASE WHEN d % 2 = 0 THEN 1 ELSE 0 END))"
    fresh.sql(
        f"""CREATE TABLE kneebench.hot (id int, n int8);
        INSERT INTO kneebench.hot VALUES (1, 0), (2, 0);
        {PAYMENT} AS 'UPDATE kneebench.hot SET n = n + 1 WHERE id = 1 + d % 2;
            UPDATE kneebench.hot SET n = n + 1 WHERE id = {second} RETURNING 1';
        ALTER ROLE kneebench SET deadlock_timeout = '5ms'"""
    )
    try:
        tally, _ = rung(fresh.load_generator(users=8, retries=100), seconds=1)
    finally:
        fresh.sql("ALTER ROLE kneebench RESET deadlock_timeout")
    payments = tally.transactions["payment"]
    assert payments.retried.get("40P01", 0) > 0 and payments.whole.failed == 0
    assert 2 * payments.whole.committed == int(fresh.sql("SELECT sum(n) FROM kneebench.hot"))


def test_tries_are_bounded_and_then_it_failed(fresh: Postgres) -> None:
    fresh.sql(f"{DELIVERY} AS $$BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '40001'; END $$")
    tally, _ = rung(fresh.load_generator(retries=3), seconds=1)
    deliveries = tally.transactions["delivery"]
    assert deliveries.whole.failed == deliveries.whole.started > 0
    assert deliveries.retried["40001"] == 3 * deliveries.whole.started
    assert [error.code for error in tally.errors] == ["40001"]


def test_an_error_is_counted_by_its_class_with_the_servers_first_words(fresh: Postgres) -> None:
    fresh.sql(
        "CREATE OR REPLACE FUNCTION kneebench.stock_level(w int4, d int4, threshold int4) RETURNS"
        " int4 LANGUAGE sql AS 'SELECT threshold / 0'"
    )
    tally, _ = rung(fresh.load_generator(), seconds=1)
    (error,) = tally.errors
    assert (error.code, error.count) == (
        "22012",
        tally.whole.failed,
    ) and "division by zero" in error.first
    assert tally.transactions["stock_level"].latency is None and adds_up(tally)


def test_a_killed_backend_leaves_its_answers_unknown_and_the_identity_whole(
    fresh: Postgres,
) -> None:
    def kill() -> None:
        pid = int(fresh.sql(f"SELECT pid {SESSIONS} LIMIT 1"))
        os.kill(pid, signal.SIGKILL)

    tally, ticks = rung(fresh.load_generator(), midway=kill, alive=0)
    assert tally.lost_users == 4, "PostgreSQL restarts all backends when one is killed"
    assert 1 <= tally.whole.unknown <= 4 and adds_up(tally)
    assert ticks[-1].alive == 0
    assert {error.code for error in tally.errors} == {"connection"}


def test_a_terminated_backend_costs_one_user_and_the_others_go_on(fresh: Postgres) -> None:
    tally, ticks = rung(
        fresh.load_generator(), midway=lambda: fresh.sql(TERMINATE.format(1)), alive=3
    )
    assert (tally.lost_users, tally.whole.unknown, ticks[-1].alive) == (1, 1, 3) and adds_up(tally)


def test_a_server_killed_in_mid_rung_ends_in_a_tally_and_committed_is_at_most_what_it_kept(
    fresh: Postgres,
) -> None:
    postmaster = psutil.Process(fresh.postmaster())

    def kill() -> None:
        killed = [postmaster, *postmaster.children()]
        for process in killed:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        assert psutil.wait_procs(killed, timeout=20)[1] == []

    tally, ticks = rung(fresh.load_generator(), midway=kill, alive=0)
    assert tally.lost_users == 4 and ticks[-1].alive == 0 and adds_up(tally)
    fresh.start()
    kept = int(fresh.sql("SELECT count(*) FROM kneebench.orders"))
    orders = tally.transactions["new_order"].whole
    assert orders.committed <= kept <= orders.committed + orders.unknown


def test_think_times_slow_the_users_down_and_stop_does_not_wait_for_them(fresh: Postgres) -> None:
    generator = fresh.load_generator(think_times=True)
    generator.ready()
    generator.go()
    generator.tick()
    before = time.monotonic()
    tally = Tally.model_validate(generator.stop())
    assert time.monotonic() - before < 5.0, "think times are 12 s in the mean"
    assert tally.whole.started <= 4 and tally.window_s == 0.0


def test_users_share_connections_and_wait_their_turn(fresh: Postgres) -> None:
    generator = fresh.load_generator(users=40, connections=5, workers=2)
    generator.ready()
    assert sessions(fresh) == 5
    generator.go()
    generator.tick()
    generator.mark("window")
    ticks = ticked(generator, 1, lambda ticks: completed(ticks) >= 500)
    generator.mark("cool_down")
    generator.tick()  # those that wait at the window's end get their turn
    tally = Tally.model_validate(generator.stop())
    assert ticks[-1].alive == 40
    assert (
        tally.whole.started > 500 and adds_up(tally) and tally.lost_users == tally.whole.failed == 0
    )
    assert tally.latency is not None and tally.wait is not None
    assert tally.wait.mean_s / tally.latency.mean_s == pytest.approx(7 / 8, abs=0.1), (
        "seven of eight users of a connection wait"
    )


def test_five_thousand_thinking_users_need_no_connection_each(fresh: Postgres) -> None:
    generator = fresh.load_generator(
        users=5_000, connections=50, workers=1, think_times=True, warehouses=500
    )
    before = resident_bytes()
    generator.ready()
    generator.go()
    ticks = ticked(generator, 4, lambda ticks: completed(ticks) > 500)
    each = (resident_bytes() - before) / 5_000
    tally = Tally.model_validate(generator.stop())
    assert ticks[-1].alive == 5_000 and tally.whole.committed > 500 and adds_up(tally)
    assert each < 64 * 1024, "the histograms of the worker are in it too"


def test_a_lost_shared_connection_costs_one_user_and_the_last_one_all(fresh: Postgres) -> None:
    tally, ticks = rung(
        fresh.load_generator(users=12, connections=3, workers=1),
        midway=lambda: fresh.sql(TERMINATE.format(1)),
        alive=11,
    )
    assert (tally.lost_users, tally.whole.unknown, ticks[-1].alive) == (1, 1, 11) and adds_up(tally)
    assert wait_until(lambda: sessions(fresh) == 0)
    tally, ticks = rung(
        fresh.load_generator(users=12, connections=3, workers=1),
        midway=lambda: fresh.sql(TERMINATE.format(3)),
        alive=0,
    )
    assert (tally.lost_users, tally.whole.unknown, ticks[-1].alive) == (12, 3, 0) and adds_up(tally)
    assert "terminating connection due to administrator command" in tally.errors[0].first


def test_answers_larger_than_a_read_and_notices_in_between_are_skipped(fresh: Postgres) -> None:
    fresh.sql(
        """CREATE OR REPLACE FUNCTION kneebench.order_status(w int4, d int4, c int4, c_last text)
        RETURNS TABLE (line int4, what text) LANGUAGE plpgsql AS $$BEGIN
            RAISE WARNING 'a warning';
            RETURN QUERY SELECT n, repeat('Z', 5000) FROM generate_series(1, 40) n;
        END $$"""
    )
    tally, _ = rung(fresh.load_generator(), seconds=1, least=1_000)
    assert (
        tally.transactions["order_status"].whole.committed > 10
        and adds_up(tally)
        and not tally.errors
    )


def test_a_load_generator_that_is_dropped_without_stop_leaves_no_connection(
    fresh: Postgres,
) -> None:
    generator = fresh.load_generator(users=20)
    generator.ready()
    assert sessions(fresh) == 20
    generator.go()
    del generator
    assert wait_until(lambda: sessions(fresh) == 0)


def test_sessions_have_plans_that_do_not_flip(fresh: Postgres) -> None:
    fresh.sql(
        f"""{DELIVERY} AS $$BEGIN
            RAISE EXCEPTION '% % % % %', current_setting('plan_cache_mode'),
                current_setting('enable_seqscan'), current_setting('enable_hashjoin'),
                current_setting('enable_mergejoin'), current_setting('jit');
        END $$"""
    )
    tally, _ = rung(fresh.load_generator(), seconds=1)
    assert "force_generic_plan off off off off" in tally.errors[0].first


def test_a_wrong_password_is_a_connection_error_in_the_servers_words_without_the_password(
    fresh: Postgres,
) -> None:
    address = fresh.values()["address"] | {"password": "not-this-one"}
    with pytest.raises(ConnectError, match="password authentication failed") as caught:
        fresh.load_generator(address=address).ready()
    assert (caught.value.error_class, caught.value.code, caught.value.message) == (
        "refused",
        "28P01",
        str(caught.value),
    )
    assert "not-this-one" not in str(caught.value) and "secret-word" not in str(caught.value)


def test_too_many_connections_and_missing_functions_and_nobody_there_are_connection_errors(
    fresh: Postgres,
) -> None:
    with pytest.raises(ConnectError, match=r"too many clients|remaining connection slots") as full:
        fresh.load_generator(users=300).ready()
    assert (full.value.error_class, full.value.code) == ("full", "53300")
    assert wait_until(lambda: is_free(fresh)), "its connections end"
    fresh.sql("DROP FUNCTION kneebench.delivery")
    with pytest.raises(ConnectionError, match=r"preparing.*delivery"):
        fresh.load_generator().ready()
    with pytest.raises(ConnectError, match="/nowhere") as nowhere:
        fresh.load_generator(address=fresh.values()["address"] | {"host": "/nowhere"}).ready()
    assert (nowhere.value.error_class, nowhere.value.code) == ("lost", "")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"users": 0}, "users is 0"),
        ({"rate_per_s": -1.0}, "rate_per_s"),
        ({"usres": 1}, "usres"),
        ({"home": "away"}, "away"),
    ],
)
def test_an_order_that_makes_no_sense_is_refused_before_anything_is_opened(
    postgres: Postgres, change: dict[str, Any], said: str
) -> None:
    with pytest.raises((ValueError, TypeError), match=said):
        postgres.load_generator(**change)


def test_a_spec_is_a_value_with_the_numbers_that_were_given() -> None:
    given = {
        "users": 4,
        "warehouses": 10,
        "profile": "hammerdb",
        "home": "one",
        "seed": 1,
        "stream": 2,
        "workers": 8,
        "cores": [1, 0],
    }
    spec = GeneratorSpec(**given)
    assert {name: getattr(spec, name) for name in given} == given
    assert spec == GeneratorSpec(**given) != GeneratorSpec(**{**given, "seed": 2})
    with pytest.raises(AttributeError):
        spec.users = 5


def test_calls_out_of_turn_are_refused(fresh: Postgres) -> None:
    generator = fresh.load_generator()
    with pytest.raises(RuntimeError, match="after ready"):
        generator.go()
    with pytest.raises(RuntimeError, match="call go first"):
        generator.tick()
    generator.ready()
    generator.go()
    with pytest.raises(RuntimeError, match="cool_down"):
        generator.mark("cool_down")
    generator.stop()
    with pytest.raises(RuntimeError, match="stopped already"):
        generator.stop()


def test_workers_are_pinned_where_the_order_says(fresh: Postgres) -> None:
    generator = fresh.load_generator(cores=[1, 0])
    generator.ready()
    tasks = {(t / "comm").read_text().strip(): t for t in Path("/proc/self/task").iterdir()}
    allowed = {
        name: next(
            line.split()[1]
            for line in (t / "status").read_text().splitlines()
            if line.startswith("Cpus_allowed_list")
        )
        for name, t in tasks.items()
    }
    assert (allowed["terminals-0"], allowed["terminals-1"]) == ("1", "0")
    with pytest.raises(ConnectionError, match=r"pinning a worker to cores \[999\]"):
        fresh.load_generator(cores=[999]).ready()


def test_merging_no_histograms_is_all_zeros_and_nonsense_is_refused() -> None:
    assert merge_histograms([])["n"] == 0
    with pytest.raises(ValueError, match="base64"):
        merge_histograms(["???"])


def interrupt_after(seconds: float) -> None:
    threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT)).start()


def test_ctrl_c_ends_a_wait_at_once_with_its_exception(fresh: Postgres) -> None:
    generator = fresh.load_generator()
    generator.ready()
    generator.go()

    def interrupted_after_s() -> float:
        generator.tick()
        before = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            interrupt_after(0.2)
            while True:
                generator.tick()
        return time.monotonic() - before

    assert any(interrupted_after_s() < 0.6 for _ in range(5)), "a tick takes 1 s"
    ticked(generator, 1, lambda ticks: completed(ticks) > 100)
    assert Tally.model_validate(generator.stop()).whole.started > 100, (
        "what was counted is not lost"
    )


def test_ctrl_c_ends_the_wait_for_an_answer_that_does_not_come(fresh: Postgres) -> None:
    generator = fresh.load_generator()
    generator.ready()
    generator.go()
    fresh.sql(f"{PAYMENT} AS 'SELECT 1 FROM pg_sleep(15)'")
    generator.tick()
    before = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupt_after(0.3)
        generator.stop()
    del generator
    assert time.monotonic() - before < 8
