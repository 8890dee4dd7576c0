"""All pairs of storages: each compared with each, not only with the baseline."""

from __future__ import annotations

from kneebench.analysis.comparison import all_pairs
from kneebench.analysis.undecided import not_shown
from kneebench.analysis.wording import capital, times_with_interval
from kneebench.brief.section import Column, Row, Section, Table
from kneebench.brief.view_model import ViewModel

COLUMNS = tuple(
    Column(title=title, number=number)
    for title, number in (("Storage", False), ("Over", False), ("NOPM", True), ("Finding", False))
)
FEW = 6
"""Pairs that stand with the answer; more are in the appendix."""


def section(view: ViewModel) -> Section | None:
    """A row for each pair; nothing for fewer than three storages."""
    found = all_pairs(view.results)
    if not found:
        return None
    rows = tuple(
        Row(
            cells=(
                capital(view.name(one.configuration)),
                view.name(one.baseline),
                times_with_interval(one.ratio),
                "differs" if one.differs else not_shown(one.ratio),
            ),
            tone="plain" if one.differs else "light",
        )
        for one in found
    )
    caption = (
        f"NOPM at the {view.point} of each storage over each other's. The intervals are wider than"
        f" those of single comparisons: all {len(rows)} hold together with 95% confidence."
    )
    return Section(
        name="pairs",
        title="All pairs of storages",
        tables=(Table(caption=caption, columns=COLUMNS, rows=rows, narrow=True),),
        part="front" if len(rows) <= FEW else "appendix",
    )
