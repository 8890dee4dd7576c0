"""The table of all rows of a profile."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench import units
from kneebench.analysis.wording import capital, percent
from kneebench.brief.section import Column, Row, Section, Table
from kneebench.measurement.profile import Profile, ProfileRow

PERCENTILES = ("50", "90", "99", "99.9", "99.99")
COLUMNS = (
    Column(title="I/O", number=False),
    Column(title="Per second"),
    Column(title="MB/s"),
    Column(title="Mean"),
    *(Column(title=f"P{one}") for one in PERCENTILES),
    Column(title="CPU per I/O"),
    Column(title="Busiest core"),
)
NOTES = (
    "–: fewer than 100 I/Os exceed the percentile. Mixes: the slower of reads and writes. Log"
    " write: the mean is write plus sync, the percentiles are the sync's. CPU per I/O: of fio's"
    " threads, in user and kernel mode."
)
COPY = " Copy: files per second."
LIMITED = " *: a core, not the drive, may have been the limit."
NAMES = {"log": "Log write", "mixes": "Mixes of drive reviews"}
"""Of groups, where their own name does not say what they are for."""


def row_line(row: ProfileRow) -> str:
    """A row as it is measured, on one line."""
    mean = "" if row.mean_s is None else f", mean {units.time(row.mean_s)}"
    count = f"{units.count(row.iops)} {'IOPS' if row.files_per_s is None else 'files/s'}"
    return f"{row.name}: {count}, {units.rate(row.bytes_per_s)}{mean}"


def section(found: Profile) -> Section:
    """Every row, by group."""
    rows = tuple(_rows(found.rows))
    limited = any(row.limited_by_a_core for row in found.rows)
    copied = any(row.files_per_s for row in found.rows)
    caption = NOTES + COPY * copied + LIMITED * limited
    table = Table(caption=caption, columns=COLUMNS, rows=rows)
    return Section(name="rows", title="All rows", tables=(table,))


def _rows(rows: tuple[ProfileRow, ...]) -> Iterator[Row]:
    group = ""
    for row in rows:
        if row.group != group:
            group = row.group
            empty = ("",) * (len(COLUMNS) - 1)
            yield Row(cells=(capital(NAMES.get(group, group)), *empty), tone="strong")
        yield Row(cells=_cells(row), tone="alarm" if row.invalid else "plain")


def _cells(row: ProfileRow) -> tuple[str, ...]:
    mark = " (invalid)" if row.invalid else "\N{NO-BREAK SPACE}*" if row.limited_by_a_core else ""
    return (
        f"{breaking_at_commas(row.name)}{mark}",
        units.count(row.iops),
        units.significant(row.bytes_per_s / 1e6),
        units.time(row.mean_s),
        *(units.time(row.percentiles_s.get(one)) for one in PERCENTILES),
        units.time(row.cpu_s_per_io),
        percent(row.busiest_core),
    )


def breaking_at_commas(name: str) -> str:
    """A name that a narrow page breaks into few lines.

    >>> breaking_at_commas("4 KiB read, depth 1").split(" ")
    ['4\\xa0KiB\\xa0read,', 'depth\\xa01']
    """
    parts = name.split(", ")
    return (
        ", ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in parts) if parts[1:] else name
    )
