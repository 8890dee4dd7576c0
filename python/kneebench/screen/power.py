"""Meters of power, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from kneebench import units
from kneebench.brief.section import Row, Table, columns
from kneebench.brief.terminal import Fitted
from kneebench.measurement.power.now import PowerNow

NONE = (
    "This machine has no meter of power that kneebench can read: no RAPL (virtual machines have"
    " none), no hwmon sensor, no BMC in band.\nA plan names others: a PDU (snmp), a BMC (ipmi,"
    " redfish), an analyser (ptd), a program, a document by HTTP."
)
WHOLE = "database host"
MEANS = (
    "scope: wall is all that is plugged in there, and alone gives mW/NOPM; cpu and drive are parts"
    " of it.\nnew value: how often the meter's own value changed while it was read."
)


def meters(found: Sequence[PowerNow]) -> Iterator[RenderableType]:
    """A row for each, then what the words mean."""
    titles = columns("meter", "type", "scope", "covers", ">power", ">new value", ">age", "reads")
    table = Table(caption=MEANS, columns=titles, rows=tuple(map(_row, found)))
    yield Fitted(table) if found else Text(NONE)


def _row(one: PowerNow) -> Row:
    facts, unread = one.facts, bool(one.why) and one.facts.rated_w is None
    cells = (
        facts.name,
        facts.type,
        f"{facts.scope}: {facts.caption}",
        ", ".join(facts.covers) or WHOLE,
        units.power(one.watts),
        f"every {units.time(one.period_s)}" if one.period_s else units.NOTHING,
        units.time(one.age_s),
        "; ".join(filter(None, (one.why, one.do))) if unread else facts.source,
    )
    return Row(cells=cells, tone="doubt" if unread else "plain")
