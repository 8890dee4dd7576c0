"""A value in a JSON document, by its pointer (RFC 6901)."""

from __future__ import annotations

import json
from typing import Any

from kneebench.measurement.power_meters.power_source import NoAnswer


def document(text: bytes, called: str) -> Any:
    """The document. Raises NoAnswer for a text that is none."""
    try:
        return json.loads(text)
    except ValueError:
        raise NoAnswer(f"{called} is no JSON") from None


def value_at(found: Any, pointer: str) -> Any:
    """The value at a pointer; None where there is none.

    >>> value_at({"a": [{"b/c": 7}]}, "/a/0/b~1c"), value_at({}, "/a")
    (7, None)
    """
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        elif isinstance(found, dict):
            found = found.get(name)
        else:
            return None
    return found


def number_at(found: Any, pointer: str, called: str) -> float:
    """The number at a pointer, also one in quotes. Raises NoAnswer where there is none."""
    value = value_at(found, pointer)
    try:
        if value is None or isinstance(value, bool):
            raise ValueError
        return float(value)
    except (TypeError, ValueError):
        seen = "nothing" if value is None else json.dumps(value)[:60]
        raise NoAnswer(f"{called} has {seen} at {pointer}, where a number should be") from None
