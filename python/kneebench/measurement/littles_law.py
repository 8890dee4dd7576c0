"""Little's law as a self-check: in a closed loop without think times every user is always in a
transaction, so that latencies must add up to the users' time.
"""

from __future__ import annotations

from math import sqrt

from kneebench.records import Check, Latency, Tally

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
    """Where the edges were not counted (old results), or where users who wait for a connection at
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
