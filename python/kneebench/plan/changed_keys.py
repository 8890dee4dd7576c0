"""A plan with some of its keys changed, checked as if its file had them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from kneebench.plan.overrides import keyed, keyed_tag
from kneebench.plan.values import Part

if TYPE_CHECKING:
    from kneebench.plan.plan import Plan


class ChangedKeys(Part):
    """What gives a plan with other keys."""

    def with_keys(
        self,
        keys: Mapping[str, Any] | None = None,
        *,
        name: str = "",
        tags: Mapping[str, str] | None = None,
    ) -> Plan:
        """The plan with these keys in place of its own, as `kneebench run --set KEY=VALUE`,
        `--name` and `--tag` make it: `{"ladder.repeats": 5}`. Values are as TOML has them; a table
        replaces the whole table of that key.

        Raises PlanError, with all that is wrong and what is allowed.

        >>> from kneebench import preset
        >>> preset("simulated").with_keys({"ladder.repeats": 5}, name="nightly").ladder.repeats
        5
        """
        from kneebench.plan.reader import parse_plan, shelves
        from kneebench.plan.writer import to_toml

        changes = {**(keys or {}), **({"name": name} if name else {})}
        overrides = [
            *(keyed(key, value) for key, value in changes.items()),
            *(keyed_tag(one, value) for one, value in (tags or {}).items()),
        ]
        return parse_plan(to_toml(cast("Plan", self)), "the changed plan", shelves(), overrides)
