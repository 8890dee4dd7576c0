"""The fit: the parameters of the model from the rungs of one configuration.

CPU time per transaction is counted, so a regression over the rungs divides it into what each
transaction costs, what each flush costs, and what every transaction beyond the cores adds. Reads
are counted, too. What only shows in the times is fitted by simulation: the drive's time for a
flush, the channels of the data device, and the share of the work that waits for one core while
another is idle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median
from typing import NamedTuple

from kneebench.databases.engines.simulated.storage import SimulatedStorage
from kneebench.prediction.model import QUIET, Simulation
from kneebench.prediction.observed import HARDLY, Observed

CHANNELS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 64)
AFFINITIES = tuple(n / 8 for n in range(9))
LEAST_WAITED = 0.25
"""Share of the reads below which the balance of a transaction's time cannot be right."""
LOW = 2
"""So many of the fewest users tell the drive's times: cores and channels are then rarely waited
for."""
ROUNDS = 3
LEAST_OWN = 0.1
"""Share of the CPU time of a transaction that is its own at least, beside that of its flush."""
TINY = 1e-12
"""Least divisor: of a rung without reads or flushes."""


class Cpu(NamedTuple):
    """CPU time per transaction, per flush, and per transaction and each one beyond the cores."""

    transaction_s: float
    flush_s: float
    crowd_s: float


def cpu(rungs: Sequence[Observed], cores: int) -> Cpu:
    """A least-squares fit of relative errors, with no share below 0, and the transaction's at least
    LEAST_OWN of what it costs. A flush costs no more than the log write latency of the fewest
    users.

    >>> rungs = [Observed(n, 1, 1, 4e-4 + 1e-4 / n + 1e-5 * max(0, n - 2), 0, 1e-3, 1 / n)
    ...          for n in (1, 2, 4, 8)]
    >>> [round(1e6 * each) for each in cpu(rungs, cores=2)]
    [400, 100, 10]
    """
    import numpy as np
    from scipy.optimize import lsq_linear

    seen = np.array([one.cpu_s for one in rungs])
    parts = np.array([[1.0, one.flushes, max(0, one.users - cores)] for one in rungs])
    least = [LEAST_OWN * seen.min(), 0.0, 0.0]
    most = np.where(parts.any(axis=0), [np.inf, max(TINY, rungs[0].flush_s), np.inf], TINY)
    found = lsq_linear(parts / seen[:, None], np.ones(len(seen)), (least, most))
    return Cpu(*map(float, found.x))


def fitted(
    rungs: Sequence[Observed],
    cores: int,
    simulation: Simulation,
    like: SimulatedStorage | None = None,
    *,
    log_apart: bool = True,
) -> SimulatedStorage:
    """The model of one configuration. `like`: the model of nearly the same rungs, from whose
    parameters the search begins; `log_apart`: the log has a drive of its own.
    """
    found = counted(rungs, cores, log_apart=log_apart)
    if like:
        kept = {"read_channels": like.read_channels, "affinity": like.affinity}
        return _searched(found.model_copy(update=kept), rungs, simulation, near=True)
    for round_number in range(ROUNDS):
        found = _searched(found, rungs, simulation, near=round_number > 0)
    return found


def _searched(
    model: SimulatedStorage, rungs: Sequence[Observed], simulation: Simulation, *, near: bool
) -> SimulatedStorage:
    """A round of the search. `near`: channels and affinity are nearly right."""
    found = _drive_times(model, rungs, simulation)
    if found.reads_per_transaction:
        channels = _near(CHANNELS, found.read_channels) if near else CHANNELS
        found = _best(found, "read_channels", channels, rungs, simulation)
    affinities = _near(AFFINITIES, found.affinity) if near else AFFINITIES
    return _best(found, "affinity", affinities, rungs, simulation)


def counted(rungs: Sequence[Observed], cores: int, *, log_apart: bool) -> SimulatedStorage:
    """The model by what is counted, before any simulation."""
    costs = cpu(rungs, cores)
    reads = median(one.reads for one in rungs)
    reads = reads if reads > HARDLY else 0.0
    waited = _waited(rungs[0], costs) if reads else 1.0
    return SimulatedStorage(
        cores=cores,
        cpu_per_transaction=costs.transaction_s,
        **_flush(rungs[0], costs, waited),
        contention=min(1.0, costs.crowd_s / costs.transaction_s),
        reads_per_transaction=waited * reads,
        **_aside(rungs, (1 - waited) * reads),
        log_on_data_drive=bool(reads) and not log_apart,
        read_latency=rungs[0].read_s,
        **_beside(rungs, waited),
        log_time_per_commit=0.0,
    ).model_copy(update=QUIET)


