"""TOML to Plan. Every error names file, line, key, what was seen and what is allowed; all errors are told at once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kneebench.errors import PlanError
from kneebench.plan.explanation import Document, near
from kneebench.plan.faults import Fault, PlanFaults
from kneebench.plan.plan import Plan

Shelves = Mapping[str, Sequence[str]]
"""The names that stand on a shelf of the catalogue, by the key that takes them: {"meters": [...], "database.engine": [...]}."""


def read_plan(path: str | Path, shelves: Shelves | None = None) -> Plan:
    """The plan in a TOML file. Raises PlanFaults, or PlanError where there is no readable file.

    `shelves` are the parts that there are; without them the names of parts are not looked at.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise PlanError(f"reading the plan {path}", seen=error.strerror or str(error), do="name a TOML file; `kneebench plan default` prints one") from None
    except UnicodeDecodeError as error:
        raise PlanError(f"reading the plan {path}", seen=f"byte {error.start} is not UTF-8", do="save the file as UTF-8") from None
    return parse_plan(text, str(path), shelves)


def parse_plan(text: str, file: str = "plan", shelves: Shelves | None = None) -> Plan:
    """The plan in a TOML text; `file` is what errors call it.

    >>> parse_plan('storages.disk.path = "."').workload.warehouses
    20
    """
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanFaults(file, [_syntax_fault(file, text, str(error))]) from None
    except RecursionError:
        raise PlanError(
            f"reading the plan {file}", seen="tables or lists within one another without end", do="write it as `kneebench plan default` does"
        ) from None
    document = Document(file, text, values)
    faults = [*_unknown_parts(document, shelves or {}), *document.bare_times()]
    try:
        plan = Plan.model_validate(values)
    except ValidationError as error:
        raise PlanFaults(file, [*document.faults(error.errors()), *faults]) from None
    if faults:
        raise PlanFaults(file, faults)
    return plan


def _syntax_fault(file: str, text: str, message: str) -> Fault:
    """tomllib tells the place within its message, in Python 3.11 to 3.13 only there."""
    found = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)", message)
    rows = text.splitlines()
    line = int(found[1]) if found and found[1] else max(len(rows), 1)
    seen = rows[line - 1].strip() if line <= len(rows) else "the end of the file"
    return Fault(file, line, "", seen, f"TOML ({message[: found.start()] if found else message})")


def _unknown_parts(document: Document, shelves: Shelves) -> Iterator[Fault]:
    for key, names in shelves.items():
        path = tuple(key.split("."))
        value: Any = document.value(path)
        for name in value if isinstance(value, list) else [value]:
            if isinstance(name, str) and name not in names:
                yield document.fault(path, f'"{name}"', f"one of: {', '.join(names)}", near(name, names))
