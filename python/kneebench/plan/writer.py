"""Plan to TOML, with what each key means beside it; `reader` gives the same plan back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from kneebench.plan.explanation import dotted
from kneebench.plan.json_schema import at
from kneebench.plan.plan import Plan
from kneebench.plan.study import Study
from kneebench.plan.value_text import toml_text

_KEYS_BEFORE_NOTES = 44
Pair = Callable[[tuple[str, ...], str, Any, str], str]
"""How a key and its value are written, by the path of its table and the engine."""


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
    return _written(plan, plan.model_dump(exclude_unset=True), _noted_pair)


def to_bare_toml(study: Study, *, defaults: bool) -> str:
    """The same without notes; and with or without the keys that have their default.

    >>> kept = {"seed": 7, "baseline": "", "storages": {"disk": {"path": "a"}}}
    >>> print(to_bare_toml(Study.kept(kept), defaults=False))
    seed = 7
    <BLANKLINE>
    [storages.disk]
    path = "a"
    <BLANKLINE>
    """
    plan = study.written
    kept = plan.model_dump(exclude_unset=True, exclude_defaults=not defaults)
    return _written(plan, kept, _bare_pair)


def _written(plan: Plan, values: dict[str, Any], pair: Pair) -> str:
    lines = _table((), values, plan.database.engine, pair)
    return "\n".join(lines).lstrip("\n") + "\n"


def _table(path: tuple[str, ...], values: dict[str, Any], engine: str, pair: Pair) -> Iterator[str]:
    engine = values.get("engine", engine)
    plain = {
        name: value
        for name, value in values.items()
        if not isinstance(value, dict) and value is not None
    }
    if path and (plain or not values):
        yield f"\n[{dotted(path)}]"
    for name, value in plain.items():
        yield pair(path, name, value, engine)
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _table((*path, name), value, engine, pair)


def _bare_pair(path: tuple[str, ...], name: str, value: Any, engine: str) -> str:
    return f"{dotted((name,))} = {toml_text(value, at((*path, name), engine))}"


def _noted_pair(path: tuple[str, ...], name: str, value: Any, engine: str) -> str:
    pair = _bare_pair(path, name, value, engine)
    note = re.sub(r"\s+", " ", at((*path, name), engine).get("description", ""))
    return f"{pair:<{_KEYS_BEFORE_NOTES}} # {note}" if note else pair
