"""The plan of a campaign as the analysis asks it: resolved once, by the plan's own rules."""

from __future__ import annotations

from pydantic import Field

from kneebench.records.climb import Limits
from kneebench.records.configuration import Configuration
from kneebench.records.record import Record


class PlannedStorage(Record):
    """A storage of the plan: the limits of its stop conditions; `copies` of each block, as its
    devices count them; `log_apart`: the log is on a storage of its own; `shared`: one with the same
    limits.
    """

    limits: Limits = Limits()
    copies: int = 1
    log_apart: bool = False
    shared: bool = False


class PlannedDatabase(Record):
    """A database of the plan: its engine, and the memory limit that it has on all configurations;
    None: not limited.
    """

    engine: str
    memory_bytes: int | None = None


class ResolvedPlan(Record):
    """What the figures of a campaign depend on, with defaults filled in.

    `configurations`: the baseline's first. `databases`: by name, of a plan with one database by "".
    `connections`: shared by all users, 0 for one each. `fixed_load`: the plan sets the number of
    users. `home`: where a user works, "all" or "one" (plan.md). `precision`: the half-width that
    ends short rounds, after at least `fewest_rounds`. `sysctls`: those that the plan sets.
    `emulated`: whether a volume is made of emulated drives.

    Of a plan that this version does not know, only what it still says.
    """

    question: str = ""
    baseline: str = ""
    configurations: tuple[Configuration, ...] = ()
    storages: dict[str, PlannedStorage] = Field(default_factory=dict)
    databases: dict[str, PlannedDatabase] = Field(default_factory=dict)
    warehouses: int = 0
    home: str = "all"
    connections: int = 0
    fixed_load: bool = False
    precision: float = 0.0
    fewest_rounds: int = 0
    most_rounds: int = 0
    sysctls: dict[str, str] = Field(default_factory=dict)
    emulated: bool = False
