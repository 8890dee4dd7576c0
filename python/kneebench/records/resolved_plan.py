"""The plan of a campaign as the analysis asks it: resolved once, by the plan's own rules."""

from __future__ import annotations

from pydantic import Field

from kneebench.records.climb import Limits
from kneebench.records.configuration import Configuration
from kneebench.records.record import Record


class PlannedStorage(Record):
    """A storage of the plan."""

    limits: Limits = Limits()
    """Limits of its stop conditions."""
    copies: int = 1
    """Copies of each block, as its devices count them."""
    log_apart: bool = False
    """Whether the log has a directory or volume apart from the data's."""
    shared: bool = False
    """Whether several of its volumes share emulated drives and their limits."""


class PlannedDatabase(Record):
    """A database of the plan."""

    engine: str
    """Name of its engine, such as postgres."""
    memory_bytes: int | None = None
    """Memory limit that it has on all configurations; None: not limited."""


class ResolvedPlan(Record):
    """What the figures of a campaign depend on, with defaults filled in.

    Of a plan that this version does not know, only what it still says; the rest has its defaults.
    """

    question: str = ""
    """Question that the campaign answers."""
    baseline: str = ""
    """Name of the storage that the others are compared with."""
    configurations: tuple[Configuration, ...] = ()
    """Configurations of the plan, the baseline's first."""
    storages: dict[str, PlannedStorage] = Field(default_factory=dict)
    """Storages by their names in the plan."""
    databases: dict[str, PlannedDatabase] = Field(default_factory=dict)
    """Databases by name; of a plan with one database by ""."""
    warehouses: int = 0
    """Number of warehouses in each database."""
    home: str = "all"
    """Home warehouses of a user: "all" of them, or "one" (plan.md)."""
    connections: int = 0
    """Connections shared by all users; 0 for one each."""
    fixed_load: bool = False
    """Whether the plan sets the number of users."""
    precision: float = 0.0
    """Half-width of the throughput ratio's interval, a fraction, that ends short rounds."""
    fewest_rounds: int = 0
    """Fewest final runs per storage, before `precision` may end them."""
    most_rounds: int = 0
    """Most final runs per storage."""
    sysctls: dict[str, str] = Field(default_factory=dict)
    """Kernel settings that the plan sets, by name."""
    emulated: bool = False
    """Whether a volume is made of emulated drives."""
