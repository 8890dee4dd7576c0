"""Meters of power, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.markup import escape
from rich.text import Text

from kneebench import units
from kneebench.measurement.power.now import PowerNow
from kneebench.screen.tables import plain_table

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
    if not found:
        yield Text(NONE)
        return
    table = plain_table("meter", "type", "scope", "covers", ">power", ">new value", ">age", "reads")
    for one in found:
        facts, period = one.facts, units.NOTHING
        if one.period_s:
            period = f"every {units.time(one.period_s)}"
        said = facts.source if not one.why or facts.rated_w is not None else one.why
        colour = "yellow" if one.why and facts.rated_w is None else "default"
        table.add_row(
            escape(facts.name),
            facts.type,
            f"{facts.scope}: {escape(facts.caption)}",
            escape(", ".join(facts.covers) or WHOLE),
            units.power(one.watts),
            period,
            units.time(one.age_s),
            f"[{colour}]{escape(said)}[/]",
        )
    yield table
    yield Text(f"\n{MEANS}", style="dim")
