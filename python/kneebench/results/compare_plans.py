"""Two plans side by side: what must be equal before their figures may be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from kneebench.analysis.machine_settings import named_settings, settings_of_the_plan
from kneebench.analysis.memory_modules import modules_in_words
from kneebench.analysis.wording import listed
from kneebench.engine_properties import engine_properties
from kneebench.errors import PlanError
from kneebench.plan import Plan
from kneebench.records import Campaign, Results
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
    for name, one in plan.databases_by_name.items():
        table = document["databases"][name] if name else document["database"]
        table["restore"] = one.restored_by(one.urls(plan.storages))
    del document["database" if plan.databases else "databases"]
    return dict(clean(document))


def compare_plans(a: PlanLike, b: PlanLike) -> list[str]:
    """The names of the fields that matter and differ, as the plan file spells them.

    Where a plan sets its own fixed rate, the share that the other one sets does not matter: only
    latencies measured at the same rate are compared. A storage that both plans have matters
    with the stop conditions of its own.

    >>> one = Plan.model_validate({"storages": {"disk": {"path": "."}}})
    >>> other = {"storages": {"ssd": {"path": "/"}}, "question": "Why?"}
    >>> two = Plan.model_validate({**other, "workload": {"warehouses": 50}})
    >>> compare_plans(one, two)
    ['workload.warehouses']
    """
    left, right = dict(leaves(plan_document(a))), dict(leaves(plan_document(b)))
    if any(side.get("ladder.latency_rate") for side in (left, right)):
        for side in (left, right):
            side.pop("ladder.fixed_rate_share", None)
    differing = [name for name in {**left, **right} if left.get(name) != right.get(name)]
    order = {field: place for place, field in enumerate(MATTERS)}
    databases = {**_engines(a), **_engines(b)}
    found = [(order[field], name) for name in differing if (field := _matters(name, databases))]
    own_stops = _own_stops(plan_document(a), plan_document(b))
    found += [(len(order), name) for name in differing if name.startswith(own_stops)]
    return [name for _, name in sorted(found)]


def _own_stops(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[str, ...]:
    """Where the stop conditions stand that storages of both plans have of their own."""
    both = dict(a.get("storages", {})).keys() & dict(b.get("storages", {})).keys()
    return tuple(f"storages.{name}.stops." for name in both)


def comparable(a: Results, b: Results) -> None:
    """Raise PlanError that names the first field of the plans that matters and differs, or two
    servers of different major versions: figures of such campaigns must not stand side by side."""
    what = f"cannot compare {a.campaign.id} with {b.campaign.id}"
    comparable_plans(a.campaign.plan, b.campaign.plan, what)
    one, two = (_majors(results) for results in (a, b))
    for name in one:
        if one[name] and two.get(name) and one[name] != two[name]:
            server = f"the server of {name}" if name else "the server"
            raise PlanError(
                what,
                seen=f"{server} is version {one[name]} in the first and {two[name]} in the second",
                do="measure both with one major version",
            )


def comparable_plans(a: PlanLike, b: PlanLike, what: str) -> None:
    """Raise PlanError that names the first field that matters and differs between two plans; the
    engines of their databases before any other.
    """
    _same_engines(a, b, what)
    if fields := compare_plans(a, b):
        one, two = (_shown(plan, fields[0]) for plan in (a, b))
        more = f" (and {len(fields) - 1} more: {', '.join(fields[1:])})" if fields[1:] else ""
        raise PlanError(
            what,
            seen=f"{fields[0]} is {one} in the first and {two} in the second{more}",
            do="measure both with the same plan",
        )


def _same_engines(a: PlanLike, b: PlanLike, what: str) -> None:
    if (one := _engines(a)) == (two := _engines(b)):
        return
    shown = [
        listed([f"{name} ({engine})" if name else engine for name, engine in side.items()])
        for side in (one, two)
    ]
    raise PlanError(
        what,
        seen=(
            f"the first was measured with {shown[0]}, the second with {shown[1]}: what they differ"
            " by is no difference between storages"
        ),
        do="compare databases within one campaign, under [databases] (see docs/databases.md)",
    )


def _engines(plan: PlanLike) -> dict[str, str]:
    """The engine by the database's name; of a plan with one database by ""."""
    document = plan_document(plan)
    tables = document.get("databases") or {"": document.get("database", {})}
    return {name: str(table.get("engine", "")) for name, table in tables.items()}


