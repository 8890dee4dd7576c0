"""The catalogue: finds a part by the name the plan gives it, and lists the names there are.

The name in the plan is the name of the file (or folder) on its shelf. An unknown name is an error that
lists the known ones; nothing falls back silently.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import ModuleType

from kneebench.databases.engine import Engine
from kneebench.engines import SHELF, engine_names
from kneebench.errors import UnknownPart
from kneebench.lab.journal import Journal
from kneebench.plan import Plan

SHELVES = {
    "engine": SHELF,
    "meter": "kneebench.measurement.meters",
    "stop": "kneebench.ladder.stops",
    "section": "kneebench.brief.sections",
}
_PROTOCOLS = {"meter"}
"""Modules on a shelf that say what its parts are, and are none themselves."""


def names(shelf: str) -> list[str]:
    """The names of a shelf's parts.

    >>> names("engine")
    ['postgres', 'simulated']
    """
    if shelf == "engine":
        return engine_names()
    return sorted(m.name for m in pkgutil.iter_modules(import_module(SHELVES[shelf]).__path__) if m.name not in _PROTOCOLS)


def part(shelf: str, name: str) -> ModuleType:
    """The module of a part; raises UnknownPart with the names there are."""
    if name not in names(shelf):
        raise UnknownPart(shelf, name, names(shelf))
    return import_module(f"{SHELVES[shelf]}.{name}")


def engine(plan: Plan, journal: Journal) -> Engine:
    """The plan's engine, ready to say what it finds; nothing is changed yet."""
    folder = part("engine", plan.database.engine).__name__
    made: Engine = import_module(f"{folder}.engine").open_engine(plan, journal)
    return made
