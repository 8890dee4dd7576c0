"""Values of a plan as its file writes them, and what a value may be, for people."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from kneebench.units import RATE_ALLOWED, SIZE_PATTERN, TIME

SIZE_ALLOWED = 'a size with its unit in quotes, as in "32GiB"'
AMOUNT_ALLOWED = f'{SIZE_ALLOWED}, or a share of the data, as in "12.5%"'
SHARE_ALLOWED = 'a share in quotes, as in "1%"'
POWER_ALLOWED = 'a power with its unit in quotes (mW, W, kW), as in "400W"'
TIME_ALLOWED = 'a time with its unit in quotes (ns, us, ms, s, min, h), as in "10min"'


KINDS = {
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "table of values",
}


def is_time(schema: dict[str, Any]) -> bool:
    """Whether a value is a time, or may be one."""
    return "ns|us|ms" in schema.get("pattern", "") or any(
        is_time(branch) for branch in schema.get("anyOf", ())
    )


def is_power(schema: dict[str, Any]) -> bool:
    """Whether a value is a power, or may be one."""
    return "mW|W|kW" in schema.get("pattern", "") or any(
        is_power(branch) for branch in schema.get("anyOf", ())
    )


def _is_share(schema: dict[str, Any]) -> bool:
    """Whether a value is a share, or may be one."""
    return schema.get("pattern", "").endswith("%$") or any(
        _is_share(branch) for branch in schema.get("anyOf", ())
    )


def _keys(value: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The keys of a table, or of that of several which it is."""
    for table in schema.get("oneOf", (schema,)):
        keys: dict[str, Any] = table.get("properties", {})
        if all(value.get(name) == key["const"] for name, key in keys.items() if "const" in key):
            return keys
    return {}


def time_text(value_s: float) -> str:
    """A time as a plan writes it: a whole number of the largest unit that allows it.

    >>> time_text(600.0), time_text(0.005), time_text(1.5), time_text(0.0)
    ('10min', '5ms', '1500ms', '0s')
    """
    exact = Decimal(repr(value_s))
    for unit in sorted(TIME, key=lambda unit: -TIME[unit]) if value_s else ():
        number = exact / Decimal(repr(TIME[unit]))
        if number == number.to_integral_value():
            return f"{number:.0f}{unit}"
    return f"{exact:f}".removesuffix(".0") + "s"


def toml_text(value: Any, schema: dict[str, Any]) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and is_time(schema):
        return f'"{time_text(value)}"'
    if isinstance(value, float) and is_power(schema):
        return f'"{value:g}W"'
    if isinstance(value, float) and _is_share(schema):
        return f'"{100 * value:g}%"'
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, dict):
        keys = _keys(value, schema)
        given = ((name, one) for name, one in value.items() if one is not None)
        pairs = (f"{name} = {toml_text(one, keys.get(name, {}))}" for name, one in given)
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list | tuple):
        entries = schema.get("items", {})
        return f"[{', '.join(toml_text(member, entries) for member in value)}]"
    return quoted(str(value))


def quoted(text: str) -> str:
    """Text as a basic string of TOML.

    >>> print(quoted('2x "NVMe"'))
    "2x \\"NVMe\\""
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in escaped) + '"'


def is_table(schema: dict[str, Any]) -> bool:
    """Whether an entry of a list is a table: one of a model, or one of several."""
    tables = schema.get("oneOf", ())
    return "$ref" in schema or (bool(tables) and all("properties" in one for one in tables))


def allowed_text(schema: dict[str, Any]) -> str:
    """What a value may be, for people."""
    if "anyOf" in schema:
        return " or ".join(
            dict.fromkeys(
                allowed_text(branch) for branch in schema["anyOf"] if branch.get("type") != "null"
            )
        )
    if "$ref" in schema:
        return "a table"
    if "enum" in schema:
        return " or ".join(f'"{name}"' for name in schema["enum"])
    if "const" in schema:
        return f'"{schema["const"]}"'
    if is_time(schema):
        return TIME_ALLOWED
    if is_power(schema):
        return POWER_ALLOWED
    if _is_share(schema):
        return SHARE_ALLOWED
    if "/" in (pattern := schema.get("pattern", "")):
        return RATE_ALLOWED
    if SIZE_PATTERN in pattern:
        return AMOUNT_ALLOWED if "%" in pattern else SIZE_ALLOWED
    if schema["type"] == "array" and "prefixItems" in schema:
        return "two whole numbers in brackets"
    if schema["type"] == "array":
        entries = schema["items"]
        kind = "whole numbers" if entries.get("type") == "integer" else "names"
        kind = "tables" if is_table(entries) else kind
        kind = "sizes or shares of the data" if "pattern" in entries else kind
        tables = " or tables" if "oneOf" in entries and not is_table(entries) else ""
        return f"list of {kind}{tables}{_bounds(entries)}"
    if schema.get("properties", {}).keys() == {"from", "to", "step"}:
        return "{ from, to, step }"
    if "properties" in schema or "$ref" in str(schema):
        return "a table"
    kind = "path" if schema.get("format") == "path" else KINDS.get(schema["type"], "text")
    return f"{kind}{_bounds(schema)}"


def _bounds(schema: dict[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    words = [
        f"from {low:g}" if low is not None else "",
        f"above {above:g}" if above is not None else "",
    ]
    words += [
        f"to {high:g}" if high is not None else "",
        f"below {below:g}" if below is not None and below < 1e9 else "",
    ]
    return f" {' '.join(w for w in words if w)}" if any(words) else ""
