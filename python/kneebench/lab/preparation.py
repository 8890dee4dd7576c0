"""The lab prepares a cell: the directories that its database is put in, and its share of this
machine.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import psutil

from kneebench.plan import Plan
from kneebench.plan.plan import Storage
from kneebench.records import Cell


class Resources(NamedTuple):
    """A share of this machine: the numbers of its cores, and bytes of memory.

    `pinned`: what runs with it must stay on these cores.
    """

    cores: tuple[int, ...]
    memory_bytes: int
    pinned: bool = False

    @property
    def pinned_cores(self) -> tuple[int, ...]:
        """The cores to pin a process to; none where the scheduler may choose."""
        return self.cores if self.pinned else ()


class Prepared(NamedTuple):
    """A cell that is ready for its database.

    The paths of `storage` are those that its files go to.
    """

    cell: Cell
    storage: Storage
    resources: Resources


class Lab:
    """This machine, as the cells of a plan may use it."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    @cached_property
    def resources(self) -> Resources:
        """What the plan gives to every cell: the cores of `database.cores`, or all that this
        process may use, and the memory, shared by the servers that are up side by side. As first
        seen: a thread that is pinned later on changes nothing.
        """
        pinned = self.plan.database.cores
        return Resources(
            pinned or tuple(sorted(os.sched_getaffinity(0))),
            psutil.virtual_memory().total // self.servers,
            bool(pinned),
        )

    @property
    def servers(self) -> int:
        """Servers that are up at the same time: those of all storages in short rounds."""
        return len(self.plan.storages) if self.plan.ladder.rounds == "short" else 1

    def resources_of(self, cell: Cell) -> Resources:
        """The share of one cell: that of every cell, as no constraint lowers it yet."""
        return self.resources

    @contextlib.contextmanager
    def prepared(self, cell: Cell) -> Iterator[Prepared]:
        """A cell with its paths and its share of the machine, until the end of the block.

        Today the paths are the plan's.
        """
        yield Prepared(cell, self.plan.storages[cell.storage], self.resources_of(cell))
