"""What a section of the brief is made of: sentences, figures, tables.

No HTML, no files: the page sets them.
"""

from __future__ import annotations

from typing import Any, Literal

from kneebench.analysis.sweep import sweeps
from kneebench.brief.view_model import ViewModel
from kneebench.records import Campaign, Record

Part = Literal["front", "method", "configuration", "appendix"]
"""The parts of a brief, in their order: the answer, how it was tested, on what, the rest."""
Tone = Literal["plain", "strong", "light", "alarm", "doubt", "good"]
"""The last two colour an answer in a terminal."""


class Figure(Record):
    """A chart as a Vega-Lite specification.

    `title` says what is seen, `caption` is whole sentences, `alt` is for those who cannot see it.
    """

    name: str
    number: str
    title: str
    caption: str
    alt: str
    spec: dict[str, Any]


class Column(Record):
    """A table's column; numbers are set flush right."""

    title: str
    number: bool = True
    unit: str = ""


def columns(*titles: str) -> tuple[Column, ...]:
    """Columns by their titles; those of numbers begin with >.

    >>> [column.number for column in columns("meter", ">power")]
    [False, True]
    """
    return tuple(Column(title=one.removeprefix(">"), number=one.startswith(">")) for one in titles)


class Row(Record):
    """A table's row: a text for each column, and how it is set."""

    cells: tuple[str, ...]
    tone: Tone = "plain"


class Table(Record):
    """A table as people read it; `caption` is whole sentences.

    `narrow`: no wider than what is in it. `notes`: what cells refer to by number, from 1.
    """

    caption: str = ""
    narrow: bool = False
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


class Number(Record):
    """A big number with what it says and how sure it is.

    `words`: what is big is no number, and is set smaller.
    """

    value: str
    says: str
    sure: str = ""
    words: bool = False


class StopReason(Record):
    """What is said of one storage; its colour is the one it has in every figure."""

    name: str
    colour: str
    sentence: str


class Section(Record):
    """What the brief says of one subject. `tone` alarm is for what the reader must see first;
    `stack` sets the figures over each other in one column."""

    name: str
    title: str
    sentences: tuple[str, ...] = ()
    numbers: tuple[Number, ...] = ()
    stop_reasons: tuple[StopReason, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    code: tuple[str, ...] = ()
    tone: Literal["plain", "alarm", "note"] = "plain"
    part: Part = "front"
    stack: bool = False


# What captions say of climbs, and otherwise of a load that the plan fixed.


def searched(campaign: Campaign) -> str:
    """What a rung before the final runs is called, with its article; a fixed load has one."""
    return "the first rung" if campaign.resolved.fixed_load else "one search rung"


# Where the brief speaks of each configuration: what it did, why it stopped, what limits it.
#
# The configurations of a sweep are too many for paragraphs: a row of a table says the same of each.


def has_paragraphs(view: ViewModel) -> bool:
    """True for a campaign without a sweep."""
    return not sweeps(view.results)


def part_of_each(view: ViewModel) -> Part:
    """The part with what is shown of each configuration: behind the answer of a sweep of many."""
    return "front" if has_paragraphs(view) or view.direct else "appendix"
