"""The lab prepares a configuration: the directories that its database is put in, and its share of
this machine.
"""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import psutil

from kneebench.lab.journal import Journal
from kneebench.lab.limits import DatabaseLimits, Resources
from kneebench.lab.topology import chosen, others
from kneebench.lab.volumes import Volumes
from kneebench.lab.volumes.power_cut import Moments
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.storage import Storage
from kneebench.records import Configuration, Watch


class DrivePower:
    """The power of a storage's emulated drives, whose writes are recorded."""

    def __init__(self, volumes: Volumes, storage: str) -> None:
        self._volumes, self._storage = volumes, storage
        self._moments: Moments | None = None

    def begin(self) -> None:
        """A load begins: it can be cut at any moment from here on."""
        self._moments = self._volumes.note_moments(self._storage)

    def cut(self, at_s: float | None = None) -> None:
        """Cut it now, or have the drives as a cut at one of `moments` could have left them; mount
        what is left. Raises FileSystemLost where that does not mount.
        """
        moments = self._of_load
        if at_s is None:
            moment = moments.stop()
        else:
            moment = next(one for one in moments.noted if one.at_s == at_s)
        self._volumes.cut_power(moments, moment)

    def end(self) -> None:
        """Note no further moments."""
        if self._moments:
            self._moments.end()

    @property
    def _of_load(self) -> Moments:
        assert self._moments, "a load has begun"
        return self._moments

    def moments(self, number: int, from_s: float) -> list[float]:
        """Random moments of the load from then on, by the monotonic clock; the latest first."""
        noted = [one for one in self._of_load.noted if one.at_s >= from_s]
        chosen = random.sample(noted, min(number, len(noted)))
        return sorted((one.at_s for one in chosen), reverse=True)


class Prepared(NamedTuple):
    """A configuration that is ready for its database.

    The paths of `storage` are those that its files go to; its processes get `limits`. `power`: of
    its drives, where it can be cut.
    """

    configuration: Configuration
    storage: Storage
    resources: Resources
    limits: DatabaseLimits | None = None
    power: DrivePower | None = None


class Shares:
    """The share of this machine that the configurations of a plan get."""

    def __init__(self, plan: DatabasePlan) -> None:
        self.plan = plan

    @cached_property
    def resources(self) -> Resources:
        """What the plan gives to every configuration: the cores of `database.cores`, or all that
        this process may use, and the memory, shared by the servers that are up side by side. As
        first seen: a thread that is pinned later on changes nothing. A plan's own limit holds for
        each server.
        """
        pinned = self.plan.database.server_cores
        limit = getattr(self.plan.database, "memory", None)
        return Resources(
            pinned or tuple(sorted(os.sched_getaffinity(0))),
            limit or psutil.virtual_memory().total // self.plan.servers_at_once,
            bool(pinned),
            bool(limit),
        )

    def resources_of(self, configuration: Configuration) -> Resources:
        """The share of one configuration: that of every configuration, with the limits of its
        constraint. Fewer cores than the constraint wants where there are fewer.
        """
        of_all, node = self.resources, configuration.numa_node
        pinned = bool(configuration.cores) or node is not None
        return Resources(
            chosen(configuration.cores, of_all.cores, siblings=configuration.siblings, node=node)
            if pinned
            else of_all.cores,
            configuration.memory_bytes or of_all.memory_bytes,
            of_all.pinned or pinned,
            of_all.limited or bool(configuration.memory_bytes),
            configuration.engine_memory_bytes,
            node,
            configuration.io,
        )

    def load_generator_cores(self, configuration: Configuration) -> tuple[int, ...]:
        """The cores that the load generator is pinned to: the plan's, else those that a constraint
        on cores leaves; none where it may use all, or is on other machines.
        """
        given, own = self.plan.workload.load_generator_cores, self.resources_of(configuration)
        if (
            given
            or self.plan.hosts.apart
            or not configuration.constraint
            or not own.pinned
            or own.cores == self.resources.cores
        ):
            return given
        return others(own.cores, tuple(sorted(os.sched_getaffinity(0))))


class Lab(Shares):
    """This machine, as the configurations of a plan may use it."""

    def __init__(self, plan: DatabasePlan, journal: Journal) -> None:
        super().__init__(plan)
        self._journal = journal
        self._volumes = Volumes(journal, plan.emulated_path, recorded=plan.recorded)

    def close(self) -> None:
        """Put back what was kept for the next configuration: emulated drives."""
        self._volumes.close()

    @contextlib.contextmanager
    def prepared(self, configuration: Configuration, watch: Watch) -> Iterator[Prepared]:
        """A configuration with its paths and its share of the machine, until the end of the block.

        The paths are the plan's, or those of volumes that are made now and taken apart at the end.
        Raises PlanError for a volume that cannot be made, Refused for a drive with data.
        """
        storage = self.plan.storages[configuration.storage]
        resources = self.resources_of(configuration)
        with contextlib.ExitStack() as stack:
            if storage.volumes:
                storage = stack.enter_context(
                    self._volumes.mounted(configuration.storage, storage, watch)
                )
            own = resources._replace(pinned=resources.pinned and bool(configuration.constraint))
            limits = DatabaseLimits(own, storage.paths, self._journal, stack)
            recorded, name = self.plan.recorded, configuration.storage
            power = DrivePower(self._volumes, name) if recorded else None
            yield Prepared(configuration, storage, resources, limits, power)
