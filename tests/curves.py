"""Rungs made from known curves, for tests that must know the truth: a closed loop whose throughput
is a USL curve with noise.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from math import exp, inf, sqrt
from typing import NamedTuple

from kneebench.ladder.climb import climb as climbing
from kneebench.plan.ladder import Ladder
from kneebench.records import (
    Climb,
    Configuration,
    Counts,
    Latency,
    Order,
    Rung,
    Summary,
    Tally,
    TransactionTally,
)
from tests.remarks import why_invalid

SHARES = {
    "new_order": 0.45,
    "payment": 0.43,
    "order_status": 0.04,
    "delivery": 0.04,
    "stock_level": 0.04,
}
Noise = Callable[[], float]


class Usl(NamedTuple):
    """X(N) = l N / (1 + a (N - 1) + b N (N - 1)): l is one user's throughput, a the contention, b
    the coherency (Gunther, "Guerrilla Capacity Planning", 2007).
    """

    lone_per_s: float
    contention: float
    coherency: float

    def throughput_per_s(self, users: float) -> float:
        """Of so many users."""
        delay = self.contention * (users - 1) + self.coherency * users * (users - 1)
        return self.lone_per_s * users / (1 + delay)

    @property
    def peak_users(self) -> float:
        """Where the curve is highest; infinite where it never falls."""
        return sqrt((1 - self.contention) / self.coherency) if self.coherency > 0 else inf


def latency(mean_s: float, n: int = 200_000, p999_s: float | None = None) -> Latency:
    tail = p999_s or 6.9 * mean_s
    quantiles = {
        "p50_s": 0.7 * mean_s,
        "p90_s": 2.3 * mean_s,
        "p95_s": 3 * mean_s,
        "p99_s": 4.6 * mean_s,
        "p999_s": tail,
    }
    return Latency(
        n=n,
        mean_s=mean_s,
        p999_low_s=0.97 * tail,
        p999_high_s=1.03 * tail,
        max_s=3 * tail,
        **quantiles,
    )


def rung(
    order: Order,
    throughput_per_s: float,
    *,
    window_s: float = 30.0,
    invalid: str = "",
    tail: Latency | None = None,
    **quantities: float,
) -> Rung:
    """A rung that did so much without errors; quantities are given as log__write_latency=0.002."""
    done = {name: round(throughput_per_s * window_s * share) for name, share in SHARES.items()}
    counts = {name: Counts(started=k, committed=k) for name, k in done.items()}
    tally = Tally(
        users=order.users,
        window_s=window_s,
        whole_s=window_s + 10,
        transactions={
            name: TransactionTally(whole=count, window=count) for name, count in counts.items()
        },
        latency=tail or latency(order.users / throughput_per_s if throughput_per_s else 0.0),
    )
    found = {
        name.replace("__", "."): Summary(unit="", value=value, high=value)
        for name, value in quantities.items()
    }
    return Rung(
        order=order,
        started_at="2026-01-01T00:00:00Z",
        warm_up_s=10.0,
        steady=True,
        tally=tally,
        tpm=60 * throughput_per_s,
        quantities=found,
        remarks=why_invalid(invalid),
    )


def climb(
    configuration: Configuration, ladder: Ladder, cores: int
) -> Generator[Order, Rung, Climb]:
    """The climb of a configuration, whose steps are its orders."""
    steps = climbing(ladder, cores)
    try:
        step = next(steps)
        while True:
            step = steps.send((yield step.on(configuration.id)))
    except StopIteration as end:
        return Climb(configuration=configuration, **end.value._asdict())


def failing(one: Rung, failed: int, unknown: int = 0) -> Rung:
    """The same rung with so many transactions that failed or were never answered."""
    payment = one.tally.transactions["payment"]
    started = payment.whole.committed + failed + unknown
    whole = Counts(
        started=started, committed=payment.whole.committed, failed=failed, unknown=unknown
    )
    transactions = {
        **one.tally.transactions,
        "payment": payment.model_copy(update={"whole": whole}),
    }
    return one.model_copy(
        update={"tally": one.tally.model_copy(update={"transactions": transactions})}
    )


def answer(curve: Usl, noise: Noise = lambda: 0.0) -> Callable[[Order], Rung]:
    """Answers orders from a curve; the noise is of ln X."""
    return lambda order: rung(order, curve.throughput_per_s(order.users) * exp(noise()))


def walk(
    steps: Generator[Order, Rung, Climb], measure: Callable[[Order], Rung]
) -> tuple[Climb, list[Order]]:
    """Run a climb to its end; the orders it gave."""
    orders = [next(steps)]
    while True:
        try:
            orders.append(steps.send(measure(orders[-1])))
        except StopIteration as end:
            return end.value, orders
