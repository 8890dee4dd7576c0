"""Memory modules in words: those that are alike together, then the slots without one."""

from __future__ import annotations

from collections import Counter

from kneebench import units
from kneebench.analysis.wording import plural
from kneebench.records import Host, MemoryModule


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
