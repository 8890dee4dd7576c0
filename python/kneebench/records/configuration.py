"""A configuration: one storage with one database under one constraint."""

from __future__ import annotations

from kneebench.records.record import Record


def configuration_name(storage: str, constraint: str, database: str = "") -> str:
    """What people read of a configuration: the storage, the database where the plan has several,
    and the constraint if there is one.

    >>> configuration_name("disk", "2 cores", "mariadb")
    'disk, mariadb (2 cores)'
    """
    place = f"{storage}, {database}" if database else storage
    return f"{place} ({constraint})" if constraint else place


class IoAllowance(Record):
    """Most I/Os and bytes per second on each drive; None: not limited."""

    read_iops: int | None = None
    write_iops: int | None = None
    read_bytes: int | None = None
    write_bytes: int | None = None


class Configuration(Record):
    """One storage with one database under one constraint, called configuration in user-facing text:
    the subject of a climb. `id` is a valid file name; `database` is empty where the plan has one.

    What the constraint allows the database: `cores` (a number of them), `memory_bytes` with the
    page cache, `engine_memory_bytes` by the database's own setting, `numa_node` of cores and
    memory, `io` of each drive; None: not limited by it. Without `siblings` one of each physical
    core is used. `reference`: a configuration without a constraint, shown apart from a sweep.
    `other_limits`: the last three in words. Older files have these words alone.
    """

    id: str
    storage: str
    constraint: str = ""
    cores: int | None = None
    memory_bytes: int | None = None
    engine_memory_bytes: int | None = None
    reference: bool = False
    siblings: bool = True
    numa_node: int | None = None
    io: IoAllowance | None = None
    other_limits: str = ""
    database: str = ""

    @property
    def name(self) -> str:
        """What people read."""
        return configuration_name(self.storage, self.constraint, self.database)

    @property
    def unlimited_name(self) -> str:
        """The same without the constraint."""
        return configuration_name(self.storage, "", self.database)
