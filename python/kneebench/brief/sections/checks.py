"""Failed checks and invalid rungs: before anything else, in red."""

from __future__ import annotations

from kneebench.brief import words
from kneebench.brief.reading import Reading
from kneebench.brief.section import Column, Row, Section, Table

PLACE = 0


def section(reading: Reading) -> Section | None:
    """What must not be overlooked; nothing when all is well."""
    if not reading.failed and not reading.invalid:
        return None
    tables = []
    if reading.failed:
        rows = tuple(Row(cells=(one.where, one.check.name, one.check.sentence, one.check.seen, one.check.limit), tone="alarm") for one in reading.failed)
        columns = tuple(Column(title=title, number=False) for title in ("Where", "Check", "What was found", "Seen", "Limit"))
        tables.append(Table(columns=columns, rows=rows))
    if reading.invalid:
        rows = tuple(Row(cells=(reading.where(rung), rung.invalid), tone="alarm") for rung in reading.invalid)
        tables.append(Table(columns=(Column(title="Rung", number=False), Column(title="Why it does not count", number=False)), rows=rows))
    return Section(name="checks", title=_title(reading), sentences=(_advice(reading),), tables=tuple(tables), tone="alarm")


def _title(reading: Reading) -> str:
    failed = f"{words.plural(len(reading.failed), 'check')} of {reading.checked} failed" if reading.failed else ""
    invalid = f"{words.plural(len(reading.invalid), 'rung')} measured something else than the database" if reading.invalid else ""
    return "; ".join(filter(None, (failed, invalid)))


def _advice(reading: Reading) -> str:
    return "Do not quote figures of this brief before the cause is found." if reading.failed else "Invalid rungs are left out of every estimate."
