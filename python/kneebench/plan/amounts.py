"""Values of a constraint and of a sweep: sizes, shares of the data, numbers of cores."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)

from kneebench.plan.values import Whole, wrong
from kneebench.units import SIZE_PATTERN, Bytes, exact_size, parse_size

MOST_VALUES = 100
"""Values of one sweep."""
LEAST_MEMORY_BYTES = 64 * 2**20
MOST_MEMORY_BYTES = 64 * 2**40
"""What Linux maps at most with page tables of four levels (its arch/x86/x86_64/mm.rst)."""
MOST_MEMORY = exact_size(MOST_MEMORY_BYTES)
_SHARE = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,4})?) *%")
_STEPS = ("from", "to", "step")
_AMOUNT = {"type": "string", "pattern": rf"^([0-9.]+\s*%|{SIZE_PATTERN})$"}


def _amount(given: Any) -> Any:
    """Bytes, or a share of the data as it was written."""
    if isinstance(given, str) and (found := _SHARE.fullmatch(given.strip())):
        if float(found[1]) == 0:
            raise ValueError("a share above 0%")
        return f"{Decimal(found[1]).normalize():f}%"
    return parse_size(given)


Amount = Annotated[int | str, BeforeValidator(_amount), WithJsonSchema(_AMOUNT)]
"""Bytes, or a share of the data ("12.5%") as text."""


def _memory(given: int) -> int:
    if not LEAST_MEMORY_BYTES <= given <= MOST_MEMORY_BYTES:
        raise wrong(sentence=f"at least {exact_size(LEAST_MEMORY_BYTES)} and at most {MOST_MEMORY}")
    return given


Memory = Annotated[Bytes, AfterValidator(_memory)]
"""Memory of a database, of as much as a machine may have."""


def _steps(table: Mapping[str, Any], read: TypeAdapter[int]) -> list[int]:
    """All values of `{ from, to, step }`, in order; the last is at most `to`."""
    if unknown := next((key for key in table if key not in _STEPS), ""):
        raise wrong(unknown, sentence=f"one of: {', '.join(_STEPS)}")
    found: dict[str, int] = {}
    for key in _STEPS:
        if key not in table:
            raise wrong(sentence=f"a table with all of: {', '.join(_STEPS)}")
        try:
            found[key] = read.validate_python(table[key])
        except ValidationError:
            raise wrong(key, sentence="a value such as those of a list, above 0") from None
    first, last, step = (found[key] for key in _STEPS)
    if first > last:
        raise wrong("to", sentence="at least `from`")
    if (last - first) // step >= MOST_VALUES:
        raise wrong("step", sentence=f"a step that gives at most {MOST_VALUES} values")
    return list(range(first, last + 1, step))


_SIZES: TypeAdapter[int] = TypeAdapter(Annotated[Bytes, Field(ge=1)])
_NUMBERS: TypeAdapter[int] = TypeAdapter(Annotated[Whole, Field(ge=1)])


def _sizes(given: Any) -> Any:
    return _steps(given, _SIZES) if isinstance(given, Mapping) else given


def _numbers(given: Any) -> Any:
    return _steps(given, _NUMBERS) if isinstance(given, Mapping) else given


def _table(value: Mapping[str, Any]) -> dict[str, Any]:
    properties = dict.fromkeys(_STEPS, value)
    return {
        "type": "object",
        "properties": properties,
        "required": list(_STEPS),
        "additionalProperties": False,
    }


_SIZE = {"type": "string", "pattern": f"^{SIZE_PATTERN}$"}
_NUMBER = {"type": "integer", "minimum": 1}
Sizes = Annotated[
    tuple[Amount, ...],
    BeforeValidator(_sizes),
    WithJsonSchema({"anyOf": [{"type": "array", "items": _AMOUNT}, _table(_SIZE)]}),
]
"""Amounts of memory; in a plan also `{ from, to, step }`, which is kept as the sizes it gives."""
Numbers = Annotated[
    tuple[Annotated[Whole, Field(ge=1)], ...] | Literal["saturating"],
    BeforeValidator(_numbers),
    WithJsonSchema(
        {"anyOf": [{"type": "array", "items": _NUMBER}, _table(_NUMBER), {"const": "saturating"}]}
    ),
]


def amount_bytes(amount: int | str | None, data_bytes: int) -> int | None:
    """Bytes of an amount; a share is of `data_bytes`.

    >>> amount_bytes("12.5%", 800), amount_bytes(100, 800), amount_bytes(None, 800)
    (100, 100, None)
    """
    if isinstance(amount, str):
        return round(data_bytes * float(amount.removesuffix("%")) / 100)
    return amount


def amount_text(amount: int | str | None) -> str:
    """An amount for people; empty for none.

    >>> amount_text(2**30), amount_text("12.5%")
    ('1 GiB', '12.5% of the data')
    """
    if isinstance(amount, str):
        return f"{amount} of the data"
    return exact_size(amount) if amount else ""


# How much of a machine the database of a plan may take.

MEMORY_SHARE = 0.85
"""Of the machine's memory, what database, cache and files in memory may take together."""


def log_space_bytes(left_bytes: int) -> int:
    """What a log may take of the space that the data leave it."""
    return left_bytes // 3
