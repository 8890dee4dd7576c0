"""Failed checks, invalid rungs and storages without a figure: before anything else, in red."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kneebench.brief import formatting
from kneebench.brief.section import Column, Row, Section, Table
from kneebench.brief.view_model import Reading

PLACE = 0


def section(reading: Reading) -> Section | None:
    """What must not be overlooked; nothing when all is well."""
    tables = tuple(_tables(reading))
    return Section(name="checks", title=_title(reading), sentences=(_advice(reading),), tables=tables, tone="alarm") if tables else None


def _tables(reading: Reading) -> Iterator[Table]:
    if reading.failed:
        failed = [(one.where, one.check.name, one.check.sentence, one.check.seen, one.check.limit) for one in reading.failed]
        yield _table(("Where", "Check", "Finding", "Measured", "Limit"), failed)
    if reading.invalid:
        yield _table(("Rung", "Reason"), [(reading.where(rung), rung.invalid) for rung in reading.invalid])
    if reading.unanswered:
        yield _table(("Storage", "Reason"), [(reading.name(one.cell.id), one.sentence) for one in reading.unanswered])


def _table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    return Table(columns=tuple(Column(title=title, number=False) for title in columns), rows=tuple(Row(cells=cells, tone="alarm") for cells in rows))


def _title(reading: Reading) -> str:
    failed = f"{formatting.plural(len(reading.failed), 'check')} of {reading.checked} failed" if reading.failed else ""
    invalid = f"{formatting.plural(len(reading.invalid), 'rung')} {'is' if len(reading.invalid) == 1 else 'are'} invalid" if reading.invalid else ""
    unanswered = f"No usable figure for {formatting.listed([reading.name(one.cell.id) for one in reading.unanswered])}" if reading.unanswered else ""
    return "; ".join(filter(None, (failed, invalid, unanswered)))


def _advice(reading: Reading) -> str:
    if reading.failed:
        return "Do not quote figures from this brief until the cause is found."
    if reading.invalid:
        return "They did not measure the database and are excluded from every estimate."
    return "Correct the load or the storage as the reason states, then measure again."
