"""The 22 queries (queries.sql), with their parameters."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from kneebench.databases.tproc_h.parameters import Parameters

_HEADING = re.compile(r"^-- (\d+): (.*)$", re.MULTILINE)


class Query(NamedTuple):
    """A query by its number in the specification, the question that it answers, and its text with
    the names of its parameters in braces.
    """

    number: int
    question: str
    text: str

    def statement(self, parameters: Parameters) -> str:
        """The text with these parameters."""
        return self.text.format_map(parameters)


@cache
def queries() -> tuple[Query, ...]:
    """All of them, in the order of their numbers.

    >>> [(one.number, one.question) for one in queries()][5]
    (6, "revenue that a year's small discounts on small lines cost")
    """
    whole = files("kneebench.databases.tproc_h").joinpath("queries.sql").read_text()
    _, *parts = _HEADING.split(whole)
    numbers, questions, texts = parts[::3], parts[1::3], parts[2::3]
    found = zip(map(int, numbers), questions, map(str.strip, texts), strict=True)
    return tuple(Query(*one) for one in found)
