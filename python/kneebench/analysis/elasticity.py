"""Elasticity: by how many percent throughput grows for one percent more users."""

from __future__ import annotations

from math import inf, log

from kneebench.records import Rung


def elasticity(a: Rung, b: Rung) -> float:
    """e = ln(X2/X1) / ln(N2/N1) from rung `a` to rung `b`, X being all transactions per second, N
    the users.

    1: twice the users do twice the work; 0: a plateau; below 0: past the peak. The gain in
    throughput for the gain in latency is e / (1 - e) (methods: stop conditions). All transactions
    are counted because they scatter less than New-Orders alone. Infinite from a rung that did
    nothing, minus infinite to one. Raises ValueError when both have the same number of users.
    """
    if a.users == b.users:
        raise ValueError(f"no elasticity between two rungs of {a.users} users")
    return between(a.users, a.tally.throughput_per_s, b.users, b.tally.throughput_per_s)


def between(users_1: float, throughput_1: float, users_2: float, throughput_2: float) -> float:
    """The same from bare numbers.

    >>> between(16, 1000, 32, 2000), between(16, 1000, 32, 1000)
    (1.0, 0.0)
    >>> round(between(16, 1000, 32, 1050), 2)
    0.07
    """
    if throughput_1 <= 0:
        return inf
    return log(throughput_2 / throughput_1) / log(users_2 / users_1) if throughput_2 > 0 else -inf
