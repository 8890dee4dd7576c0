"""Plan to TOML, with what each key means beside it; `reader` gives the same plan back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kneebench.plan.explanation import dotted
from kneebench.plan.json_schema import at, toml_text
from kneebench.plan.plan import Plan

_KEYS_BEFORE_NOTES = 44


def to_toml(plan: Plan) -> str:
    """The keys that were set when the plan was made; all the others keep their defaults.

    >>> plan = Plan.model_validate({"seed": 7, "storages": {"2x NVMe": {"path": "a"}}})
    >>> print(to_toml(plan))  # doctest: +ELLIPSIS
    seed = 7                                     # Seed for all random streams
    <BLANKLINE>
    [storages."2x NVMe"]
    path = "a"                                   # Directory for data (and log), relative to ...
    <BLANKLINE>
    """
    lines = _table((), plan.model_dump(exclude_unset=True), plan.database.engine)
    return "\n".join(lines).lstrip("\n") + "\n"


def _table(path: tuple[str, ...], values: dict[str, Any], engine: str) -> Iterator[str]:
    engine = values.get("engine", engine)
    plain = {
        name: value
        for name, value in values.items()
        if not isinstance(value, dict) and value is not None
    }
    if path and (plain or not values):
        yield f"\n[{dotted(path)}]"
    for name, value in plain.items():
        yield _pair(path, name, value, engine)
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _table((*path, name), value, engine)


def _pair(path: tuple[str, ...], name: str, value: Any, engine: str) -> str:
    schema = at((*path, name), engine)
    note = re.sub(r"\s+", " ", schema.get("description", ""))
    pair = f"{dotted((name,))} = {toml_text(value, schema)}"
    return f"{pair:<{_KEYS_BEFORE_NOTES}} # {note}" if note else pair
