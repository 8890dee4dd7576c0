"""The self-checks pass on honest counts and fail on each kind of wrong ones."""

import random
import re

import pytest

from kneebench.measurement.checks import (
    CheckInput,
    checks,
    counted_by_the_database,
    few_warehouses,
    new_order_scatter,
)
from kneebench.measurement.idle_counts import Idle
from kneebench.plan.workload import Workload
from kneebench.records import Counts, Latency, Order, Tally, TransactionTally

SHARES = {"new_order": 45, "payment": 43, "order_status": 4, "delivery": 4, "stock_level": 4}
DECKS = 400
WINDOW_S = 20.0
CLOSED = Order(configuration="disk", phase="search", users=8)
OPEN = Order(configuration="disk", phase="fixed_rate", users=8, rate_per_s=100.0)


def counts(name: str, decks: int = DECKS, **changes: int) -> Counts:
    ended = SHARES[name] * decks
    rolled_back = ended // 100 if name == "new_order" else 0
    return Counts.model_validate(
        {"started": ended, "committed": ended - rolled_back, "rolled_back": rolled_back, **changes}
    )


def latency(mean_s: float, overflow: int = 0, p999_s: float = 0.01) -> Latency:
    return Latency(
        n=40_000,
        mean_s=mean_s,
        p50_s=mean_s,
        p90_s=mean_s,
        p95_s=mean_s,
        p99_s=0.008,
        p999_s=p999_s,
        p999_low_s=0.009,
        p999_high_s=0.011,
        max_s=0.1,
        overflow=overflow,
    )


def honest(**changes: object) -> CheckInput:
    """A rung in which everything fits: 40,000 transactions in 20 s by 8 users, 4 ms each."""
    tally = Tally(
        users=8,
        window_s=WINDOW_S,
        whole_s=WINDOW_S + 5,
        transactions={
            name: TransactionTally(whole=counts(name), window=counts(name)) for name in SHARES
        },
        latency=latency(8 * WINDOW_S / (100 * DECKS)),
    )
    orders, rolled_back = tally.transactions["new_order"].whole.committed, tally.whole.rolled_back
    fields = {
        "order": CLOSED,
        "workload": Workload(warehouses=40),
        "tally": tally,
        "before": Idle(1000, 10, 1),
        "after": Idle(1000 + orders, 10 + tally.whole.committed, 1 + rolled_back),
        "tpm": 60 * tally.throughput_per_s,
        "scans": {"stock": 0.0, "district": 2.0},
    }
    return CheckInput(**{**fields, **changes})


def with_new_orders(**changes: int) -> Tally:
    """The honest tally with other whole counts of New-Orders."""
    tally = honest().tally
    other = tally.transactions["new_order"].model_copy(
        update={"whole": counts("new_order", **changes)}
    )
    return tally.model_copy(update={"transactions": {**tally.transactions, "new_order": other}})


def failed(seen: CheckInput) -> list[str]:
    return [check.name for check in checks(seen) if not check.passed]


def test_a_database_that_does_not_count_the_workload_apart_is_not_judged_by_its_counts() -> None:
    seen = honest()
    unknown = seen._replace(before=Idle(1000), after=Idle(seen.after.next_order_ids))
    assert {one.name for one in checks(seen)} - {one.name for one in checks(unknown)} == {
        "rollbacks",
        "tpm_nopm",
    }
    counted = counted_by_the_database(seen.tally, unknown.before, unknown.after)
    assert counted == 60 * seen.tally.throughput_per_s


def test_honest_counts_pass_every_check() -> None:
    assert [check.name for check in checks(honest())] == [
        "identity",
        "new_orders",
        "rollbacks",
        "tpm_nopm",
        "little",
        "sequential_scans",
        "overflow",
    ]
    assert failed(honest()) == []


def test_every_sentence_says_what_was_seen_and_the_limit() -> None:
    for check in checks(honest()):
        assert check.sentence.endswith(".")
        assert check.seen.split()[0].strip("+") in check.sentence or check.name in (
            "new_orders",
            "rollbacks",
        )
        assert "limit" in check.sentence or check.name == "identity"


def test_a_transaction_that_is_not_accounted_for_fails_the_identity() -> None:
    assert "identity" in failed(honest(tally=with_new_orders(started=45 * DECKS + 1)))


@pytest.mark.parametrize("off", [-1, 1])
def test_one_new_order_more_or_less_in_the_database_fails(off: int) -> None:
    seen = honest()
    assert failed(
        seen._replace(after=seen.after._replace(next_order_ids=seen.after.next_order_ids + off))
    ) == ["new_orders"]


def test_a_lost_answer_may_have_committed_or_not() -> None:
    tally = with_new_orders(committed=45 * DECKS - 181, unknown=1)
    for committed_after_all in (0, 1):
        after = honest().after._replace(
            next_order_ids=1000 + 45 * DECKS - 181 + committed_after_all
        )
        assert "new_orders" not in failed(honest(tally=tally, after=after))


def test_rollbacks_are_those_by_design_the_retried_and_the_failed() -> None:
    tally = with_new_orders()
    retried = tally.transactions["payment"].model_copy(update={"retried": {"40P01": 3}})
    tally = tally.model_copy(update={"transactions": {**tally.transactions, "payment": retried}})
    assert failed(honest(tally=tally)) == ["rollbacks"]
    after = honest().after
    assert failed(honest(tally=tally, after=after._replace(rollbacks=after.rollbacks + 3))) == []


def test_a_ratio_of_all_transactions_to_new_orders_that_the_mix_cannot_make_fails() -> None:
    tpm = honest().tpm
    assert failed(honest(tpm=1.2 * tpm)) == ["tpm_nopm"]
    assert failed(honest(tpm=1.002 * tpm)) == []


