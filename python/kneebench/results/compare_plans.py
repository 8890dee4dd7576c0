"""Two plans side by side: what must be equal before their figures may be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from kneebench.analysis.wording import listed
from kneebench.errors import PlanError
from kneebench.plan import Plan
from kneebench.plan.json_schema import at
from kneebench.plan.value_text import toml_text
from kneebench.secrets import clean

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
    "ladder.fixed_rate_share",
    "ladder.stops",
)
"""Fields of the plan that shape a figure; the most telling first. Not: where storages are, the
question, seed, meters, and how the knee is searched and how often it is measured."""
ANYWAY = "show them side by side with `compare --anyway`"

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
    databases = {**engines_of(a), **engines_of(b)}
    found = [(order[field], name) for name in differing if (field := _matters(name, databases))]
    own_stops = _own_stops(plan_document(a), plan_document(b))
    found += [(len(order), name) for name in differing if name.startswith(own_stops)]
    return [name for _, name in sorted(found)]


def _own_stops(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[str, ...]:
    """Where the stop conditions stand that storages of both plans have of their own."""
    both = dict(a.get("storages", {})).keys() & dict(b.get("storages", {})).keys()
    return tuple(f"storages.{name}.stops." for name in both)


def comparable_plans(a: PlanLike, b: PlanLike, what: str) -> None:
    """Raise PlanError that names the first field that matters and differs between two plans; the
    engines of their databases before any other.
    """
    _same_engines(a, b, what)
    if fields := compare_plans(a, b):
        one, two = (shown_values(plan, fields[:1])[fields[0]] for plan in (a, b))
        more = f" (and {len(fields) - 1} more: {', '.join(fields[1:])})" if fields[1:] else ""
        raise PlanError(
            what,
            seen=f"{fields[0]} is {one} in the first and {two} in the second{more}",
            do=f"measure both with the same plan, or {ANYWAY}",
        )


def _same_engines(a: PlanLike, b: PlanLike, what: str) -> None:
    if (one := engines_of(a)) == (two := engines_of(b)):
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
        do=(
            "compare databases within one campaign, under [databases] (see docs/databases.md), or"
            f" {ANYWAY}"
        ),
    )


def engines_of(plan: PlanLike) -> dict[str, str]:
    """The engine by the database's name; of a plan with one database by ""."""
    document = plan_document(plan)
    tables = document.get("databases") or {"": document.get("database", {})}
    return {name: str(table.get("engine", "")) for name, table in tables.items()}


def shown_values(plan: PlanLike, fields: Sequence[str]) -> dict[str, str]:
    """The values of fields of a plan, as its file writes them; text without quotes."""
    values = dict(leaves(plan_document(plan)))
    engine = next(iter(engines_of(plan).values()), "")
    return {field: _as_written(values.get(field), field, engine) for field in fields}


def _as_written(value: Any, field: str, engine: str) -> str:
    """A value of a plan's document: a number, a list or a switch with its unit.

    >>> _as_written(14400.0, "ladder.budget", ""), _as_written(["cores"], "meters", "")
    ('4h', '["cores"]')
    """
    if value in (None, ""):
        return "not set"
    if isinstance(value, str):
        return value
    return toml_text(value, at(field.split("."), engine)).strip('"')


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
