"""A profile, for the terminal and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.markup import escape
from rich.text import Text

from kneebench import units
from kneebench.analysis.wording import percent
from kneebench.measurement.profile import Profile, ProfileRow, Traffic
from kneebench.screen.tables import plain_table

NOTES = (
    "–: fewer than 100 I/Os exceed the percentile. Mixes: the slower side. Log writes: the mean is"
    " write plus sync, the percentiles are the sync's. Busiest: the core with the highest load."
)
PERCENTILES = ("50", "99", "99.9", "99.99")


def row_line(row: ProfileRow) -> str:
    """A row as it is measured, on one line."""
    mean_s = _mean_s(row)
    times = "" if mean_s is None else f", mean {units.time(mean_s)}"
    count = f"{units.count(row.iops)} {'IOPS' if row.files_per_s is None else 'files/s'}"
    return f"{row.name}: {count}, {units.rate(row.bytes_per_s)}{times}"


def printed(found: Profile) -> Iterator[RenderableType]:
    """The rows by group, what they were measured on, and where a core was the limit."""
    drives = ", ".join(f"{one.name} ({one.model or 'model unknown'})" for one in found.drives)
    where = f"{found.file_system} on {drives or 'no local drive'}"
    yield Text(f"\n{found.directory.resolve()}: {where}", style="bold")
    yield Text(
        f"one file of {units.size(found.file_bytes)}, {found.seconds} s per row, fio with"
        f" {found.engine}; about {units.size(found.written_bytes)} written\n"
    )
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
    for row in found.rows:
        if row.invalid:
            yield Text(f"{row.name}: invalid, {row.invalid}", style="red")
        elif sentence := row.limited_by_a_core:
            yield Text(f"{row.name}: {sentence}", style="yellow")


def document(found: Profile) -> dict[str, Any]:
    """The same for programs, without fio's own documents."""
    return found.model_dump(mode="json", exclude={"fio"})


def _cells(row: ProfileRow) -> Sequence[str]:
    slow = row.sync or _slower(row)
    quoted = slow.percentiles_s if slow else {}
    busiest = max(row.cores_busy.values(), default=None)
    return (
        units.count(row.iops),
        units.significant(row.bytes_per_s / 1e6),
        units.time(_mean_s(row)),
        *(units.time(quoted.get(one)) for one in PERCENTILES),
        units.time(row.cpu_s_per_io),
        percent(busiest),
    )


def _mean_s(row: ProfileRow) -> float | None:
    """Of a log write its own time and its sync's."""
    slow = _slower(row)
    if slow is None or row.files_per_s is not None:
        return None
    return slow.mean_s + (row.sync.mean_s if row.sync else 0.0)


def _slower(row: ProfileRow) -> Traffic | None:
    sides = [one for one in (row.read, row.write) if one]
    return max(sides, key=lambda one: one.mean_s, default=None)
