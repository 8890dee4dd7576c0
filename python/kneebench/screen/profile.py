"""A profile, for the terminal and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.markup import escape
from rich.text import Text

from kneebench import units
from kneebench.analysis.wording import percent
from kneebench.brief.profile import datasheet, summary, together
from kneebench.measurement.profile import Profile, ProfileRow, Together, TogetherRow
from kneebench.screen.tables import plain_table

NOTES = (
    "–: fewer than 100 I/Os exceed the percentile. Mixes: the slower side. Log writes: the mean is"
    " write plus sync, the percentiles are the sync's. Busiest: the core with the highest load."
)
PERCENTILES = ("50", "99", "99.9", "99.99")


def row_line(row: ProfileRow) -> str:
    """A row as it is measured, on one line."""
    mean_s = row.mean_s
    times = "" if mean_s is None else f", mean {units.time(mean_s)}"
    count = f"{units.count(row.iops)} {'IOPS' if row.files_per_s is None else 'files/s'}"
    return f"{row.name}: {count}, {units.rate(row.bytes_per_s)}{times}"


def printed(found: Profile) -> Iterator[RenderableType]:
    """The rows by group, what they were measured on, and where a core was the limit."""
    name = found.storage or found.directory
    yield Text(f"\n{name}: {found.where}", style="bold")
    if found.emulated:
        yield Text(summary.EMULATED, style="yellow")
    yield Text(f"{found.how}; about {units.size(found.written_bytes)} written\n")
    percentiles = (f">P{one}" for one in PERCENTILES)
    table = plain_table(
        "I/O", ">per second", ">MB/s", ">mean", *percentiles, ">CPU per I/O", ">busiest"
    )
    group = found.rows[0].group if found.rows else ""
    for row in found.rows:
        if row.group != group:
            table.add_section()
            group = row.group
        table.add_row(escape(row.name), *_cells(row))
    yield table
    yield Text(f"\n{NOTES}", style="dim")
    if found.iops_limit:
        yield Text(found.iops_limit, style="yellow")
    for row in found.rows:
        if row.invalid:
            yield Text(f"{row.name}: invalid, {row.invalid}", style="red")
        elif sentence := row.limited_by_a_core:
            yield Text(f"{row.name}: {sentence}", style="yellow")
    yield from _datasheet(found)
    yield from _published(found)


def together_line(row: TogetherRow) -> str:
    """A row of several drives as it is measured, on one line."""
    _, *alone, total, both, share = together.cells(row)
    return f"{row.name}: alone {' + '.join(alone)} = {total}, together {both} ({share})"


def printed_together(found: Together) -> Iterator[RenderableType]:
    """What several drives did alone and together, and where they share a limit."""
    yield Text()
    for one in found.members:
        yield Text(f"{one.directory}: {one.file_system} on {one.name}", style="bold")
    yield Text(
        f"{found.span}, {found.seconds} s per row, fio with"
        f" {found.engine}; about {units.size(found.written_bytes)} written\n"
    )
    first, *numbers = together.columns(found)
    table = plain_table(first, *(f">{escape(one)}" for one in numbers))
    for row in found.rows:
        table.add_row(*map(escape, together.cells(row)))
    yield table
    yield Text(f"\n{together.NOTE}", style="dim")
    for sentence in together.sentences(found):
        yield Text(sentence, style="yellow")


def document(found: Profile | Together) -> dict[str, Any]:
    """The same for programs, without fio's own documents."""
    return found.model_dump(mode="json", exclude={"fio"})


def _datasheet(found: Profile) -> Iterator[RenderableType]:
    if not found.claims:
        return
    yield Text(f"\n{datasheet.title(found)}\n", style="bold")
    titles = (f">{one.title}" if one.number else one.title for one in datasheet.COLUMNS)
    table = plain_table(*titles)
    for claim in found.claims:
        table.add_row(*map(escape, datasheet.cells(claim)))
    yield table
    yield Text("\n" + "\n".join(datasheet.sentences(found)), style="dim")


def _published(found: Profile) -> Iterator[RenderableType]:
    if not found.published:
        return
    yield Text(f"\n{datasheet.PUBLISHED}\n", style="bold")
    columns = datasheet.PUBLISHED_COLUMNS
    table = plain_table(*(f">{one.title}" if one.number else one.title for one in columns))
    for one in found.published:
        table.add_row(*map(escape, datasheet.published_cells(found, one)))
    yield table
    yield Text(f"\n{datasheet.COPIED}", style="dim")


def _cells(row: ProfileRow) -> Sequence[str]:
    return (
        units.count(row.iops),
        units.significant(row.bytes_per_s / 1e6),
        units.time(row.mean_s),
        *(units.time(row.percentiles_s.get(one)) for one in PERCENTILES),
        units.time(row.cpu_s_per_io),
        percent(row.busiest_core),
    )
