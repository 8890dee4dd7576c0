"""A configuration: one storage with one database under one constraint."""

from __future__ import annotations

from typing import Any

from kneebench.records.record import Record


def configuration_name(storage: str, constraint: str, database: str = "") -> str:
    """What people read of a configuration: the storage, the database where the plan has several,
    and the constraint if there is one.

    >>> configuration_name("disk", "2 cores", "mariadb")
    'disk, mariadb (2 cores)'
    """
    place = f"{storage}, {database}" if database else storage
    return f"{place} ({constraint})" if constraint else place


class IoLimits(Record):
    """Limits of the database's I/O on each drive; None: not limited."""

    read_iops: int | None = None
    """Most reads per second."""
    write_iops: int | None = None
    """Most writes per second."""
    read_bytes: int | None = None
    """Most bytes read per second."""
    write_bytes: int | None = None
    """Most bytes written per second."""


class Configuration(Record):
    """One storage with one database under one constraint: the subject of a climb.

    `cores`, `memory_bytes`, `engine_memory_bytes`, `numa_node` and `io` are what the constraint
    allows the database, and `databases` how many have users; None: not limited by it. The number of
    saturating cores is found when the campaign begins: a climb has it, the plan does not.
    """

    id: str
    """Identifier within the campaign, and a valid file name."""
    storage: str
    """Name of the storage in the plan."""
    constraint: str = ""
    """Name of the constraint; empty without one."""
    cores: int | None = None
    """Number of cores of the database."""
    memory_bytes: int | None = None
    """Memory of the database with the page cache."""
    engine_memory_bytes: int | None = None
    """Size of the database's own cache, by its own setting."""
    databases: int | None = None
    """Number of the server's databases that have users."""
    reference: bool = False
    """Whether it has no constraint and is shown apart from a sweep."""
    siblings: bool = True
    """Whether SMT siblings count as cores; false: one of each physical core."""
    numa_node: int | None = None
    """NUMA node of its cores and its memory."""
    io: IoLimits | None = None
    """Limits of reads and writes on each drive."""
    other_limits: str = ""
    """Siblings, NUMA node and I/O limits in words."""
    database: str = ""
    """Name of the database; empty where the plan has one."""

    @property
    def limited(self) -> dict[str, Any]:
        """What it limits, by field; empty for a reference, or without a constraint.

        >>> Configuration(id="a", storage="a", cores=1, siblings=False).limited
        {'cores': 1, 'siblings': False}
        """
        sizes = ("cores", "memory_bytes", "engine_memory_bytes", "databases")
        fields = (*sizes, "siblings", "numa_node", "io")
        values = ((name, getattr(self, name)) for name in fields)
        return {name: value for name, value in values if value is not None and value is not True}

    @property
    def name(self) -> str:
        """What people read."""
        return configuration_name(self.storage, self.constraint, self.database)

    @property
    def unlimited_name(self) -> str:
        """The same without the constraint."""
        return configuration_name(self.storage, "", self.database)
