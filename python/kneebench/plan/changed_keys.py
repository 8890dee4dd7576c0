"""A plan with some of its keys changed, checked as if its file had them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kneebench.errors import require_kind
from kneebench.plan.overrides import keyed, keyed_tag
from kneebench.plan.plan import Plan
from kneebench.plan.reader import parse_plan, shelves
from kneebench.plan.writer import to_toml


def with_keys(
    plan: Plan,
    keys: Mapping[str, Any] | None = None,
    *,
    name: str = "",
    tags: Mapping[str, str] | None = None,
) -> Plan:
    """The plan with these keys in place of its own, as `kneebench run --set KEY=VALUE`, `--name`
    and `--tag` make it: `{"ladder.repeats": 5}`. Values are as TOML has them; a table replaces the
    whole table of that key.

    Raises PlanError, with all that is wrong and what is allowed, and TypeError for what is no plan.

    >>> from kneebench import preset
    >>> with_keys(preset("simulated"), {"ladder.repeats": 5}, name="nightly").ladder.repeats
    5
    """
    require_kind(plan, Plan, "kneebench.read_plan(file) reads one")
    changes = {**(keys or {}), **({"name": name} if name else {})}
    overrides = [
        *(keyed(key, value) for key, value in changes.items()),
        *(keyed_tag(one, value) for one, value in (tags or {}).items()),
    ]
    return parse_plan(to_toml(plan), "the changed plan", shelves(), overrides)
