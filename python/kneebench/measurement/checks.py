"""The self-checks of a rung: the load generator's counts against the database's, and both against
arithmetic.

Those "idle to idle" compare the state before the first user connected with the state after the last
one left, and are exact. Sources: docs/method/limits.md; Little, "A proof for the queuing formula
L = lambda W", Operations Research 9, 1961.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import NamedTuple

from kneebench.measurement.idle_counts import Idle, difference
from kneebench.plan.ladder import WAREHOUSES_PER_USER
from kneebench.plan.workload import Workload
from kneebench.records import Check, Counts, Latency, Order, Remark, Tally

LARGE_TABLES = ("customer", "history", "item", "new_order", "order_line", "orders", "stock")
"""Tables that no transaction has a reason to read from end to end."""
NEW_ORDER_SHARE = {"spec": 45 / 100, "hammerdb": 10 / 23}
COMMITTED_NEW_ORDERS = 0.99
"""The rest rolls back by design."""
DECK = 100
SESSION_COMMITS = 10
"""Commits that a user's session may cost besides its transactions: its start, each statement that
it prepares."""
SURE = 4.5
"""Standard deviations beyond which chance is ruled out: a campaign has dozens of rungs, and at
three every tenth would cry wolf."""


class CheckInput(NamedTuple):
    """What a rung is checked by. `scans`: sequential scans by table over the whole rung; None where
    the server does not tell. `tpm`: see `counted_by_the_database`."""

    order: Order
    workload: Workload
    tally: Tally
    before: Idle
    after: Idle
    tpm: float
    scans: Mapping[str, float] | None


def checks(seen: CheckInput) -> tuple[Check, ...]:
    """All that apply to this rung."""
    found = (
        identity(seen),
        new_orders(seen),
        rollbacks(seen),
        ratio(seen),
        little(seen),
        scans(seen),
        overflow(seen),
        unstarted(seen),
    )
    return tuple(check for check in found if check)


def identity(seen: CheckInput) -> Check:
    """started = committed + rolled_back + failed + unknown, for each transaction, idle to idle."""
    broken = [
        name for name, t in seen.tally.transactions.items() if t.whole.started != _ended(t.whole)
    ]
    whole = seen.tally.whole
    what = (
        f"{whole.started:,} started = {whole.committed:,} committed + {whole.rolled_back:,} rolled"
        " back by design + "
    )
    what += f"{whole.failed:,} failed + {whole.unknown:,} unknown"
    off = f"{whole.started - _ended(whole):+,} in {', '.join(broken)}" if broken else "none missing"
    return Check(
        name="identity",
        passed=not broken,
        seen=off,
        limit="none missing",
        sentence=f"Every transaction is accounted for: {what} ({off}).",
        value=whole.started - _ended(whole),
        limit_value=0,
    )


def _ended(counts: Counts) -> int:
    return counts.committed + counts.rolled_back + counts.failed + counts.unknown


def new_orders(seen: CheckInput) -> Check:
    """Committed New-Orders = increase of sum D_NEXT_O_ID, idle to idle; more by at most those whose
    answer was lost.
    """
    whole = seen.tally.transactions["new_order"].whole
    rise = seen.after.next_order_ids - seen.before.next_order_ids
    sentence = (
        f"The load generator committed {whole.committed:,} New-Orders; sum D_NEXT_O_ID rose by"
        f" {rise:,} (limit: equal, plus up to {whole.unknown:,} unknown)."
    )
    passed = 0 <= rise - whole.committed <= whole.unknown
    return Check(
        name="new_orders",
        passed=passed,
        seen=f"{rise - whole.committed:+,}",
        limit=f"0 to {whole.unknown:,}",
        sentence=sentence,
        value=rise - whole.committed,
        limit_value=whole.unknown,
    )


def rollbacks(seen: CheckInput) -> Check | None:
    """The database's rollbacks = those by design + tries that were retried + failed ones, idle to
    idle; more by at most the unknown. Not judged where it does not count them apart.
    """
    rise = difference(seen.before.rollbacks, seen.after.rollbacks)
    if rise is None:
        return None
    whole = seen.tally.whole
    retried = _retried(seen.tally)
    expected = whole.rolled_back + retried + whole.failed
    sentence = (
        f"The database counted {rise:,} rollbacks; expected {expected:,} = {whole.rolled_back:,} by"
        f" design + {retried:,} retried + {whole.failed:,} failed (limit: equal, plus up to"
        f" {whole.unknown:,} unknown)."
    )
    passed = 0 <= rise - expected <= whole.unknown
    return Check(
        name="rollbacks",
        passed=passed,
        seen=f"{rise - expected:+,}",
        limit=f"0 to {whole.unknown:,}",
        sentence=sentence,
        value=rise - expected,
        limit_value=whole.unknown,
    )


def counted_by_the_database(tally: Tally, before: Idle, after: Idle) -> float:
    """TPM: the window's transactions per minute as the database counts them.

    Both committed and rolled back ones count.
    Its counts are exact from idle to idle only: within a window they lag by up to a second, as a
    database's sessions may report once a second only, which moved a window of 10 s by 7% here. So
    the window is the clients', scaled by what the database counted for each of their transactions
    from idle to idle, without what the sessions' beginnings may have cost. Where the database does
    not count the workload's transactions apart, the load generator's count stands.
    """
    started = max(1, tally.whole.started)
    counted = difference(before.transactions, after.transactions)
    if counted is None:
        return 60 * tally.throughput_per_s
    beyond = counted - tally.whole.started - _retried(tally)
    sessions = min(max(beyond, 0), SESSION_COMMITS * tally.users)
    return 60 * tally.throughput_per_s * (counted - sessions) / started


def ratio(seen: CheckInput) -> Check | None:
    """TPM / NOPM against the mix: 100 / (45 x 0.99) = 2.2447 (spec), 23 / (10 x 0.99) = 2.3232
    (hammerdb). The limit is `SURE` standard deviations of the mix, the retries that the database
    counts besides, and what failed, had it all been New-Orders.
    """
    nopm, whole = seen.tally.nopm, seen.tally.whole
    if not nopm or seen.after.transactions is None:
        return None
    share = NEW_ORDER_SHARE[seen.workload.profile]
    expected = 1 / (share * COMMITTED_NEW_ORDERS)
    besides = (_retried(seen.tally) + (whole.failed + whole.unknown) / share) / whole.started
    transactions, users = seen.tally.window.completed, seen.tally.users
    limit = SURE * new_order_scatter(seen.workload.profile, transactions, users) + besides
    off = seen.tpm / nopm / expected - 1
    sentence = (
        f"TPM / NOPM is {seen.tpm / nopm:.4f} where the mix gives {expected:.4f}: {100 * off:+.2f}%"
        f" (limit {100 * limit:.2f}%)."
    )
    return Check(
        name="tpm_nopm",
        passed=abs(off) <= limit,
        seen=f"{100 * off:+.2f}%",
        limit=f"{100 * limit:.2f}%",
        sentence=sentence,
        value=off,
        limit_value=limit,
    )


def _retried(tally: Tally) -> int:
    return sum(count for t in tally.transactions.values() for count in t.retried.values())


def new_order_scatter(profile: str, transactions: int, users: int) -> float:
    """The relative standard deviation of the New-Orders committed among `transactions`.

    Independent draws (hammerdb): binomial. A deck dealt to its end: exact but for the decks begun
    at both edges of the window (hypergeometric, at its widest in the middle of a deck) and the 1%
    that roll back.

    >>> [round(new_order_scatter(profile, 18_000, 8), 4) for profile in ("hammerdb", "spec")]
    [0.0086, 0.0017]
    """
    share = NEW_ORDER_SHARE[profile]
    drawn, committed = transactions * share, transactions * share * COMMITTED_NEW_ORDERS
    independent = sqrt(committed * (1 - share * COMMITTED_NEW_ORDERS)) / committed
    if profile == "hammerdb":
        return independent
    half_a_deck = DECK / 4 * share * (1 - share)
    return min(
        independent,
        sqrt(2 * users * half_a_deck + drawn * COMMITTED_NEW_ORDERS * (1 - COMMITTED_NEW_ORDERS))
        / committed,
    )


def little(seen: CheckInput) -> Check | None:
    """Of a closed loop without think times; not judged where transactions failed: their time is in
    no latency.
    """
    tally = seen.tally
    if seen.order.rate_per_s or seen.workload.think_times or tally.lost_users:
        return None
    if not tally.latency or not tally.window.completed or tally.window.failed:
        return None
    return littles_law(tally, tally.latency)


def scans(seen: CheckInput) -> Check | None:
    """No sequential scan of a large table: a plan that flips makes a run several times too slow
    without any other sign.
    """
    if seen.scans is None:
        return None
    scanned = {
        table: count for table, count in seen.scans.items() if table in LARGE_TABLES and count > 0
    }
    what = ", ".join(f"{table} {count:,.0f} times" for table, count in scanned.items()) or "none"
    sentence = f"Sequential scans of large tables: {what} (limit: none)."
    return Check(
        name="sequential_scans",
        passed=not scanned,
        seen=what,
        limit="none",
        sentence=sentence,
        value=sum(scanned.values()),
        limit_value=0,
    )


def overflow(seen: CheckInput) -> Check:
    """No latency beyond the histogram's hour."""
    beyond = sum(latency.overflow for latency in (seen.tally.latency, seen.tally.wait) if latency)
    return Check(
        name="overflow",
        passed=not beyond,
        seen=f"{beyond:,}",
        limit="0",
        sentence=f"Latencies above the histogram's range of 1 h: {beyond:,} (limit 0).",
        value=beyond,
        limit_value=0,
    )


