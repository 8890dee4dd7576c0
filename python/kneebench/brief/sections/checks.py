"""Failed checks, invalid rungs and storages without a figure: before anything else, in red."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kneebench.analysis.wording import listed, plural
from kneebench.brief.section import Column, Row, Section, Table
from kneebench.brief.view_model import ViewModel


def section(view: ViewModel) -> Section | None:
    """What must not be overlooked; nothing when all is well."""
    tables = tuple(_tables(view))
    return (
        Section(
            name="checks",
            title=_title(view),
            sentences=(_advice(view),),
            tables=tables,
            tone="alarm",
        )
        if tables
        else None
    )


def _tables(view: ViewModel) -> Iterator[Table]:
    if view.failed:
        failed = [
            (one.where, one.check.name, one.check.sentence, one.check.seen, one.check.limit)
            for one in view.failed
        ]
        yield _table(("Where", "Check", "Finding", "Measured", "Limit"), failed)
    if view.invalid:
        yield _table(
            ("Rung", "Reason"), [(view.where(rung), rung.invalid) for rung in view.invalid]
        )
    if view.missing_figures:
        yield _table(
            ("Storage", "Reason"),
            [(view.name(one.configuration.id), one.sentence) for one in view.missing_figures],
        )


def _table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    return Table(
        columns=tuple(Column(title=title, number=False) for title in columns),
        rows=tuple(Row(cells=cells, tone="alarm") for cells in rows),
    )


def _title(view: ViewModel) -> str:
    failed = f"{plural(len(view.failed), 'check')} of {view.checked} failed" if view.failed else ""
    invalid = (
        f"{plural(len(view.invalid), 'rung')} {'is' if len(view.invalid) == 1 else 'are'} invalid"
        if view.invalid
        else ""
    )
    names = [view.name(one.configuration.id) for one in view.missing_figures]
    missing_figures = f"No usable figure for {listed(names)}" if names else ""
    return "; ".join(filter(None, (failed, invalid, missing_figures)))


def _advice(view: ViewModel) -> str:
    if view.failed:
        return "Do not quote figures from this brief until the cause is found."
    if view.invalid:
        return "They did not measure the database and are excluded from every estimate."
    return "Correct the load or the storage as the reason states, then measure again."
