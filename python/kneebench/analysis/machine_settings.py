"""The machine's own settings, by the names that a plan has for them, and those that the plan set.

A campaign keeps the machine as it was before the plan's settings were written, so a setting of the
plan has another value while it is measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from kneebench import units
from kneebench.analysis.wording import plural
from kneebench.records import Campaign, Host, MemoryModule

SYSCTLS = {
    "dirty_ratio": "vm.dirty_ratio",
    "dirty_background_ratio": "vm.dirty_background_ratio",
    "dirty_bytes": "vm.dirty_bytes",
    "dirty_background_bytes": "vm.dirty_background_bytes",
    "swappiness": "vm.swappiness",
    "overcommit_memory": "vm.overcommit_memory",
    "numa_balancing": "kernel.numa_balancing",
}
"""The sysctls among the settings of a host, which keeps them without the part before the dot."""


def named_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings of a host, sysctls by their full names.

    >>> named_settings({"dirty_ratio": "0", "dirty_bytes": "1048576", "smt": "1"})
    {'vm.dirty_ratio': '0', 'vm.dirty_bytes': '1048576', 'smt': '1'}
    """
    return {SYSCTLS.get(name, name): value for name, value in settings.items()}


def machine_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """The same; of two that set each other to 0, only the one that is in force.

    >>> machine_settings({"dirty_ratio": "0", "dirty_bytes": "1048576", "smt": "1"})
    {'vm.dirty_bytes': '1048576', 'smt': '1'}
    """
    named = named_settings(settings)
    unused = {name for name, value in named.items() if value == "0" and _other(name) in named}
    return {name: value for name, value in named.items() if name not in unused}


def settings_of_the_plan(campaign: Campaign) -> dict[str, str]:
    """The sysctls that the plan set, and "0" for those that this set to 0."""
    return dict(_set_by(campaign))


def _set_by(campaign: Campaign) -> Iterator[tuple[str, str]]:
    for name, value in campaign.resolved.sysctls.items():
        yield name, value
        if other := _other(name):
            yield other, "0"


def _other(name: str) -> str:
    """The one of a pair that the kernel sets to 0 when this one is written; empty for most.

    >>> _other("vm.dirty_bytes"), _other("vm.swappiness")
    ('vm.dirty_ratio', '')
    """
    if not name.startswith("vm.dirty_") or not name.endswith(("_bytes", "_ratio")):
        return ""
    start, _, end = name.rpartition("_")
    return f"{start}_{'ratio' if end == 'bytes' else 'bytes'}"


# Memory modules in words: those that are alike together, then the slots without one.


def modules_in_words(host: Host) -> str:
    """The modules of a machine; empty where they are unknown.

    >>> one = MemoryModule(size_bytes=2**35, kind="DDR5", rated_mt_s=5600, configured_mt_s=4800)
    >>> machine = {"cpu": "", "cores": 2, "memory_bytes": 2**36, "kernel": "", "system": ""}
    >>> modules_in_words(Host(**machine, memory_modules=(one, one), memory_slots=4))
    '2 x 32 GiB DDR5, 4800 MT/s (made for 5600 MT/s); 2 slots empty'
    """
    alike = Counter(host.memory_modules)
    texts = [f"{number} x {_module(one)}" for one, number in alike.items()]
    free = (host.memory_slots or 0) - len(host.memory_modules)
    return "; ".join([*texts, *([f"{plural(free, 'slot')} empty"] if texts and free > 0 else [])])


def _module(one: MemoryModule) -> str:
    """Its size, kind and speed, and the speed that it is made for where that is another one."""
    runs, made_for = one.configured_mt_s, one.rated_mt_s
    speed = f"{runs or made_for} MT/s" if runs or made_for else ""
    if runs and made_for and runs != made_for:
        speed += f" (made for {made_for} MT/s)"
    who = " ".join(filter(None, (one.maker, one.part)))
    kind = " ".join(filter(None, (units.size(one.size_bytes), one.kind)))
    return ", ".join(filter(None, (kind, speed, who)))
