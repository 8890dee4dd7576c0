"""A study: a plan with what it means. It is made once, where a command begins; everything behind
that door takes it, or the part of it that it needs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeVar

from kneebench.engine_properties import without_flushes
from kneebench.plan.configurations import configurations
from kneebench.plan.database_plan import DatabasePlan, RungPlan
from kneebench.plan.default import is_default
from kneebench.plan.ladder import Ladder
from kneebench.plan.plan import Plan
from kneebench.records import (
    Configuration,
    PlannedDatabase,
    PlannedPrice,
    PlannedStorage,
    ResolvedPlan,
)
from kneebench.secrets import clean

T = TypeVar("T")


def _own(part: Callable[[Plan], T]) -> cached_property[T]:
    """A part of a study that is the plan's own."""
    return cached_property(lambda study: part(study.written))


@dataclass(frozen=True)
class Study:
    """`written`: the plan, for the door and for what shows it again; the rest is worked out once,
    when it is first asked for.

    >>> two = {"databases": {"18": {}, "15": {}}, "storages": {"disk": {"path": "."}}}
    >>> study = Study(Plan.model_validate(two))
    >>> [*study.databases], [one.id for one in study.configurations], study.resolved.baseline
    (['18', '15'], ['disk-18', 'disk-15'], 'disk')
    """

    written: Plan

    question = _own(lambda plan: plan.question)
    name = _own(lambda plan: plan.name)
    base = _own(lambda plan: plan.base)
    storages = _own(lambda plan: plan.storages)
    paths = _own(lambda plan: plan.paths)
    volumes = _own(lambda plan: plan.volumes)
    drives = _own(lambda plan: plan.drives)
    has_emulated_drives = _own(lambda plan: plan.has_emulated_drives)
    emulated_path = _own(lambda plan: plan.emulated_path)
    erase = _own(lambda plan: plan.erase)
    servers = _own(lambda plan: plan.servers)
    workload = _own(lambda plan: plan.loaded)
    ladder = _own(lambda plan: _ladder(plan))
    saturating = _own(lambda plan: plan.constraints.saturating)
    kept_commands = _own(lambda plan: plan.kept_commands)
    most_restores = _own(lambda plan: plan.most_restores)
    meters = _own(lambda plan: plan.meters)
    power = _own(lambda plan: plan.power)
    raw_profile = _own(lambda plan: plan.raw_profile)
    kernel = _own(lambda plan: plan.kernel)
    hosts = _own(lambda plan: plan.hosts)
    brief = _own(lambda plan: plan.brief)
    accept = _own(lambda plan: plan.accept)
    durability = _own(lambda plan: plan.durability)
    measures_real_hardware = _own(lambda plan: plan.measures_real_hardware)

    @classmethod
    def kept(cls, document: Mapping[str, Any]) -> Study:
        """That of a plan as results keep it, made once for each. Raises ValidationError for one
        that this version does not know.
        """
        return _kept(json.dumps(document))

    def changed(self, **changes: Any) -> Study:
        """The study of the same plan with other values of some keys, which are not checked."""
        return Study(self.written.model_copy(update=changes))

    def alone(self, name: str) -> Study:
        """That of one of its databases, by the name that `databases` has."""
        return Study(self.written.alone(name))

    @cached_property
    def document(self) -> dict[str, Any]:
        """The plan as results keep it: JSON with every default filled in, `restore` as it is done,
        no password and no command.
        """
        plan, document = self.written, self.written.model_dump(mode="json")
        for name, one in plan.databases_by_name.items():
            table = document["databases"][name] if name else document["database"]
            table["restore"] = one.restored_by(one.urls(plan.storages))
        del document["database" if plan.databases else "databases"]
        return dict(clean(document))

    @cached_property
    def configurations(self) -> tuple[Configuration, ...]:
        """The baseline's first."""
        return configurations(self.written)

    @cached_property
    def databases(self) -> dict[str, DatabasePlan]:
        """What the plan says of each of its databases, by name; of the one of a plan with one by
        "".
        """
        plan, every = self.written, self.configurations
        beside = self.ladder.rounds == "short"
        return {
            name: DatabasePlan(
                name=name,
                database=database,
                storages=dict(plan.storages),
                configurations=tuple(one for one in every if one.database == name),
                workload=self.workload,
                ladder=self.ladder,
                seed=plan.seed,
                meters=plan.meters,
                emulated_path=plan.emulated_path,
                servers_at_once=len(every) if beside else 1,
                databases_at_once=len(plan.databases_by_name) if beside else 1,
                aligned=plan.ladder.aligned and len(every) > 1,
                raw_profile=plan.raw_profile,
                first_id=every[0].id,
                by_default=is_default(plan),
                hosts=plan.hosts,
            )
            for name, database in plan.databases_by_name.items()
        }

    @property
    def only_database(self) -> DatabasePlan:
        """That of a plan with one database."""
        [found] = self.databases.values()
        return found

    def database(self, configuration: Configuration) -> DatabasePlan:
        """The database that a configuration has."""
        return self.databases[configuration.database]

    def rungs(self, configuration: Configuration) -> RungPlan:
        """The rules of a configuration's rungs."""
        return self.database(configuration).rungs_of(configuration)

    @cached_property
    def resolved(self) -> ResolvedPlan:
        """What the analysis asks of it."""
        plan, ladder, workload = self.written, self.ladder, self.workload
        return ResolvedPlan(
            question=plan.question,
            baseline=plan.base,
            configurations=self.configurations,
            storages={name: _storage(plan, name) for name in plan.storages},
            databases={
                name: PlannedDatabase(
                    engine=one.engine, memory_bytes=getattr(one, "memory", None) or None
                )
                for name, one in plan.databases_by_name.items()
            },
            workload=workload.type,
            scale=workload.scale if workload.type == "tproc-h" else 0.0,
            warehouses=workload.all_warehouses,
            home=workload.home,
            connections=workload.connections,
            fixed_load=ladder.fixed,
            precision=ladder.precision,
            fewest_rounds=ladder.fewest_repeats,
            most_rounds=ladder.most_repeats,
            sysctls={name: str(value) for name, value in plan.kernel.sysctl.items()},
            emulated=plan.has_emulated_drives,
            target=plan.brief.target,
        )


def _ladder(plan: Plan) -> Ladder:
    """The plan's; streams of queries are climbed as users are, and all servers are up side by
    side.
    """
    if plan.workload.type == "tproc-h":
        update = {"users": plan.workload.streams, "rounds": "short", "checkpoints": 0}
        return plan.ladder.model_copy(update=update)
    return plan.ladder


@lru_cache(maxsize=32)
def _kept(document: str) -> Study:
    return Study(Plan.model_validate(json.loads(document)))


def _storage(plan: Plan, name: str) -> PlannedStorage:
    storage, price = plan.storages[name], plan.brief.prices.get(name)
    return PlannedStorage(
        limits=plan.ladder_on(name).stops.limits,
        copies=storage.copies,
        log_apart=storage.log_apart,
        shared=storage.shares_emulated_drives,
        price=PlannedPrice(**price.model_dump()) if price else None,
        without_flushes=tuple(
            option
            for volume in storage.volumes_by_path.values()
            for option in without_flushes(volume.file_system.mount_options)
        ),
    )
