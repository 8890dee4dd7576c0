"""A plan resolved, by its own rules: for the engines of its databases, for the campaign that
measures it, and for those who read its results.
"""

from __future__ import annotations

from kneebench.plan.campaign_plan import CampaignPlan
from kneebench.plan.configurations import configurations
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.default import is_default
from kneebench.plan.plan import Plan
from kneebench.records import PlannedDatabase, PlannedStorage, ResolvedPlan


def database_plans(plan: Plan) -> dict[str, DatabasePlan]:
    """What the plan says of each of its databases, by name; of the one of a plan with one by "".

    >>> two = {"databases": {"18": {}, "15": {}}, "storages": {"disk": {"path": "."}}}
    >>> [*database_plans(Plan.model_validate(two))]
    ['18', '15']
    """
    every, short = configurations(plan), plan.ladder.rounds == "short"
    return {
        name: DatabasePlan(
            name=name,
            database=database,
            storages=dict(plan.storages),
            configurations=tuple(one for one in every if one.database == name),
            workload=plan.workload,
            ladder=plan.ladder,
            seed=plan.seed,
            emulated_path=plan.emulated_path,
            servers_at_once=len(every) if short else 1,
            databases_at_once=len(plan.databases_by_name) if short else 1,
            aligned=plan.ladder.aligned and len(every) > 1,
            raw_profile=plan.raw_profile,
            first_id=every[0].id,
            by_default=is_default(plan),
            hosts=plan.hosts,
        )
        for name, database in plan.databases_by_name.items()
    }


def only_database(plan: Plan) -> DatabasePlan:
    """That of a plan with one database."""
    [found] = database_plans(plan).values()
    return found


def campaign_plan(plan: Plan) -> CampaignPlan:
    """What the campaign that measures a plan needs of it."""
    constraints = [plan.constraints_of(one) for one in plan.databases_by_name.values()]
    return CampaignPlan(
        configurations=configurations(plan),
        databases=database_plans(plan),
        ladder=plan.ladder,
        workload=plan.workload,
        meters=plan.meters,
        power=plan.power,
        saturating=frozenset(
            name for some in constraints for name, one in some.items() if one.saturating
        ),
    )


def resolve(plan: Plan) -> ResolvedPlan:
    """What the analysis asks of a plan.

    >>> found = resolve(Plan.model_validate({"storages": {"a": {"path": "."}, "b": {"path": "."}}}))
    >>> found.baseline, [one.engine for one in found.databases.values()]
    ('a', ['postgres'])
    """
    ladder, workload = plan.ladder, plan.workload
    return ResolvedPlan(
        question=plan.question,
        baseline=plan.base,
        configurations=configurations(plan),
        storages={name: _storage(plan, name) for name in plan.storages},
        databases={
            name: PlannedDatabase(
                engine=one.engine, memory_bytes=getattr(one, "memory", None) or None
            )
            for name, one in plan.databases_by_name.items()
        },
        warehouses=workload.warehouses,
        home=workload.home,
        connections=workload.connections,
        fixed_load=ladder.fixed,
        precision=ladder.precision,
        fewest_rounds=ladder.fewest_repeats,
        most_rounds=ladder.most_repeats,
        sysctls={name: str(value) for name, value in plan.kernel.sysctl.items()},
        emulated=plan.has_emulated_drives,
    )


def _storage(plan: Plan, name: str) -> PlannedStorage:
    storage = plan.storages[name]
    return PlannedStorage(
        limits=plan.ladder_on(name).stops.limits,
        copies=storage.copies,
        log_apart=storage.log_apart,
        shared=storage.shares_emulated_drives,
    )
