"""The memory modules of this machine, as its firmware reports them (SMBIOS, type 17), by
dmidecode(8).

Only root can read them. Serial numbers and asset tags are never kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kneebench.lab.inventory.sources import Sources
from kneebench.lab.programs import found, run_program
from kneebench.records import MemoryModule
from kneebench.visible import escaped

COMMAND = ("dmidecode", "--type", "17")
LIMIT_S = 10.0
TABLE = "firmware/dmi/tables/DMI"
"""Below /sys; without it dmidecode would search /dev/mem."""
UNITS = {"kB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
"""dmidecode's names of binary units."""
NAMELESS = {"", "Unknown", "Not Specified", "NOT AVAILABLE", "Undefined", "None"}
LONGEST = 60


class Slots(NamedTuple):
    """The modules, the number of slots (None: unknown), and why they are unknown."""

    modules: tuple[MemoryModule, ...] = ()
    slots: int | None = None
    unknown: str = ""


def memory_modules(sources: Sources) -> Slots:
    """The modules in their slots; where they cannot be read, the reason."""
    if not (sources.sys / TABLE).exists():
        return Slots(unknown="the firmware has no SMBIOS table")
    if os.geteuid() != 0:
        return Slots(unknown="only root can read them")
    if not found(COMMAND[0]):
        return Slots(unknown="dmidecode is missing")
    try:
        printed = run_program(*COMMAND, limit_s=LIMIT_S)
    except OSError as error:
        return Slots(unknown=escaped(str(error))[:LONGEST])
    slots = list(modules_in(printed))
    modules = tuple(filter(None, slots))
    return Slots(modules, len(slots), "" if modules else "dmidecode reports none")


def modules_in(printed: str) -> Iterator[MemoryModule | None]:
    """The modules in what dmidecode prints, None for an empty slot.

    >>> text = "Memory Device\\n\\tSize: 16 GB\\n\\tType: DDR4\\n\\tSpeed: 3200 MT/s\\n"
    >>> [(one.size_bytes, one.kind, one.rated_mt_s) for one in modules_in(text)]
    [(17179869184, 'DDR4', 3200)]
    >>> list(modules_in("Memory Device\\n\\tSize: No Module Installed\\n"))
    [None]
    """
    for block in re.split(r"\n\s*\n", printed):
        if re.search(r"^Memory Device\s*$", block, re.MULTILINE):
            lines = (line.strip().partition(":") for line in block.splitlines())
            yield _module({name: value.strip() for name, colon, value in lines if colon})


def _module(facts: Mapping[str, str]) -> MemoryModule | None:
    size = re.fullmatch(r"(\d+) (kB|MB|GB|TB)", facts.get("Size", ""))
    if not size or not int(size[1]):
        return None
    configured = facts.get("Configured Memory Speed", facts.get("Configured Clock Speed", ""))
    return MemoryModule(
        size_bytes=int(size[1]) * UNITS[size[2]],
        kind=_named(facts, "Type"),
        rated_mt_s=_speed(facts.get("Speed", "")),
        configured_mt_s=_speed(configured),
        maker=_named(facts, "Manufacturer"),
        part=_named(facts, "Part Number"),
    )


def _speed(text: str) -> int | None:
    """Older dmidecode calls transfers MHz."""
    found = re.fullmatch(r"(\d+) (?:MT/s|MHz)", text)
    return int(found[1]) or None if found else None


def _named(facts: Mapping[str, str], name: str) -> str:
    text = facts.get(name, "")
    return "" if text in NAMELESS else escaped(text)[:LONGEST]
