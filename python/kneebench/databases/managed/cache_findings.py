"""A finding on the caches of servers, as their settings size them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kneebench.lab.preparation import Resources, Shares
from kneebench.records import Finding
from kneebench.units import size


def too_large_cache(
    shares: Shares,
    name: str,
    settings_for: Callable[[Resources], Mapping[str, str]],
    setting_bytes: Callable[[str], int],
) -> Iterator[Finding]:
    """An error where the cache by the setting `name` is more than the memory of one of the plan's
    servers. Sizes of a constraint's `engine_memory` are judged with the constraints.
    """
    own = (one for one in shares.plan.configurations if not one.engine_memory_bytes)
    for resources in dict.fromkeys(map(shares.resources_of, own)):
        cache, there = setting_bytes(settings_for(resources)[name]), resources.memory_bytes
        if cache > there:
            seen = f"{name} is {size(cache)}, and the server has {size(there)} of memory"
            do = f"use a smaller {name}"
            yield Finding(level="error", subject="database.settings", seen=seen, do=do)
            return
