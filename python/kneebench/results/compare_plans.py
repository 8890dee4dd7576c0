"""Two plans side by side: what must be equal before their figures may be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from kneebench.analysis.wording import listed
from kneebench.errors import PlanError
from kneebench.plan.json_schema import at
from kneebench.plan.study import Study
from kneebench.plan.value_text import toml_text
from kneebench.secrets import clean

MATTERS = (
    "workload.type",
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

Document = Mapping[str, Any]
"""A plan as results keep it: `Study.document`."""


def whole(kept: Document) -> Document:
    """The document as this version writes it; one that it does not know stays as it is."""
    try:
        return Study.kept(kept).document
    except ValidationError:
        return dict(clean(dict(kept)))


def compare_plans(a: Document, b: Document) -> list[str]:
    """The names of the fields that matter and differ, as the plan file spells them.

    Where a plan sets its own fixed rate, the share that the other one sets does not matter: only
    latencies measured at the same rate are compared. A storage that both plans have matters
    with the stop conditions of its own.

    >>> one = {"storages": {"disk": {"path": "."}}}
    >>> other = {"storages": {"ssd": {"path": "/"}}, "question": "Why?"}
    >>> compare_plans(one, {**other, "workload": {"warehouses": 50}})
    ['workload.warehouses']
    """
    a, b = whole(a), whole(b)
    left, right = dict(leaves(a)), dict(leaves(b))
    if any(side.get("ladder.latency_rate") for side in (left, right)):
        for side in (left, right):
            side.pop("ladder.fixed_rate_share", None)
    differing = [name for name in {**left, **right} if left.get(name) != right.get(name)]
    order = {field: place for place, field in enumerate(MATTERS)}
    databases = {**_engines(a), **_engines(b)}
    found = [(order[field], name) for name in differing if (field := _matters(name, databases))]
    own_stops = _own_stops(a, b)
    found += [(len(order), name) for name in differing if name.startswith(own_stops)]
    return [name for _, name in sorted(found)]


def _own_stops(a: Document, b: Document) -> tuple[str, ...]:
    """Where the stop conditions stand that storages of both plans have of their own."""
    both = dict(a.get("storages", {})).keys() & dict(b.get("storages", {})).keys()
    return tuple(f"storages.{name}.stops." for name in both)


def comparable_plans(a: Document, b: Document, what: str) -> None:
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


def _same_engines(a: Document, b: Document, what: str) -> None:
    if (one := _engines(whole(a))) == (two := _engines(whole(b))):
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


def _engines(document: Document) -> dict[str, str]:
    """The engine by the database's name; of a plan with one database by ""."""
    tables = document.get("databases") or {"": document.get("database", {})}
    return {name: str(table.get("engine", "")) for name, table in tables.items()}


def shown_values(plan: Document, fields: Sequence[str]) -> dict[str, str]:
    """The values of fields of a plan, as its file writes them; text without quotes."""
    document = whole(plan)
    values, engine = dict(leaves(document)), next(iter(_engines(document).values()), "")
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


def leaves(document: Document, above: str = "") -> Iterator[tuple[str, Any]]:
    """The keys of a document, as a plan file spells them, with their values."""
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value
