"""What a model is fitted to and what it yields: a configuration by its number of users."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import fsum, log, sqrt
from statistics import fmean, median
from typing import NamedTuple

from kneebench.records import Climb, Results, Rung

NEEDED = ("server.cpu_per_transaction", "log.write_latency", "log.flushes")
"""Quantities without which a rung is left out."""
HARDLY = 0.05
"""Reads per transaction below which the data device is left out."""
MOST_READS = 1.5
"""Reads per transaction over their median, beyond which a number of users is left out."""
GENERATOR = "load_generator.cpu_per_transaction"


class Observed(NamedTuple):
    """So many users on a configuration, measured or simulated: means over the window.

    `cpu_s`: CPU time per transaction of the processes that it passes through: the database's, and
    the load generator's if it runs on the same cores. `beside_s`: that of all others on these
    cores. `flush_s`: log write latency. `flushes`, `reads`, `writes`: of the log and the data
    device, per transaction; writes without the log's. `read_s`, `write_s`: time of a read and of a
    write at the device, with its queue; 0 without any.
    """

    users: int
    throughput_per_s: float
    latency_s: float
    cpu_s: float
    beside_s: float
    flush_s: float
    flushes: float
    reads: float = 0.0
    read_s: float = 0.0
    writes: float = 0.0
    write_s: float = 0.0


class TransactionCores(NamedTuple):
    """The cores that a configuration's transactions run on, and the quantity of how busy they
    are. `shared`: with the load generator. `real`: not of a simulated database, whose checkpoints
    take no time of its data device.
    """

    number: int
    quantity: str
    shared: bool
    real: bool = True


def cores_of(results: Results, climb: Climb) -> TransactionCores:
    """All cores of the machine if the load generator shares them with the database."""
    campaign = results.campaign
    found = campaign.servers.get(climb.id)
    own = len(found.cores) if found else 0
    if campaign.simulated:
        return TransactionCores(own, "cores.busy", shared=False, real=False)
    if own and own < campaign.host.cores:
        return TransactionCores(own, "database.busy", shared=False)
    return TransactionCores(campaign.host.cores, "cores.busy", shared=True)


def observed(climb: Climb, cores: TransactionCores) -> tuple[Observed, ...]:
    """A configuration by its number of users, in that order: the means of its valid rungs in a
    closed loop. Rungs that lack a quantity are left out.
    """
    return tuple(mean_of(some) for _, some in sorted(_by_users(climb, cores).items()))


def noise(climb: Climb, cores: TransactionCores) -> float:
    """Standard deviation of a rung's throughput as a share, among rungs with equally many users;
    0 without two of any.
    """
    every = [
        [log(one.throughput_per_s) for one in some] for some in _by_users(climb, cores).values()
    ]
    squares = fsum((one - fmean(some)) ** 2 for some in every for one in some)
    return sqrt(squares / max(1, sum(len(some) - 1 for some in every)))


def _by_users(climb: Climb, cores: TransactionCores) -> dict[int, list[Observed]]:
    found: dict[int, list[Observed]] = {}
    for one in _each(climb, cores):
        found.setdefault(one.users, []).append(one)
    return found


def thrashing(rungs: Sequence[Observed]) -> tuple[Observed, ...]:
    """Those whose transactions read so much more than the median that the cache does not hold what
    as many users need: the model has no such thing.

    >>> few, many = Observed(1, 9, 1, 1, 0, 1, 1, reads=2), Observed(9, 9, 1, 1, 0, 1, 1, reads=5)
    >>> [one.users for one in thrashing([few, few, many])]
    [9]
    """
    most = MOST_READS * median(one.reads for one in rungs) if rungs else 0.0
    return tuple(one for one in rungs if one.reads > max(most, HARDLY))


def mean_of(some: Sequence[Observed]) -> Observed:
    """The mean of rungs with equally many users."""
    means = [fmean(values) for values in zip(*some, strict=True)]
    return Observed(some[0].users, *means[1:])


def generator_s(climb: Climb) -> float:
    """CPU time of the load generator per transaction; 0 where it was not measured."""
    found = [rung.quantity(GENERATOR) for rung in climb.rungs if not rung.invalid]
    return fmean([one for one in found if one is not None] or [0.0])


def _each(climb: Climb, cores: TransactionCores) -> Iterator[Observed]:
    closed = climb.of(
        "search", "bisection", "confirmation", "drift_check", "fixed_load", "final_run"
    )
    for rung in closed:
        if not rung.invalid and (found := _of_rung(rung, cores)):
            yield found


def _of_rung(rung: Rung, cores: TransactionCores) -> Observed | None:
    per_s, latency = rung.tally.throughput_per_s, rung.tally.latency
    seen = {name: rung.quantity(name) for name in (cores.quantity, *NEEDED)}
    if not latency or not per_s or None in seen.values():
        return None
    busy, own_s, flush_s, flushes_per_s = (value or 0.0 for value in seen.values())
    cpu_s = busy * cores.number / per_s
    written_per_s = (cores.real and rung.quantity("device.writes")) or 0.0
    if cores.shared:
        own_s += rung.quantity(GENERATOR) or 0.0
    return Observed(
        users=rung.users,
        throughput_per_s=per_s,
        latency_s=latency.mean_s,
        cpu_s=min(own_s, cpu_s),
        beside_s=max(0.0, cpu_s - own_s),
        flush_s=flush_s,
        flushes=flushes_per_s / per_s,
        reads=rung.quantity("device.reads_per_transaction") or 0.0,
        read_s=rung.quantity("device.read_await") or 0.0,
        writes=max(0.0, written_per_s - flushes_per_s) / per_s,
        write_s=(written_per_s and rung.quantity("device.write_await")) or 0.0,
    )
