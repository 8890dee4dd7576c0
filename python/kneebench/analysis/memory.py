"""Memory limits of a campaign, and the size of its data beside them: what a reader must know before
any figure of reads.

The limit is that of a configuration (its constraint) or of the plan (`database.memory`); both count
the page cache. The data are the loaded database as it was kept, or by the engine's formula.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kneebench.analysis.wording import plural
from kneebench.engine_properties import engine_properties
from kneebench.records import Campaign, Results
from kneebench.shelf import ENGINES
from kneebench.units import rounded, size


class LimitedMemory(NamedTuple):
    """The memory limits of one database, the smallest first, and its data. `unlimited`: whether a
    configuration has none. `database`: its name in a plan with several. `homes`: of how many
    warehouses the users have one each, and of how many in all; empty where all users use all.
    """

    limits_bytes: tuple[int, ...]
    data_bytes: int
    unlimited: bool = False
    database: str = ""
    homes: tuple[int, ...] = ()

    @property
    def data_to_memory(self) -> tuple[float, ...]:
        """How many times the data are as large as each limit."""
        return tuple(self.data_bytes / limit for limit in self.limits_bytes)

    @property
    def sentence(self) -> str:
        """Both, for people.

        >>> LimitedMemory((2**29, 2**30, 2**31), 2**32, unlimited=True).sentence
        'Memory limit: 512 MiB to 2 GiB (3 sizes), and none. Data: 4 GiB, 8 to 2 times the memory.'
        """
        first, last = self.limits_bytes[0], self.limits_bytes[-1]
        ratios = [rounded(self.data_to_memory[at]) for at in (0, -1)]
        several = len(self.limits_bytes) > 1
        limits = f"{size(first)} to {size(last)}" if several else size(first)
        many = f" ({plural(len(self.limits_bytes), 'size')})" if several else ""
        none = ", and none" if self.unlimited else ""
        times = " to ".join(ratios if several else ratios[:1])
        start = f"{self.database}: memory" if self.database else "Memory"
        return (
            f"{start} limit: {limits}{many}{none}. Data: {size(self.data_bytes)}, {times} times the"
            f" memory.{self._homes}"
        )

    @property
    def _homes(self) -> str:
        if not self.homes:
            return ""
        used, every = self.homes
        return f" Users work mostly in {used} of the {every} warehouses, one each."


def limited_memory(results: Results) -> tuple[LimitedMemory, ...]:
    """That of each database with a limit; databases that do not differ in it count once. Empty for
    a campaign without limits.
    """
    found = tuple(_of_each(results))
    alike = {one._replace(database="") for one in found}
    return tuple(alike) if len(alike) == 1 else found


def memory_document(results: Results) -> list[dict[str, Any]]:
    return [
        {**one._asdict(), "data_to_memory": one.data_to_memory} for one in limited_memory(results)
    ]


def _of_each(results: Results) -> Iterator[LimitedMemory]:
    campaign = results.campaign
    for database, planned in campaign.resolved.databases.items():
        own = planned.memory_bytes
        configurations = (
            climb.configuration
            for climb in results.climbs
            if climb.configuration.database == database
        )
        limits = {configuration.memory_bytes or own for configuration in configurations}
        loaded = data_bytes(campaign, database, planned.engine)
        if (some := sorted(one for one in limits if one)) and loaded:
            yield LimitedMemory(tuple(some), loaded, None in limits, database, _homes(results))


def _homes(results: Results) -> tuple[int, ...]:
    planned = results.campaign.resolved
    users = max((rung.users for climb in results.climbs for rung in climb.rungs), default=0)
    fewer = planned.home == "one" and 0 < users < planned.warehouses
    return (users, planned.warehouses) if fewer else ()


def data_bytes(campaign: Campaign, database: str, engine: str) -> int:
    """The loaded data of a database, by its base image, else by the number of warehouses."""
    kept = campaign.image_of(database).get("bytes", "")
    warehouses = campaign.resolved.warehouses
    if kept.isdecimal():
        return int(kept)
    known = engine in ENGINES.names() and warehouses
    return engine_properties(engine).footprint.data_bytes(warehouses) if known else 0
