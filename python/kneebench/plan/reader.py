"""TOML to Plan.

Every error names file, line, key, what was seen and what is allowed. All errors are reported at
once.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kneebench.errors import PlanError, require_kind
from kneebench.plan.explanation import Document, near
from kneebench.plan.faults import Fault, PlanFaults
from kneebench.plan.overrides import Override, keyed, keyed_tag, with_overrides
from kneebench.plan.plan import Plan
from kneebench.plan.preset import presets, published_presets
from kneebench.plan.writer import to_toml
from kneebench.regular_file import named_content
from kneebench.shelf import ENGINES, METERS
from kneebench.units import AS_WRITTEN, size

Shelves = Mapping[str, Sequence[str]]
"""The names that stand on a shelf, by the key that takes them: {"meters": [...],
"database.engine": [...]}."""
MOST_BYTES = 2**18
"""Of a plan's file: the longest that a person would write is a hundredth of it."""
DEEPEST = 16
"""Tables and lists within one another; the plan itself has four."""
_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_DEEP_KEY = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*\.[ \t]*{_PART}){{{2 * DEEPEST}}}")
"""Seen before the text is read as TOML: tomllib takes minutes for a key of 100,000 parts."""
_PRESET = "write it as `kneebench plan default` does"


def shelves() -> dict[str, list[str]]:
    """Names of components by the plan key that takes them."""
    return {"database.engine": ENGINES.names(), "meters": METERS.names()}


def read_plan(
    path: str | Path, shelves: Shelves | None = None, overrides: Sequence[Override] = ()
) -> Plan:
    """The plan in a TOML file, with the keys that the command line sets. Raises PlanFaults, or
    PlanError where there is no readable file.

    `shelves` are the parts that there are; without them the names of parts are not looked at.
    """
    text = toml_text(path, _instead_of(str(path)))
    return parse_plan(text, str(path), shelves, overrides)


def _instead_of(path: str) -> str:
    """What to do where there is no such file."""
    if path in (*presets(), *published_presets()):
        use = f"`kneebench plan preset {path} > plan.toml`, or kneebench.preset({path!r}) in Python"
        return f"{path} is a preset: use {use}"
    return "use a TOML file; `kneebench plan default` prints one"


def toml_text(path: str | Path, do: str) -> str:
    """The text of a TOML file that a person wrote. Raises PlanError, with what to do where there is
    no such file, or none that ends (a device, a pipe without a writer).
    """
    try:
        written = named_content(Path(path), MOST_BYTES + 1, do)
        text = written[:MOST_BYTES].decode("utf-8-sig")
    except OSError as error:
        raise PlanError(f"cannot read {path}", seen=error.strerror or str(error), do=do) from None
    except UnicodeDecodeError as error:
        raise PlanError(
            f"cannot read {path}",
            seen=f"byte {error.start} is not UTF-8",
            do="save the file as UTF-8",
        ) from None
    if len(written) > MOST_BYTES:
        raise PlanError(
            f"cannot read {path}", seen=f"the file is larger than {size(MOST_BYTES)}", do=_PRESET
        )
    return text


def parse_plan(
    text: str,
    file: str = "plan",
    shelves: Shelves | None = None,
    overrides: Sequence[Override] = (),
) -> Plan:
    """The plan in a TOML text, with the keys that the command line sets; `file` is what errors call
    it.

    >>> parse_plan('storages.disk.path = "."').workload.warehouses
    20
    """
    values = with_overrides(toml_values(text, file), overrides)
    document = Document(file, text, values, {one.path: one.option for one in overrides})
    if huge := list(document.huge_numbers()):
        raise PlanFaults(file, huge)
    faults = list(_unknown_parts(document, shelves or {}))
    try:
        plan = Plan.model_validate(document.values, context=AS_WRITTEN)
    except ValidationError as error:
        raise PlanFaults(
            file, [*document.faults(error.errors(include_url=False)), *faults]
        ) from None
    faults += _of_results(document, plan)
    if faults:
        raise PlanFaults(file, faults)
    return plan


def toml_values(text: str, file: str, do: str = _PRESET) -> dict[str, Any]:
    """The values of a TOML text that is no deeper than can be looked through.

    Raises PlanFaults, or PlanError with what to do for a text that is too deep.
    """
    try:
        if not _DEEP_KEY.search(text) and _depth(values := tomllib.loads(text)) <= DEEPEST:
            return values
    except tomllib.TOMLDecodeError as error:
        raise PlanFaults(file, [_syntax_fault(file, text, str(error))]) from None
    except ValueError as error:  # Python refuses to make a number of so many digits
        raise PlanFaults(file, [_digits_fault(file, text, str(error))]) from None
    except RecursionError:
        pass
    raise PlanError(f"cannot read {file}", seen="tables or lists are nested too deeply", do=do)


def _depth(values: dict[str, Any]) -> int:
    """How many tables and lists lie within one another; counted no further than is allowed."""
    level: list[Any] = [values]
    for depth in range(1, DEEPEST + 2):
        inner = (
            member for one in level for member in (one.values() if isinstance(one, dict) else one)
        )
        level = [member for member in inner if isinstance(member, dict | list)]
        if not level:
            return depth
    return DEEPEST + 1


def _syntax_fault(file: str, text: str, message: str) -> Fault:
    """tomllib tells the place within its message, in Python 3.11 to 3.13 only there."""
    found = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)", message)
    rows = text.splitlines()
    line = int(found[1]) if found and found[1] else max(len(rows), 1)
    seen = rows[line - 1].strip() if line <= len(rows) else "the end of the file"
    return Fault(file, line, "", seen, f"TOML ({message[: found.start()] if found else message})")


def _digits_fault(file: str, text: str, message: str) -> Fault:
    digits = re.search(r"\d[\d_]{4000,}", text)
    line = text.count("\n", 0, digits.start()) + 1 if digits else 1
    return Fault(file, line, "", digits[0] if digits else message, "numbers of at most 19 digits")


def _unknown_parts(document: Document, shelves: Shelves) -> Iterator[Fault]:
    for key, names in shelves.items():
        for path in _places(document, key):
            value: Any = document.value(path)
            for name in value if isinstance(value, list) else [value]:
                if isinstance(name, str) and name not in names:
                    yield document.fault(
                        path, f'"{name}"', f"one of: {', '.join(names)}", near(name, names)
                    )


def _places(document: Document, key: str) -> Iterator[tuple[str, ...]]:
    """Where a plan may have a key: one of the database's in each database's table."""
    table, *rest = key.split(".")
    yield (table, *rest)
    several = document.value(("databases",))
    if table == "database" and isinstance(several, dict):
        yield from (("databases", name, *rest) for name in several)


def _of_results(document: Document, plan: Plan) -> Iterator[Fault]:
    """What the model takes when results are read back, and a plan shall not say."""
    for name, one in plan.databases_by_name.items():
        if any(one.urls(plan.storages).values()) and one.restore in ("copy", "clone"):
            table = ("databases", name) if name else ("database",)
            allowed = '"template", "command" or "none": a copy of files needs a managed server'
            yield document.fault((*table, "restore"), f'"{one.restore}"', allowed)
    for key in plan.kept_commands:
        yield document.fault(
            key, "the placeholder that results keep in place of a command", "the command itself"
        )


# A plan with some of its keys changed, checked as if its file had them.


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
