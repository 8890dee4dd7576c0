"""The shelves, where every component is found by name: an engine, a meter, a stop condition, a
section, a kind of change. What a component of a kind must be is said in its package, not here.

A component is a module (or a folder) in the package of its kind, and its name is what a plan calls
it. There is no list to keep. An unknown name is an error that lists the names there are; nothing
falls back silently.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from kneebench.errors import UnknownPart


class Shelf(NamedTuple):
    """The package of one kind of component.

    `no_components` are modules in it that a plan cannot name: they say what a component is, several
    share them, or they are always in force.
    """

    kind: str
    package: str
    no_components: tuple[str, ...] = ()

    def names(self) -> list[str]:
        """The names of all components, sorted.

        >>> ENGINES.names()
        ['db2', 'mariadb', 'mysql', 'odbc', 'oracle', 'postgres', 'simulated', 'sqlserver']
        """
        path = tuple(import_module(self.package).__path__)
        return [name for name in _modules(path) if name not in self.no_components]

    def module(self, name: str, inner: str = "") -> ModuleType:
        """The module of a component, or that inner module of its folder.

        Raises UnknownPart with the names there are.
        """
        if name not in (known := self.names()):
            raise UnknownPart(self.kind, name, known)
        return import_module(".".join(filter(None, (self.package, name, inner))))


@cache
def _modules(path: tuple[str, ...]) -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(path))


ENGINES = Shelf("engine", "kneebench.databases.engines")
METERS = Shelf("meter", "kneebench.measurement.meters", ("meter",))
POWER_METERS = Shelf(
    "power meter",
    "kneebench.measurement.power_meters",
    ("certificates", "credentials", "json_document", "power_source"),
)
STOPS = Shelf(
    "stop", "kneebench.ladder.stops", ("fixed_load", "invalid", "load_generator", "warming")
)
SECTIONS = Shelf("section", "kneebench.brief.sections")
CHANGES = Shelf("change", "kneebench.lab.changes", ("change", "drive"))
SHELVES = {shelf.kind: shelf for shelf in (ENGINES, METERS, POWER_METERS, STOPS, SECTIONS)}
"""Those with components that users name, by kind."""
