"""Frames: columns of numpy arrays, which pandas, polars and DuckDB take as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from math import isnan
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn

from kneebench.errors import PlanError
from kneebench.records.markup import html_table

if TYPE_CHECKING:
    import numpy as np

Kind = Literal["text", "number", "whole", "flag", "time"]
MOST_SHOWN, LONGEST_TEXT = 10, 40
"""Rows that a notebook shows, and characters of a text in them."""


class FrameColumn(NamedTuple):
    """A column of a frame: the kind of its values, and what they are. Its unit is in its name:
    `_s`, `_w`, `_bytes`, `_per_s`.
    """

    kind: Kind
    about: str


class UnknownColumn(PlanError, KeyError):
    """A name that no column of a frame has."""

    def __str__(self) -> str:
        return self.alone


class Frame(dict[str, Any]):
    """Columns by name, numpy arrays of one length: `pandas.DataFrame(frame)`,
    `polars.DataFrame(frame)` and `duckdb.sql("FROM frame")` take it as it is.

    Text is of the type object, times are datetime64[us] in UTC. A missing number is masked
    (numpy.ma): null in polars and DuckDB, NaN in pandas. `len` is the number of rows, and `about`
    says what each column is.

    >>> frame = Frame({"mean_s": FrameColumn("number", "Mean latency")}, [(0.002,), (None,)])
    >>> frame["mean_s"], len(frame)
    (masked_array(data=[0.002, --],
                 mask=[False,  True],
           fill_value=1e+20), 2)
    """

    def __init__(
        self, columns: Mapping[str, FrameColumn], rows: Iterable[Sequence[object]]
    ) -> None:
        values = zip(*rows, strict=True)
        given = list(values) or [()] * len(columns)
        super().__init__(
            (name, _array(column.kind, some))
            for (name, column), some in zip(columns.items(), given, strict=True)
        )
        self.about = {name: column.about for name, column in columns.items()}

    def __missing__(self, name: object) -> NoReturn:
        near = get_close_matches(str(name), self, 1)
        do = f"did you mean {near[0]!r}?" if near else f"available: {', '.join(self)}"
        raise UnknownColumn(f"frame[{name!r}]", seen="no such column", do=do)

    def __len__(self) -> int:
        return len(next(iter(self.values()))) if self.keys() else 0

    def __bool__(self) -> bool:
        """Whether it has columns: what takes dictionaries looks for them also where there are no
        rows.
        """
        return bool(self.keys())

    def rows(self) -> Iterator[dict[str, Any]]:
        """Its rows, by column; a missing number is None.

        >>> mean = FrameColumn("number", "Mean latency")
        >>> list(Frame({"mean_s": mean}, [(0.002,), (None,)]).rows())
        [{'mean_s': 0.002}, {'mean_s': None}]
        """
        for values in zip(*(column.tolist() for column in self.values()), strict=True):
            yield dict(zip(self, values, strict=True))

    def __repr__(self) -> str:
        return f"<Frame of {len(self)} rows: {', '.join(self)}>"

    def _repr_html_(self) -> str:
        """The first rows, and how many there are."""
        shown = min(MOST_SHOWN, len(self))
        rows = [[_text(column[at]) for column in self.values()] for at in range(shown)]
        table = html_table(list(self), rows, below=[f"{shown} of {len(self)} rows"])
        return f'<div style="overflow-x: auto; white-space: nowrap">{table}</div>'


def _array(kind: Kind, values: Sequence[Any]) -> np.ndarray[Any, Any]:
    import numpy as np

    if kind == "text":
        # Without any value, the type object says nothing of text.
        return np.array(values, dtype=object if values else "U1")
    if kind == "time":
        return np.array([_utc(one) for one in values], dtype="datetime64[us]")
    missing = [one is None or isnan(one) for one in values]
    kept = [0 if lacks else one for one, lacks in zip(values, missing, strict=True)]
    array = np.array(kept, dtype={"number": float, "whole": np.int64, "flag": bool}[kind])
    return np.ma.masked_array(array, mask=missing) if any(missing) else array


def _utc(text: str) -> datetime | None:
    """A time as ISO 8601 writes it, without its zone in UTC; None for an empty text."""
    return datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None) if text else None


def _text(value: Any) -> str:
    import numpy as np

    if value is None or value is np.ma.masked:
        return ""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"
