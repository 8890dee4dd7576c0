"""Look-up of components: a component is a module in the package of its kind, found by the name that
the plan gives it.

There is no list to keep. An unknown name is an error that lists the names there are; nothing falls
back silently.
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
        ['postgres', 'simulated']
        """
        path = tuple(import_module(self.package).__path__)
        return [name for name in _modules(path) if name not in self.no_components]

    def module(self, name: str) -> ModuleType:
        """The module of a component; raises UnknownPart with the names there are."""
        if name not in (known := self.names()):
            raise UnknownPart(self.kind, name, known)
        return import_module(f"{self.package}.{name}")


@cache
def _modules(path: tuple[str, ...]) -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(path))


ENGINES = Shelf("engine", "kneebench.databases", ("engine", "managed"))
METERS = Shelf("meter", "kneebench.measurement.meters", ("meter",))
STOPS = Shelf(
    "stop", "kneebench.ladder.stops", ("fixed_load", "invalid", "load_generator", "warming")
)
SECTIONS = Shelf("section", "kneebench.brief.sections")
CHANGES = Shelf("change", "kneebench.lab.changes", ("change",))