def test_transactions_per_minute_are_the_databases_count_and_what_others_do_shows() -> None:
    seen = honest()
    assert counted_by_the_database(seen.tally, seen.before, seen.after) == pytest.approx(
        60 * seen.tally.throughput_per_s
    )
    beginnings = seen.after._replace(commits=seen.after.commits + 6 * 8)
    assert counted_by_the_database(seen.tally, seen.before, beginnings) == pytest.approx(
        60 * seen.tally.throughput_per_s
    )
    strangers = seen.after._replace(commits=seen.after.commits + 80 + 4000)
    tpm = counted_by_the_database(seen.tally, seen.before, strangers)
    assert tpm == pytest.approx(1.1 * 60 * seen.tally.throughput_per_s)
    assert failed(honest(after=strangers, tpm=tpm)) == ["tpm_nopm"]


def test_a_mix_drawn_at_random_scatters_as_computed() -> None:
    draw = random.Random(1)
    shares = []
    for _ in range(400):
        new_orders = sum(draw.random() < 10 / 23 * 0.99 for _ in range(2000))
        shares.append(new_orders / (2000 * 10 / 23 * 0.99) - 1)
    seen = (sum(share**2 for share in shares) / len(shares)) ** 0.5
    assert new_order_scatter("hammerdb", 2000, 8) == pytest.approx(seen, rel=0.1)


def test_a_shuffled_deck_scatters_less_than_its_bound() -> None:
    draw = random.Random(2)
    users, window, off = 4, 400, []
    for _ in range(300):
        drawn: list[bool] = []
        for _ in range(users):
            cards: list[bool] = []
            for _ in range(8):
                deck = [True] * 45 + [False] * 55
                draw.shuffle(deck)
                cards += deck
            begin = draw.randrange(100, 200)
            drawn += cards[begin : begin + window]
        committed = sum(card and draw.random() < 0.99 for card in drawn)
        off.append(committed / (len(drawn) * 0.45 * 0.99) - 1)
    seen = (sum(o**2 for o in off) / len(off)) ** 0.5
    assert (
        0.5 * new_order_scatter("spec", users * window, users)
        < seen
        < new_order_scatter("spec", users * window, users)
    )


def test_latency_that_is_not_users_over_throughput_fails_in_a_closed_loop_only() -> None:
    wrong = honest().tally.model_copy(update={"latency": latency(0.0045)})
    assert failed(honest(tally=wrong)) == ["little"]
    assert "little" not in [check.name for check in checks(honest(tally=wrong, order=OPEN))]
    assert "little" not in [
        check.name
        for check in checks(honest(tally=wrong, workload=Workload(warehouses=40, think_times=True)))
    ]


def test_what_lies_across_the_windows_edges_is_part_of_littles_sum() -> None:
    """A window into which long calls reach: their time is in no latency that began in it."""
    shorter = honest().tally.model_copy(update={"latency": latency(0.0036)})
    assert failed(honest(tally=shorter)) == ["little"]
    counted = shorter.model_copy(update={"edges_s": 0.0004 * 40_000})
    assert failed(honest(tally=counted)) == []
    less = shorter.model_copy(update={"edges_s": 0.0002 * 40_000})
    (check,) = [check for check in checks(honest(tally=less)) if not check.passed]
    assert "144.000 s, transactions across the window's edges to +8.000 s" in check.sentence
    assert "gives 160.000 s: -5.00% (limit 2%)" in check.sentence


def test_a_short_window_with_long_calls_widens_littles_limit_and_says_so() -> None:
    stalls = honest().tally.model_copy(update={"latency": latency(0.0043, p999_s=2.0)})
    little = next(check for check in checks(honest(tally=stalls)) if check.name == "little")
    assert (little.passed, little.limit) == (True, "10%")


def test_a_sequential_scan_of_a_large_table_fails_and_of_a_small_one_does_not() -> None:
    assert failed(honest(scans={"stock": 742.0, "district": 1.0})) == ["sequential_scans"]
    assert "sequential_scans" not in [check.name for check in checks(honest(scans=None))]


def test_a_latency_beyond_the_histogram_fails() -> None:
    beyond = honest().tally.model_copy(update={"latency": latency(0.004, overflow=1)})
    assert failed(honest(tally=beyond)) == ["overflow"]


def test_a_rate_that_could_not_be_kept_fails_in_an_open_loop() -> None:
    late = honest().tally.model_copy(update={"unstarted": 5})
    assert failed(honest(tally=late, order=OPEN)) == ["unstarted"]
    assert failed(honest(tally=late, order=CLOSED)) == []


def test_fewer_than_four_warehouses_a_user_is_a_note() -> None:
    tally = honest().tally
    assert few_warehouses(CLOSED, Workload(warehouses=32), tally) == ()
    (note,) = few_warehouses(CLOSED, Workload(warehouses=31), tally)
    assert note.words.startswith("3.9 warehouses per user")
    assert note.limit == 4 and note.value == pytest.approx(31 / 8)


def test_in_an_open_loop_only_busy_users_need_warehouses() -> None:
    tally, many = honest().tally, OPEN.model_copy(update={"users": 80})
    assert tally.latency
    busy = tally.throughput_per_s * tally.latency.mean_s
    assert 4 * busy < 40 < 4 * many.users
    assert few_warehouses(many, Workload(warehouses=40), tally) == ()
    (note,) = few_warehouses(many, Workload(warehouses=int(3 * busy)), tally)
    assert re.match(r"[23]\.\d warehouses per user", note.words)