def unstarted(seen: CheckInput) -> Check | None:
    """Open loop: all that was due in the window was started; what never was would be missing from
    the latencies.
    """
    if not seen.order.rate_per_s:
        return None
    left = seen.tally.unstarted
    found = "the rate was kept" if not left else "the rate exceeds what the database can do"
    sentence = f"{left:,} transactions due in the window were never started (limit 0): {found}."
    return Check(
        name="unstarted",
        passed=not left,
        seen=f"{left:,}",
        limit="0",
        sentence=sentence,
        value=left,
        limit_value=0,
    )


def few_warehouses(order: Order, workload: Workload, tally: Tally) -> tuple[Remark, ...]:
    """Below four warehouses per user, users meet at the same rows: a note, not a check. In an open
    loop only those count that are busy at once, on average.
    """
    users: float = order.users
    if order.rate_per_s and tally.latency:
        users = min(users, tally.throughput_per_s * tally.latency.mean_s)
    if workload.all_warehouses >= WAREHOUSES_PER_USER * users:
        return ()
    per_user, least = workload.all_warehouses / users, WAREHOUSES_PER_USER
    words = f"{per_user:.1f} warehouses per user; at least {least} are recommended"
    few = Remark(kind="few_warehouses", severity="caveat", words=words, value=per_user, limit=least)
    return (few,)