def differences(a: Results, b: Results) -> list[str]:
    """What two campaigns differ in besides their storages, in sentences: kneebench, the machine,
    the server's settings that matter.
    """
    left, right = (
        {"kneebench": one.campaign.kneebench, **_machine(one.campaign)} for one in (a, b)
    )
    both = [name for name in left if name in right]
    machine = _differing(a, b, *({name: one[name] for name in both} for one in (left, right)))
    of_server = (
        {name: value for name, value in _settings(one.campaign).items() if name not in both}
        for one in (a, b)
    )
    return [*machine, *_differing(a, b, *of_server), *_differing(a, b, _notes(a), _notes(b))]


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


def _machine(campaign: Campaign) -> dict[str, str]:
    """The machine with its settings while it was measured; without what it does not report."""
    host = campaign.host
    facts = {
        "processor": host.cpu,
        "cores": host.cores,
        "sockets": host.sockets,
        "threads per core": host.threads_per_core,
        "memory": size(host.memory_bytes),
        "memory modules": modules_in_words(host) or None,
        "kernel": host.kernel,
        "system": host.system,
        "virtualisation": host.virtualisation or "none detected",
        "governor": host.governor or "not readable",
        **host.firmware,
        **named_settings(host.settings),
        **settings_of_the_plan(campaign),
    }
    return {name: str(value) for name, value in facts.items() if value is not None}


def _notes(results: Results) -> dict[str, str]:
    """The author's notes in the plan."""
    notes = results.campaign.plan.get("notes")
    found = notes.items() if isinstance(notes, dict) else ()
    return {f"the author's note {name!r}": str(text) for name, text in found}


def _majors(results: Results) -> dict[str, str]:
    """The server's major version by database; more than one where storages have servers of their
    own.
    """
    database = {climb.id: climb.configuration.database for climb in results.climbs}
    versions: dict[str, set[str]] = {}
    engines = results.campaign.engines
    for configuration, settings in results.campaign.settings.items():
        if (engine := engines.get(name := database.get(configuration, ""))) in ENGINES.names():
            version = engine_properties(engine).major_version(settings)
            versions.setdefault(name, set()).add(version)
    return {name: ", ".join(sorted(found - {""})) for name, found in versions.items()}


def _settings(campaign: Campaign) -> dict[str, str]:
    """Name to value; to all values where storages of a campaign differ."""
    found: dict[str, set[str]] = {}
    for setting in (
        one for settings in campaign.settings.values() for one in settings if one.matters
    ):
        found.setdefault(setting.name, set()).add(setting.value)
    return {name: ", ".join(sorted(values)) for name, values in found.items()}


def _shown(plan: PlanLike, field: str) -> object:
    value = dict(leaves(plan_document(plan))).get(field)
    return "not set" if value is None else value


def within(name: str, fields: Sequence[str]) -> str:
    """The field that a key is, or is within; empty for none of them."""
    return next((field for field in fields if name == field or name.startswith(f"{field}.")), "")


def _matters(name: str, databases: Iterable[str]) -> str:
    """The field of `MATTERS` that a key belongs to; that of one of several databases belongs where
    the only one's does.
    """
    tables = (f"databases.{one}." for one in databases)
    table = next((one for one in tables if name.startswith(one)), "")
    return within(f"database.{name.removeprefix(table)}" if table else name, MATTERS)


def leaves(document: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The keys of a document, as a plan file spells them, with their values."""
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value
