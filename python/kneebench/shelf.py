"""Look-up of components: a component is a module in the package of its kind, found by the name that the plan gives it.

There is no list to keep. An unknown name is an error that lists the names there are; nothing falls back silently.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from kneebench.errors import UnknownPart


class Shelf(NamedTuple):
    """The package of one kind of component; `protocol` is the module in it that says what a component of that kind is."""

    kind: str
    package: str
    protocol: str = ""

    def names(self) -> list[str]:
        """The names of all components, sorted.

        >>> Shelf("engine", "kneebench.databases", "engine").names()
        ['postgres', 'simulated']
        """
        modules = pkgutil.iter_modules(import_module(self.package).__path__)
        return sorted(module.name for module in modules if module.name != self.protocol)

    def module(self, name: str) -> ModuleType:
        """The module of a component; raises UnknownPart with the names there are."""
        if name not in (known := self.names()):
            raise UnknownPart(self.kind, name, known)
        return import_module(f"{self.package}.{name}")