# Little's law as a self-check: in a closed loop without think times every user is always in a
# transaction, so that latencies must add up to the users' time.

LIMIT = 0.02


def littles_law(tally: Tally, latency: Latency) -> Check:
    """Latencies, the load generator's own delay, which no latency includes, and what lies across
    the window's edges add up to users x window.
    """
    if tally.edges_s is None or tally.wait:
        return _without_edges(tally, latency)
    spent_s = latency.n * latency.mean_s
    delays_s = tally.delay.n * tally.delay.mean_s if tally.delay else 0.0
    there_s = tally.users * tally.window_s
    off = (spent_s + delays_s + tally.edges_s) / there_s - 1
    delayed = f" the load generator's delay {delays_s:.3f} s," if tally.delay else ""
    sentence = (
        f"Latencies add up to {spent_s:.3f} s,{delayed} transactions across the window's edges to"
        f" {tally.edges_s:+.3f} s, where users x window gives {there_s:.3f} s: {100 * off:+.2f}%"
        f" (limit {100 * LIMIT:.2g}%)."
    )
    return _check(off, LIMIT, sentence)


def _without_edges(tally: Tally, latency: Latency) -> Check:
    """Where the edges were not counted, or where users who wait for a connection at
    the end are served no more: users / throughput = mean latency and delay.

    The limit is 2%, or in a short window what the remainders of `users` calls as long as the 99th
    percentile can make (three standard deviations), or one at the 99.9th.
    """
    expected_s = tally.users * tally.window_s / tally.window.completed
    edge = max(3 * sqrt(2 / tally.users) * latency.p99_s, latency.p999_s) / tally.window_s
    delay_s = tally.delay.mean_s if tally.delay else 0.0
    limit, off = max(LIMIT, edge), (latency.mean_s + delay_s) / expected_s - 1
    delayed = f" and the load generator's delay {1e3 * delay_s:.3f} ms" if tally.delay else ""
    sentence = (
        f"Mean latency is {1e3 * latency.mean_s:.3f} ms{delayed} where users / throughput"
        f" gives {1e3 * expected_s:.3f} ms: {100 * off:+.2f}% (limit {100 * limit:.2g}%)."
    )
    return _check(off, limit, sentence)


def _check(off: float, limit: float, sentence: str) -> Check:
    return Check(
        name="little",
        passed=abs(off) <= limit,
        seen=f"{100 * off:+.2f}%",
        limit=f"{100 * limit:.2g}%",
        sentence=sentence,
        value=off,
        limit_value=limit,
    )
