"""The plan's table of a simulated storage: the figures that the simulated engine's model is made
of.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kneebench.plan.storage import Storage
from kneebench.plan.values import MONTH_S, Number, Part, Switch, Whole
from kneebench.records import Configuration
from kneebench.units import Seconds, Watts


class SimulatedStorage(Part):
    """Drives of the simulated engine: a model, not a device."""

    cores: Annotated[Whole, Field(ge=1, le=4096, description="Cores of the simulated database")] = 4
    cpu_per_transaction: Annotated[
        Seconds, Field(gt=0, le=3600, description="CPU time per transaction")
    ] = 0.0005
    reads_per_transaction: Annotated[
        Number, Field(ge=0, le=10_000, description="Buffer misses per transaction")
    ] = 2.0
    uncached_reads_per_transaction: Annotated[
        Number,
        Field(
            ge=0,
            le=10_000,
            description=(
                "Buffer misses per transaction without any cache; a memory limit leaves as many of"
                " them as the data exceeds it"
            ),
        ),
    ] = 20.0
    read_latency: Annotated[
        Seconds, Field(le=3600, description="Latency of one read at queue depth 1")
    ] = 0.0001
    read_channels: Annotated[
        Whole, Field(ge=1, le=65_536, description="Concurrent reads of the data device")
    ] = 16
    writes_per_transaction: Annotated[
        Number,
        Field(
            ge=0,
            le=10_000,
            description=(
                "Pages written in the background per transaction, on the same channels as reads"
            ),
        ),
    ] = 0.0
    write_latency: Annotated[
        Seconds, Field(le=3600, description="Latency of one such write at queue depth 1")
    ] = 0.0001
    log_on_data_drive: Annotated[
        Switch, Field(description="Log flushes use a channel of the data device, too")
    ] = False
    log_latency: Annotated[Seconds, Field(le=3600, description="Latency of one log flush")] = 0.0005
    noise: Annotated[
        Number, Field(ge=0, le=0.5, description="Relative scatter of service times between seconds")
    ] = 0.01
    restore_noise: Annotated[
        Number,
        Field(ge=0, le=0.5, description="Relative scatter of service times between restores"),
    ] = 0.005
    contention: Annotated[
        Number,
        Field(
            ge=0,
            le=1,
            description=(
                "Extra CPU time per transaction for each transaction beyond the number of cores, as"
                " a fraction; above 0, throughput peaks"
            ),
        ),
    ] = 0.0
    affinity: Annotated[
        Number,
        Field(
            ge=0,
            le=1,
            description=(
                "Share of the work that waits for one core, drawn at random, even if another is"
                " idle"
            ),
        ),
    ] = 0.0
    cold_reads_per_transaction: Annotated[
        Number,
        Field(
            ge=0,
            le=10_000,
            description="Additional buffer misses per transaction right after a restore",
        ),
    ] = 4.0
    warm_after: Annotated[
        Whole, Field(ge=1, le=10**12, description="Transactions until those have fallen to 1/e")
    ] = 2000
    log_time_per_commit: Annotated[
        Seconds, Field(le=3600, description="Time that each commit adds to its flush")
    ] = 0.00001
    cpu_per_flush: Annotated[
        Seconds,
        Field(
            le=3600,
            description="CPU time within a log flush: the flush waits for a core, as users do",
        ),
    ] = 0.0
    cpu_after_flush: Annotated[
        Seconds, Field(le=3600, description="CPU time of each log flush after its end")
    ] = 0.0
    cpu_beside_flush: Annotated[
        Seconds, Field(le=3600, description="CPU time per log flush that no user waits for")
    ] = 0.0
    cpu_beside_read: Annotated[
        Seconds, Field(le=3600, description="CPU time per read that no user waits for")
    ] = 0.0
    checkpoint_every: Annotated[
        Seconds, Field(le=MONTH_S, description='Time between checkpoints; "0s": none')
    ] = 30.0
    idle_power: Annotated[
        Watts, Field(le=1e6, description="Power of the simulated server without work")
    ] = 100.0
    core_power: Annotated[
        Watts, Field(le=1e6, description="Additional power of each core that works")
    ] = 20.0
    drive_power: Annotated[
        Watts, Field(le=1e6, description="Additional power of each drive that works (data, log)")
    ] = 8.0
    full_after_users: Annotated[
        Whole,
        Field(
            ge=0,
            le=100_000,
            description=(
                "Maximum concurrent transactions, beyond which they are refused; 0: unlimited"
            ),
        ),
    ] = 0
    deadlocks: Annotated[
        Number,
        Field(
            ge=0,
            lt=1,
            description="Fraction of transactions that end in a deadlock and are retried",
        ),
    ] = 0.0
    row_locks: Annotated[
        Switch,
        Field(
            description=(
                "New-Orders and payments hold their district's row, payments their warehouse's too,"
                " until their log flush ends"
            )
        ),
    ] = False
    dies_after: Annotated[
        Seconds,
        Field(
            le=MONTH_S, description='Time from a restore to a simulated server crash; "0s": never'
        ),
    ] = 0.0


def drives_of(storage: Storage) -> SimulatedStorage | None:
    """The drives that a storage's table `simulated` describes; None without one."""
    found = storage.own_table("simulated")
    return found if isinstance(found, SimulatedStorage) else None


def constrained(
    storage: SimulatedStorage, configuration: Configuration, data_bytes: int
) -> SimulatedStorage:
    """The drives as a configuration sees them: with its cores, and with more misses the less of the
    data its memory holds (as if the hottest rows were cached first: the square of what it lacks).

    >>> small = Configuration(id="small", storage="disk", cores=2, memory_bytes=50)
    >>> found = constrained(SimulatedStorage(), small, data_bytes=100)
    >>> found.cores, found.reads_per_transaction
    (2, 6.5)
    """
    sizes = [
        size for size in (configuration.memory_bytes, configuration.engine_memory_bytes) if size
    ]
    lacking = max(0.0, 1 - min(sizes) / data_bytes) if sizes else 0.0
    warm, bare = storage.reads_per_transaction, storage.uncached_reads_per_transaction
    misses = warm + max(0.0, bare - warm) * lacking**2
    cores = min(storage.cores, configuration.cores or storage.cores)
    return storage.model_copy(update={"cores": cores, "reads_per_transaction": misses})
