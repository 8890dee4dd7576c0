"""The table of each configuration, where the answer is that of a sweep."""

from __future__ import annotations

from kneebench.brief.glance_tables import tables_of_each
from kneebench.brief.section import Section, has_paragraphs, part_of_each
from kneebench.brief.view_model import ViewModel


def section(view: ViewModel) -> Section | None:
    """Nothing without a sweep: there the answer has the tables with it."""
    if has_paragraphs(view):
        return None
    return Section(
        name="each-configuration",
        title="Each configuration",
        tables=tables_of_each(view),
        part=part_of_each(view),
    )
