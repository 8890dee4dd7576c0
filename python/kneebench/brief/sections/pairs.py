"""All pairs of storages: each compared with each, not only with the baseline."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench.analysis.comparison import all_pairs
from kneebench.analysis.query_times import compared_pairs
from kneebench.analysis.undecided import not_shown
from kneebench.analysis.wording import capital, times_with_interval
from kneebench.brief.section import Row, Section, Table, columns
from kneebench.brief.view_model import ViewModel
from kneebench.records import Estimate

FEW = 6
"""Pairs that stand with the answer; more are in the appendix."""


def section(view: ViewModel) -> Section | None:
    """A row for each pair; nothing for fewer than three storages."""
    rows, what = (*_of_users(view),), f"NOPM at the {view.point}"
    if of_queries := (*_of_queries(view),):
        rows, what = of_queries, "Speed over all queries"
    if not rows:
        return None
    caption = (
        f"{what} of each storage over each other's. The intervals are wider than those of single"
        f" comparisons: all {len(rows)} hold together with 95% confidence."
    )
    titles = columns("Storage", "Over", ">Speed" if of_queries else ">NOPM", "Finding")
    return Section(
        name="pairs",
        title="All pairs of storages",
        tables=(Table(caption=caption, columns=titles, rows=rows, narrow=True),),
        part="front" if len(rows) <= FEW else "appendix",
    )


def _of_users(view: ViewModel) -> Iterator[Row]:
    for one in all_pairs(view.results):
        yield _row(view, (one.configuration, one.baseline), one.ratio, differs=one.differs)


def _of_queries(view: ViewModel) -> Iterator[Row]:
    for one in compared_pairs(view.results):
        both = (one.climb.id, one.base.id)
        yield _row(view, both, one.ratio, differs=one.differs)


def _row(view: ViewModel, both: tuple[str, str], ratio: Estimate, *, differs: bool) -> Row:
    one, other = map(view.name, both)
    found = "differs" if differs else not_shown(ratio)
    cells = (capital(one), other, times_with_interval(ratio), found)
    return Row(cells=cells, tone="plain" if differs else "light")
