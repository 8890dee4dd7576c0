"""A TOML document beside its text: turns pydantic's errors into faults that name line, key and what
is allowed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pydantic_core import ErrorDetails

from kneebench.plan.faults import Fault
from kneebench.plan.json_schema import at, keys_of
from kneebench.plan.lines import Lines
from kneebench.plan.value_text import allowed_text, is_time, quoted, time_text
from kneebench.secrets import clean, kept_command

Path = tuple[str | int, ...]

_OTHER_KINDS = ("model_type", "dict_type", "tuple_type", "list_type")
"""Errors of pydantic for a value that is none of a kind, which may be of another."""


class Document:
    """The values of a TOML text, and where they stand in it: in a line, or in an option of the
    command line (`options`, by the path of the key that each sets).
    """

    def __init__(
        self, file: str, text: str, values: dict[str, Any], options: Mapping[Path, str] = {}
    ) -> None:
        self.file, self.values, self.lines, self._options = file, values, Lines(text), options

    def value(self, path: Path) -> Any:
        """The value at a path, None where there is none."""
        value: Any = self.values
        for part in path:
            if not _holds(value, part):
                return None
            value = value[part]
        return value

    def fault(self, path: Path, seen: str, allowed: str, meant: str = "") -> Fault:
        """A fault at a path."""
        for own, option in self._options.items():
            if path[: len(own)] == own:
                return Fault(option, 0, dotted(path), seen, allowed, meant)
        return Fault(self.file, self.lines.of(*path), dotted(path), seen, allowed, meant)

    def huge_numbers(self) -> Iterator[Fault]:
        """Whole numbers beyond TOML's 64 bits: of these even printing one may fail."""
        level: list[tuple[Path, Any]] = [((), self.values)]
        for path, value in level:
            if isinstance(value, dict | list):
                level += [
                    ((*path, name), member)
                    for name, member in (
                        value.items() if isinstance(value, dict) else enumerate(value)
                    )
                ]
            elif isinstance(value, int) and not -(2**63) <= value < 2**63:
                yield self.fault(
                    path,
                    f"a number of {value.bit_length()} bits",
                    "a whole number of at most 64 bits",
                )

    def faults(self, errors: list[ErrorDetails]) -> Iterator[Fault]:
        """One fault a key: where a key may be one thing or another, pydantic tells an error for
        each. A bound that was passed says most; that a value is no table, nothing of a list that
        has an error within.
        """
        first: dict[Path, ErrorDetails] = {}
        for error in errors:
            if error["type"] == "default_factory_not_called":  # what it is made from is wrong
                continue
            path = self._path(error)
            if path not in first or "le" in error.get("ctx", {}):
                first[path] = error
        around = {path[:length] for path in first for length in range(len(path))}
        for path, error in first.items():
            if not (path in around and error["type"] in _OTHER_KINDS):
                yield self._fault(path, error)

    def _path(self, error: ErrorDetails) -> Path:
        """The key: without pydantic's names for the branches of a union and without indices, with
        the key that a rule names.
        """
        value: Any = self.values
        path: Path = ()
        for part in error["loc"]:
            if _holds(value, part):
                value, path = value[part], (*path, part)
            elif (
                error["type"] == "missing" and isinstance(value, dict) and part == error["loc"][-1]
            ):
                path = (*path, part)
        key = error.get("ctx", {}).get("key", ()) if error["type"] == "rule" else ()
        while not key and path and isinstance(path[-1], int):
            path = path[:-1]
        return (*path, *key)

    def _fault(self, path: Path, error: ErrorDetails) -> Fault:
        if error["type"] == "extra_forbidden":
            known = keys_of(path[:-1], str(self.value((*path[:-1], "engine"))))
            return self.fault(
                path,
                f'unknown key "{path[-1]}"',
                f"one of: {', '.join(known)}",
                near(str(path[-1]), known),
            )
        value = self.value(path)
        seen = (
            f"the name {quoted(str(path[-1]))}"
            if error["loc"][-1:] == ("[key]",)
            else _seen(path, value)
        )
        return self.fault(
            path,
            seen,
            _allowed(path, error, value),
            near(value, at(path).get("enum", ())) if isinstance(value, str) else "",
        )


def near(name: str, known: Sequence[str]) -> str:
    """The known name that was perhaps meant; empty where none is close, or for a known one."""
    return "" if name in known else next(iter(get_close_matches(name, known, 1, 0.6)), "")


def dotted(path: Path) -> str:
    """The key as TOML writes it.

    >>> dotted(("storages", "2x NVMe", "path"))
    'storages."2x NVMe".path'
    """
    parts = [
        str(part) if re.fullmatch(r"[A-Za-z0-9_-]+", str(part)) else quoted(str(part))
        for part in path
    ]
    return ".".join(parts)


def _holds(value: Any, part: str | int) -> bool:
    return (isinstance(value, dict) and part in value) or (
        isinstance(value, list) and isinstance(part, int) and part < len(value)
    )


def _allowed(path: Path, error: ErrorDetails, value: Any) -> str:
    """A rule's own sentence, or what the schema says of the key, or pydantic's words."""
    if error["type"] == "rule":
        return str(error["ctx"]["sentence"])
    if value is None:
        table = at(path).get("type") == "object"
        return f"required table [{dotted(path)}]" if table else f"required key {dotted(path)}"
    if error["type"] == "too_short":
        return "at least one"
    if error["type"] == "string_too_long":
        return f"text of at most {error['ctx']['max_length']} characters"
    if error["type"] == "too_long":
        return f"at most {error['ctx']['max_length']} entries"
    if is_time(at(path)):
        return f"{allowed_text(at(path))}{_bounds_of_time(error)}"
    return (
        allowed_text(at(path))
        if at(path)
        else re.sub(r"^(Value error, |Input should be )", "", error["msg"])
    )


def _bounds_of_time(error: ErrorDetails) -> str:
    bounds = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}
    found = [
        f", {word} {time_text(error['ctx'][name])}"
        for name, word in bounds.items()
        if name in error.get("ctx", {})
    ]
    return "".join(found)


def _seen(path: Path, value: Any) -> str:
    """A value as it may be told: not a command, which may hold a secret."""
    if value is None:
        return "nothing"
    if any(str(part).endswith("_command") for part in path):
        return (
            _toml(kept_command(value))
            if isinstance(value, str)
            else "a value that may contain a secret (not shown)"
        )
    return _toml(clean(value))


def _toml(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:77]}..."
