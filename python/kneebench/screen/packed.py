"""What `pack --redact` replaced, as a table."""

from __future__ import annotations

from collections.abc import Iterable

from rich.markup import escape
from rich.table import Table

from kneebench.results.redaction import Replacement
from kneebench.screen.tables import plain_table


def replacements(found: Iterable[Replacement]) -> Table:
    """A row for each name, by kind."""
    table = plain_table("kind", "name", "stand-in")
    for one in found:
        table.add_row(one.kind, escape(one.name), one.stand_in)
    return table
