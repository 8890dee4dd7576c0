"""What is asked: another drive, memory or number of cores, and the model with that change."""

from __future__ import annotations

from collections.abc import Mapping

from kneebench.analysis.wording import plural
from kneebench.databases.engines.simulated.storage import SimulatedStorage
from kneebench.errors import PlanError
from kneebench.prediction.misses import MissCurve
from kneebench.prediction.observed import HARDLY
from kneebench.records import Record
from kneebench.units import size, time

MOST_CORES = 2
"""Factor of the cores that were measured, either way, beyond which nothing is predicted."""

MOST_DRIVE = 100
"""Factor of the drive's times that were measured, either way, beyond which nothing is predicted."""

LEAST_LEFT = 0.1
"""Share of the CPU time of a transaction that is the database's at least."""


class WhatIf(Record):
    """What differs from the configuration that was measured; None: nothing."""

    log_write_s: float | None = None
    """Time of a log write with its flush, for one user."""
    read_s: float | None = None
    """Time of a read at queue depth 1."""
    reads_at_once: int | None = None
    """Reads that the drive serves at the same time."""
    memory_bytes: int | None = None
    """Memory of the database."""
    cores: int | None = None
    """Cores of the configuration."""

    @property
    def words(self) -> str:
        """What differs, for people.

        >>> WhatIf(log_write_s=40e-6, cores=8).words
        'log writes of 40 µs, 8 cores'
        """
        parts = (
            self.log_write_s is not None and f"log writes of {time(self.log_write_s)}",
            self.read_s is not None and f"reads of {time(self.read_s)}",
            self.memory_bytes is not None and f"{size(self.memory_bytes)} of memory",
            self.cores is not None and plural(self.cores, "core"),
        )
        return ", ".join(part for part in parts if part)


def require_near(change: WhatIf, flush_s: float, read_s: float) -> None:
    """Raises PlanError for a drive whose times are too far from those that were measured."""
    times = (("log writes", change.log_write_s, flush_s), ("reads", change.read_s, read_s))
    for what, wanted_s, had_s in times:
        if wanted_s and had_s and not 1 / MOST_DRIVE <= wanted_s / had_s <= MOST_DRIVE:
            raise PlanError(
                f"cannot predict {what} of {time(wanted_s)}",
                seen=f"{time(had_s)} was measured",
                do=f"use {time(had_s / MOST_DRIVE)} to {time(had_s * MOST_DRIVE)}, or measure it",
            )


def changed(
    model: SimulatedStorage,
    change: WhatIf,
    misses: MissCurve,
    memory_bytes: int | None,
    joining_s: float = 0.0,
) -> SimulatedStorage:
    """The model with a change; `memory_bytes`: what the configuration had. `joining_s`: CPU time
    per transaction that comes onto the cores with another number of them, below 0: leaves them.
    Raises PlanError for a change that is too far from what was measured.
    """
    update: dict[str, object] = {}
    if change.cores is not None:
        update |= _cores(model, change.cores, joining_s)
    if change.memory_bytes is not None:
        update |= _memory(model, change.memory_bytes, misses, memory_bytes)
    if change.log_write_s is not None:
        update |= log_write(model, change.log_write_s)
    if change.read_s is not None:
        update["read_latency"] = change.read_s
    if change.reads_at_once is not None:
        update["read_channels"] = change.reads_at_once
    return model.model_copy(update=update)


def log_write(model: SimulatedStorage, log_write_s: float) -> Mapping[str, float]:
    """The parts of a log write of so long. Its CPU time stays, but is no longer than it takes.

    >>> flush = SimulatedStorage(log_latency=1e-4, cpu_per_flush=5e-5)
    >>> log_write(flush, 2e-4)
    {'log_latency': 0.00015, 'cpu_per_flush': 5e-05}
    >>> log_write(flush, 2e-5)
    {'log_latency': 0.0, 'cpu_per_flush': 2e-05}
    """
    cpu_s = min(model.cpu_per_flush, log_write_s)
    return {"log_latency": round(log_write_s - cpu_s, 9), "cpu_per_flush": cpu_s}


def _cores(model: SimulatedStorage, cores: int, joining_s: float) -> Mapping[str, object]:
    if not model.cores / MOST_CORES <= cores <= model.cores * MOST_CORES:
        least, most = max(1, -(-model.cores // MOST_CORES)), model.cores * MOST_CORES
        raise PlanError(
            f"cannot predict {cores} cores",
            seen=f"{model.cores} cores were measured",
            do=f"use {least} to {most}, or measure a campaign with more",
        )
    cpu_s = max(LEAST_LEFT * model.cpu_per_transaction, model.cpu_per_transaction + joining_s)
    return {"cores": cores, "cpu_per_transaction": cpu_s}


def _memory(
    model: SimulatedStorage, wanted: int, misses: MissCurve, had: int | None
) -> Mapping[str, object]:
    more = had is None or wanted >= had
    if not model.reads_per_transaction and more:
        return {}
    reads = misses.at(wanted)
    if had and (before := misses.at(had)):
        reads *= model.reads_per_transaction / before
    return {"reads_per_transaction": reads if reads > HARDLY else 0.0}
