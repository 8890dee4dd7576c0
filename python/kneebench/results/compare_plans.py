"""Two plans side by side: what must be equal before their figures may be compared, and before one
may resume the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from kneebench.engine_properties import engine_properties
from kneebench.errors import PlanError
from kneebench.plan import Plan
from kneebench.records import Campaign, Host, Results
from kneebench.secrets import clean
from kneebench.shelf import ENGINES
from kneebench.units import size

MATTERS = (
    "workload",
    "database.engine",
    "database.settings",
    "database.schema_from",
    "database.restore",
    "database.cores",
    "database.page_cache",
    "ladder.window",
    "ladder.final_window",
    "ladder.checkpoints",
    "ladder.rounds",
    "ladder.restore_every",
    "ladder.warm_up",
    "ladder.warm_up_limit",
    "ladder.users",
    "ladder.step",
    "ladder.climb_again",
    "ladder.fixed_rate_share",
    "ladder.stops",
)
"""Fields of the plan that shape a figure; the most telling first. Not: where storages are, the
question, seed, repeats, meters, budget."""

RESUME_IGNORES = ("question", "ladder.budget", "accept")
"""Fields that may change between a killed campaign and the run that resumes it."""

PlanLike = Plan | Mapping[str, Any]


def plan_document(plan: PlanLike) -> dict[str, Any]:
    """The plan as it is kept: JSON with every default filled in, `restore` as it is done, no
    password and no command. One that this version does not know stays as it is."""
    if not isinstance(plan, Plan):
        try:
            plan = Plan.model_validate(plan)
        except ValidationError:
            return dict(clean(dict(plan)))
    document = plan.model_dump(mode="json")
    document["database"]["restore"] = plan.restore
    return dict(clean(document))


def compare_plans(a: PlanLike, b: PlanLike) -> list[str]:
    """The names of the fields that matter and differ, as the plan file spells them.

    Where a plan sets its own fixed rate, the share that the other one sets does not matter: only
    latencies measured at the same rate are compared.

    >>> one = Plan.model_validate({"storages": {"disk": {"path": "."}}})
    >>> other = {"storages": {"ssd": {"path": "/"}}, "question": "Why?"}
    >>> two = Plan.model_validate({**other, "workload": {"warehouses": 50}})
    >>> compare_plans(one, two)
    ['workload.warehouses']
    """
    left, right = dict(_leaves(plan_document(a))), dict(_leaves(plan_document(b)))
    if any(side.get("ladder.latency_rate") for side in (left, right)):
        for side in (left, right):
            side.pop("ladder.fixed_rate_share", None)
    differing = [name for name in {**left, **right} if left.get(name) != right.get(name)]
    order = {field: place for place, field in enumerate(MATTERS)}
    found = [(order[field], name) for name in differing if (field := _within(name, MATTERS))]
    return [name for _, name in sorted(found)]


def comparable(a: Results, b: Results) -> None:
    """Raise PlanError that names the first field of the plans that matters and differs, or two
    servers of different major versions: figures of such campaigns must not stand side by side."""
    doing = f"comparing {a.campaign.id} with {b.campaign.id}"
    comparable_plans(a.campaign.plan, b.campaign.plan, doing)
    one, two = (_majors(results.campaign) for results in (a, b))
    if one and two and one != two:
        raise PlanError(
            doing,
            seen=f"the server is version {one} in the first and {two} in the second",
            do="measure both with one major version",
        )


def comparable_plans(a: PlanLike, b: PlanLike, doing: str) -> None:
    """Raise PlanError that names the first field that matters and differs between two plans."""
    if fields := compare_plans(a, b):
        one, two = (_shown(plan, fields[0]) for plan in (a, b))
        more = f" (and {len(fields) - 1} more: {', '.join(fields[1:])})" if fields[1:] else ""
        raise PlanError(
            doing,
            seen=f"{fields[0]} is {one} in the first and {two} in the second{more}",
            do="measure both with the same plan",
        )


def differences(a: Results, b: Results) -> list[str]:
    """What two campaigns differ in besides their storages, in sentences: kneebench, the machine,
    the server's settings that matter.
    """
    left, right = (
        {"kneebench": one.campaign.kneebench, **_machine(one.campaign.host)} for one in (a, b)
    )
    return _differing(a, b, left, right) + differing_settings(a, b)


def differing_settings(a: Results, b: Results) -> list[str]:
    """Sentences for the server settings that change what storage sees and differ between two
    campaigns.
    """
    return _differing(a, b, *(_settings(results.campaign) for results in (a, b)))


def _differing(
    a: Results, b: Results, left: Mapping[str, str], right: Mapping[str, str]
) -> list[str]:
    return [
        f"{name} is {left.get(name, 'unknown')} in {a.campaign.id} and {right.get(name, 'unknown')}"
        f" in {b.campaign.id}"
        for name in {**left, **right}
        if left.get(name) != right.get(name)
    ]


def _machine(host: Host) -> dict[str, str]:
    facts = {
        "processor": host.cpu,
        "cores": host.cores,
        "memory": size(host.memory_bytes),
        "kernel": host.kernel,
        "system": host.system,
    }
    facts |= {
        "virtualisation": host.virtualisation or "none detected",
        "governor": host.governor or "not readable",
        **host.settings,
    }
    return {name: str(value) for name, value in facts.items()}


def _majors(campaign: Campaign) -> str:
    """The server's major version; more than one where storages have servers of their own."""
    name = plan_document(campaign.plan).get("database", {}).get("engine", "")
    if name not in ENGINES.names():
        return ""
    engine = engine_properties(name)
    versions = {engine.major_version(settings) for settings in campaign.settings.values()}
    return ", ".join(sorted(versions - {""}))


def resumable(kept: PlanLike, requested: PlanLike, but: Sequence[str] = RESUME_IGNORES) -> bool:
    """True if a campaign of the first plan can be resumed under the second: equal except for the
    fields `but`.
    """
    left, right = dict(_leaves(plan_document(kept))), dict(_leaves(plan_document(requested)))
    return all(
        left.get(name) == right.get(name) for name in {**left, **right} if not _within(name, but)
    )


def _settings(campaign: Campaign) -> dict[str, str]:
    """Name to value; to all values where storages of a campaign differ."""
    found: dict[str, set[str]] = {}
    for setting in (
        one for settings in campaign.settings.values() for one in settings if one.matters
    ):
        found.setdefault(setting.name, set()).add(setting.value)
    return {name: ", ".join(sorted(values)) for name, values in found.items()}


def _shown(plan: PlanLike, field: str) -> object:
    value = dict(_leaves(plan_document(plan))).get(field)
    return "not set" if value is None else value


def _within(name: str, fields: Sequence[str]) -> str:
    return next((field for field in fields if name == field or name.startswith(f"{field}.")), "")


def _leaves(document: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def measured_by_another(campaign: Campaign, version: str, image: Mapping[str, str]) -> str:
    """Why a campaign cannot go on: another version of kneebench or another base image measured it;
    empty if both match.
    """
    kept = {"kneebench": campaign.kneebench, "base image": campaign.base_image.get("key", "")}
    now = {"kneebench": version, "base image": image.get("key", "")}
    return " and ".join(
        f"{name} changed: {kept[name]}, now {now[name]}"
        for name in kept
        if kept[name] and kept[name] != now[name]
    )
