"""What each storage's database was short of at the knee, with the evidence."""

from __future__ import annotations

from kneebench.brief.section import Column, Row, Section, Table
from kneebench.brief.view_model import ViewModel

PLACE = 70


def section(view: ViewModel) -> Section | None:
    """One row for each storage."""
    found = view.bottlenecks
    if not found:
        return None
    rows = tuple(
        Row(cells=(view.name(cell), one.resource, one.sentence, "\n".join(one.evidence)))
        for cell, one in found.items()
    )
    columns = tuple(
        Column(title=title, number=False)
        for title in ("Storage", "Bottleneck", "Finding", "Evidence")
    )
    caption = (
        f"Inferred from the measurements. Proof is a change that moves the {view.point}: the log in"
        " memory, more cores, or more memory."
    )
    return Section(
        name="bottlenecks",
        title="Bottlenecks",
        tables=(Table(caption=caption, columns=columns, rows=rows),),
    )
