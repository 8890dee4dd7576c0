"""The plan's JSON Schema, and its tables and keys as a reader of plans meets them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from kneebench.plan.value_text import (
    allowed_text,
    is_power,
    is_table,
    is_time,
    time_text,
    toml_text,
)

FILE = Path(__file__).with_name("schema.json")
SEVERAL = "One of several databases, in place of `[database]`: its keys are the same."


class PlanKey(NamedTuple):
    """One key of the plan: `allowed` for people, `default` as TOML, or None where there is none."""

    name: str
    allowed: str
    default: str | None
    description: str


class PlanTable(NamedTuple):
    """One table of the plan; a part `*` of its path stands for a name that the plan chooses."""

    path: tuple[str, ...]
    description: str
    keys: tuple[PlanKey, ...]


@cache
def plan_schema() -> dict[str, Any]:
    """The JSON Schema of a plan, as TOML or JSON write it: a time is text with its unit, as a
    default too. `make docs` writes the file: making it costs a command a third of a second.
    """
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def made_schema() -> dict[str, Any]:
    """The same, made of the plan's tables as the code has them."""
    from kneebench.plan.plan import Plan

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_with_time_texts(Plan.model_json_schema()),
    }


def tables() -> Iterator[PlanTable]:
    """All tables of the plan, outer before inner, in the order of the model, those with names of
    the plan's choice last.
    """
    yield from _tables((), plan_schema())


def keys_of(path: Sequence[str | int], engine: str = "") -> list[str]:
    """The keys that the table at this path may have; none if it is no table or its names are free.

    Without an engine, or with one that does not exist, the table of the database has the keys of
    all.

    >>> keys_of(["ladder", "stops"])
    ['plateau', 'log_latency', 'saturation', 'errors', 'power', 'latency']
    >>> keys_of(["database"], "simulated")
    ['engine', 'settings', 'restore']
    """
    return list(at(path, engine).get("properties", {}))


def at(path: Sequence[str | int], engine: str = "") -> dict[str, Any]:
    """What the schema says of the value at a path; empty where there is no such value.

    With an engine the table of the database is that engine's.

    >>> at(["database", "url"], "mysql")["description"][:33]
    'External server, mysql://user@hos'
    """
    part: dict[str, Any] = plan_schema()
    to_table = {"database": 1, "databases": 2}.get(str(path[0]), 0) if path else 0
    if 0 < to_table <= len(path) and (own := _table_of(engine)):
        part, path = own, path[to_table:]
    for name in path:
        inner = part.get("properties", {}).get(name) or part.get("additionalProperties")
        if isinstance(name, int) and is_table(entries := part.get("items", {})):
            inner = entries
        part = _resolved(inner) if isinstance(inner, dict) else {}
    return part


def _table_of(engine: str) -> dict[str, Any] | None:
    """The table of the database of one engine; None for one that does not exist."""
    tables = plan_schema()["properties"]["database"]["oneOf"]
    return next((one for one in tables if one["properties"]["engine"]["const"] == engine), None)


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema itself, where it is a reference (pydantic's model, or a model or nothing)."""
    if "oneOf" in schema:
        return _together(schema["oneOf"])
    reference = schema.get("$ref") or next(
        (branch["$ref"] for branch in schema.get("anyOf", ()) if "$ref" in branch), None
    )
    return plan_schema()["$defs"][reference.rpartition("/")[2]] if reference else schema


def _together(tables: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The tables of all engines, or of all types of meters, as one, with the keys of each; what
    several have is the first one's, with what the others say of it otherwise.
    """
    kind = _kind_of(tables)
    keys = {name: key for table in reversed(tables) for name, key in table["properties"].items()}
    keys = {name: {**key, **_described(name, tables, kind)} for name, key in keys.items()}
    kinds = [table["properties"][kind]["const"] for table in tables]
    first = {key: value for key, value in tables[0]["properties"][kind].items() if key != "const"}
    ordered = {name: keys[name] for table in tables for name in table["properties"]}
    described = tables[0].get("description", "")
    if kind == "type":
        each = zip(kinds, tables, strict=True)
        described = " ".join(f"`{name}`: {one['description']}" for name, one in each)
    required = [
        name
        for name in tables[0].get("required", [])
        if all(name in table.get("required", []) for table in tables)
    ]
    return {
        **tables[0],
        "description": described,
        "required": required,
        "properties": {**ordered, kind: {**first, "enum": kinds}},
    }


def _kind_of(tables: Sequence[dict[str, Any]]) -> str:
    """The key that tells the tables of a union apart."""
    return str(next(name for name, key in tables[0]["properties"].items() if "const" in key))


def _described(name: str, tables: Sequence[dict[str, Any]], kind: str) -> dict[str, str]:
    """The description of a key by the first of the tables that have it, then by those that have
    another one.
    """
    said: dict[str, list[str]] = {}
    for table in tables:
        if text := table["properties"].get(name, {}).get("description", ""):
            said.setdefault(text, []).append(f'"{table["properties"][kind]["const"]}"')
    first, *others = said or [""]
    more = (f"{kind} = {' or '.join(said[text])}: {text}" for text in others)
    return {"description": ". With ".join((first, *more))}


def _with_time_texts(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_with_time_texts(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    written = {key: _with_time_texts(value) for key, value in schema.items()}
    if isinstance(written.get("default"), float) and is_time(written):
        written["default"] = time_text(written["default"])
    elif isinstance(written.get("default"), float) and is_power(written):
        written["default"] = f"{written['default']:g}W"
    elif isinstance(written.get("default"), dict):
        del written["default"]
    return written


def _tables(path: tuple[str, ...], schema: dict[str, Any]) -> Iterator[PlanTable]:
    required = schema.get("required", ())
    inner: dict[str, dict[str, Any]] = {}
    keys = []
    for name, value in schema["properties"].items():
        named = value.get("additionalProperties")
        if isinstance(named, dict) and "$ref" in named:
            inner[f"{name}.*"] = _resolved(named)
        elif isinstance(named, dict) and "oneOf" in named:
            inner[f"{name}.*"] = {"description": SEVERAL, "properties": {}}
        elif listed := _listed(value):
            keys.append(_key(name, value, name in required))
            inner[f"{name}[]"] = listed
            if "properties" in (other := _resolved(value)):
                inner[name] = other
        elif "properties" in _resolved(value):
            inner[name] = _resolved(value)
        else:
            keys.append(_key(name, value, name in required))
    own = schema.get("additionalProperties")
    if isinstance(own, dict):
        inner["*"] = _resolved(own)
    yield PlanTable(path, schema.get("description", ""), tuple(keys))
    for name, value in sorted(inner.items(), key=lambda one: one[0].endswith(".*")):
        yield from _tables((*path, *name.split(".")), value)


def _listed(schema: dict[str, Any]) -> dict[str, Any]:
    """The table of a list of tables, or of a value that may be one; else empty."""
    branches = schema.get("anyOf", (schema,))
    items = (one.get("items", {}) for one in branches if one.get("type") == "array")
    return next((_resolved(one) for one in items if is_table(one)), {})


def _key(name: str, schema: dict[str, Any], required: bool) -> PlanKey:
    default = schema.get("default")
    text = (
        None
        if required
        else (
            ""
            if default is None
            else "{}"
            if schema.get("type") == "object"
            else toml_text(default, schema)
        )
    )
    return PlanKey(name, allowed_text(schema), text, schema.get("description", ""))