def _near(values: Sequence[float], to: float) -> Sequence[float]:
    """A value, and two on either side.

    >>> _near((1, 2, 3, 4, 6, 8), 1), _near((1, 2, 3, 4, 6, 8), 6)
    ((1, 2, 3), (3, 4, 6, 8))
    """
    at = values.index(to)
    return values[max(0, at - 2) : at + 3]


def _aside(rungs: Sequence[Observed], reads: float) -> dict[str, float]:
    """What the data device does that no user waits for: writes, and so many of the reads, as pages
    of one latency.
    """
    alone, writes = rungs[0], fmean(one.writes for one in rungs)
    if not (alone.read_s and writes + reads):
        return {}
    took_s = writes * alone.write_s + reads * alone.read_s
    pages = writes + reads
    return {"writes_per_transaction": pages, "write_latency": took_s / pages}


def _beside(rungs: Sequence[Observed], waited: float) -> dict[str, float]:
    """CPU time per read that is waited for, and per flush, that no user waits for: as much for
    either, and by the median, since other processes on the machine only add to it.
    """
    requests = [max(TINY, waited * one.reads + one.flushes) for one in rungs]
    each_s = [one.beside_s / number for one, number in zip(rungs, requests, strict=True)]
    per_request_s = median(each_s)
    return {"cpu_beside_read": per_request_s, "cpu_beside_flush": per_request_s}


def _waited(alone: Observed, costs: Cpu) -> float:
    """The share of the reads that a transaction waits for; others are read ahead, or by processes
    that work in the background. It waits for no more than its time beyond CPU time and flushes.
    """
    drive_s = max(0.0, alone.flush_s - costs.flush_s)
    left_s = alone.latency_s - alone.cpu_s - alone.flushes * drive_s
    return min(1.0, max(LEAST_WAITED, left_s / max(TINY, alone.reads * alone.read_s)))


def _flush(alone: Observed, costs: Cpu, waited: float) -> dict[str, float]:
    """The parts of a flush. A user alone is never kept waiting by another: what of a transaction
    is neither CPU time nor reads is the drive's time for its flush. The rest of the log write
    latency is CPU time within the flush, and CPU time beyond that comes after it.
    """
    idle_s = alone.latency_s - alone.cpu_s - waited * alone.reads * alone.read_s
    drive_s = min(alone.flush_s, max(0.0, idle_s / max(TINY, alone.flushes)))
    within_s = min(costs.flush_s, alone.flush_s - drive_s)
    return {
        "log_latency": alone.flush_s - within_s,
        "cpu_per_flush": within_s,
        "cpu_after_flush": costs.flush_s - within_s,
    }


def _drive_times(
    model: SimulatedStorage, rungs: Sequence[Observed], simulation: Simulation
) -> SimulatedStorage:
    """With the drive's times for a flush and for a read that give the log write latency and the
    read times of the fewest users.
    """
    low = rungs[:LOW]
    found = [simulation.at(model, one.users).seen for one in low]
    off_s = fmean(one.flush_s for one in low) - fmean(one.flush_s for one in found)
    update = {"log_latency": max(0.0, model.log_latency + off_s)}
    reads = [(one.read_s, seen.read_s) for one, seen in zip(low, found, strict=True)]
    if model.reads_per_transaction and all(map(all, reads)):
        off = fmean(math.log(one_s / seen_s) for one_s, seen_s in reads)
        update["read_latency"] = model.read_latency * math.exp(off)
    return model.model_copy(update=update)


def _best(
    model: SimulatedStorage,
    name: str,
    values: Sequence[float],
    rungs: Sequence[Observed],
    simulation: Simulation,
) -> SimulatedStorage:
    """With the value of one parameter that is nearest to the rungs."""
    tried = [model.model_copy(update={name: value}) for value in values]
    return min(tried, key=lambda one: misfit(one, rungs, simulation))


def misfit(model: SimulatedStorage, rungs: Sequence[Observed], simulation: Simulation) -> float:
    """The mean square of the relative errors of throughput, and of read times where there are
    reads.
    """
    errors = []
    for one in rungs:
        seen = simulation.at(model, one.users).seen
        errors.append(math.log(seen.throughput_per_s / one.throughput_per_s))
        if model.reads_per_transaction and one.read_s and seen.read_s:
            errors.append(math.log(seen.read_s / one.read_s))
    return fmean(error**2 for error in errors)
