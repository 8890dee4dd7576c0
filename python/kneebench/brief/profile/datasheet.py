"""Measured figures beside those of the drive's data sheet, and beside those that others published,
for the page and the terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kneebench import units
from kneebench.analysis.wording import as_sentence, capital, listed, times
from kneebench.brief.profile.row_table import breaking_at_commas
from kneebench.brief.section import Column, Row, Section, Table
from kneebench.measurement.profile import Claim, Profile
from kneebench.plan.authors_words import Published

PUBLISHED = "Published figures beside those measured here"
COPIED = (
    "Published, not measured here: the author of the plan copied these figures from their source."
    " kneebench did not check them. Host, drives and program differ."
)
PUBLISHED_COLUMNS = (
    Column(title="I/O", number=False),
    Column(title="Measured here"),
    Column(title="Published, not measured here"),
    Column(title="Source", number=False),
)
FAR_ABOVE = 1.2
"""Times the data sheet: no drive is that much better than its maker says."""
NAMES = {
    "sequential_read": "Sequential read",
    "sequential_write": "Sequential write",
    "random_read": "Random read",
    "random_write": "Random write",
}
COLUMNS = (
    Column(title="Figure", number=False),
    Column(title="Data sheet, up to"),
    Column(title="Measured"),
    Column(title="Ratio"),
    Column(title="Measured with", number=False),
)


def section(found: Profile) -> Section | None:
    """A row per figure of the data sheet, and what the ratios depend on."""
    if found.datasheet is None:
        return None
    rows = tuple(Row(cells=tuple(map(breaking_at_commas, cells(claim)))) for claim in found.claims)
    return Section(
        name="datasheet",
        title=title(found),
        sentences=tuple(sentences(found)),
        tables=(Table(columns=COLUMNS, rows=rows, narrow=True),),
    )


def published(found: Profile) -> Section | None:
    """A row per figure that others published of a row; None without any."""
    if not found.published:
        return None
    rows = (
        Row(cells=tuple(map(breaking_at_commas, published_cells(found, one))))
        for one in found.published
    )
    return Section(
        name="published",
        title=PUBLISHED,
        tables=(Table(caption=COPIED, columns=PUBLISHED_COLUMNS, rows=tuple(rows), narrow=True),),
    )


def published_cells(found: Profile, one: Published) -> tuple[str, ...]:
    """The row, what was measured, what was published, and where."""
    row = next((row for row in found.rows if row.name == one.name and not row.invalid), None)
    value = f"{one.value:,.10g} {one.unit}"
    if row is None:
        return (one.name, "no valid row", value, one.source)
    measured = (
        f"{units.significant(row.iops)} IOPS" if one.unit == "IOPS" else units.rate(row.bytes_per_s)
    )
    return (one.name, measured, value, one.source)


def title(found: Profile) -> str:
    """Whose data sheet it is."""
    return f"Data sheet: {found.datasheet.drive}" if found.datasheet else ""


def cells(claim: Claim) -> tuple[str, ...]:
    """Figure, data sheet, measured, ratio, and the row that measured it."""
    return (
        NAMES[claim.figure],
        _amount(claim, claim.claimed),
        units.NOTHING if claim.measured is None else _amount(claim, claim.measured),
        units.NOTHING if claim.ratio is None else times(claim.ratio),
        claim.row or "no valid row",
    )


def sentences(found: Profile) -> Iterator[str]:
    """What the ratios depend on."""
    if found.datasheet is None:
        return
    yield (
        'The data sheet has "up to" figures: the most that the maker measured, under the maker\'s'
        " conditions."
    )
    if found.datasheet.conditions:
        yield as_sentence(f"the maker's conditions: {found.datasheet.conditions}")
    on = "" if found.raw else f" on {found.file_system}"
    yield f"Measured here: {found.span}{on}, with the drive in its current state."
    yield "I/O bypassed the page cache; the caches of the drive or the virtual disk were in use."
    if len(found.drives) > 1:
        yield f"The data sheet is of one drive; this directory is on {len(found.drives)} drives."
    if cached := _named(found, lambda one: (one.ratio or 0.0) >= FAR_ABOVE):
        yield f"{cached}: far above the data sheet, so a cache may have served it."
    if limited := _named(found, lambda one: one.limited_by_a_core):
        yield f"{limited}: a core, not the drive, may have been the limit."
    yield as_sentence(f"source: {found.datasheet.source}")


def _amount(claim: Claim, value: float) -> str:
    if claim.figure.startswith("sequential"):
        return units.rate(value)
    return f"{units.significant(value)} IOPS"


def _named(found: Profile, which: Callable[[Claim], bool]) -> str:
    names = [NAMES[claim.figure].lower() for claim in found.claims if which(claim)]
    return capital(listed(names)) if names else ""
