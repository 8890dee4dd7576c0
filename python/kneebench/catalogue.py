"""The catalogue: every kind of component that users name, and the engine of a plan."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from kneebench.databases.engine import Engine
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.shelf import ENGINES, METERS, SECTIONS, STOPS

SHELVES = {shelf.kind: shelf for shelf in (ENGINES, METERS, STOPS, SECTIONS)}


def names(kind: str) -> list[str]:
    """The names of all components of a kind.

    >>> names("stop")
    ['budget', 'errors', 'log_latency', 'plateau', 'saturation']
    """
    return SHELVES[kind].names()


def part(kind: str, name: str) -> ModuleType:
    """The module of a component; raises UnknownPart with the names there are."""
    return SHELVES[kind].module(name)


def engine(plan: Plan, journal: Journal) -> Engine:
    """The plan's engine, ready to say what it finds; nothing is changed yet."""
    folder = part("engine", plan.database.engine).__name__
    made: Engine = import_module(f"{folder}.engine").open_engine(plan, journal)
    return made
